package lake

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// describe leaves a description of a store in the inbox; step: where the follower dies.
func (w *world) describe(s *store, step string) *Followed {
	w.Helper()
	l := w.open()
	if step != "" {
		l.die = diesAt(step, 1)
	}
	done, err := l.Follow(w.Context(), FollowOptions{Dir: s.Dir, Inbox: true})
	if step != "" && errors.Is(err, errDied) {
		return nil
	} else if err != nil {
		w.Fatal(err)
	}
	return done
}

// merge commits the inbox and wants an error.
func (w *world) merge(want error) *Folded {
	w.Helper()
	done, err := w.open().Commit(w.Context(), FoldOptions{})
	if !errors.Is(err, want) || done == nil {
		w.Fatalf("got %v, want %v", err, want)
	}
	return done
}

// notes is how many descriptions lie in the inbox.
func (w *world) notes() int {
	w.Helper()
	marker, err := w.open().load(w.Context(), markerSpec())
	if err != nil {
		w.Fatal(err)
	}
	notes, err := marker.inbox(w.Context(), "")
	if err != nil {
		w.Fatal(err)
	}
	return len(notes)
}

// TestCommit_FoldsManyStoresIntoOneCommit: what two stores want is there after one commit, as it is
// where they commit themselves.
func TestCommit_FoldsManyStoresIntoOneCommit(t *testing.T) {
	w := newWorld(t)
	s, other := sample(t), newStore(t, "gamma")
	other.Spend("gamma", "2026-11-01", 2, 1)
	other.Publish()
	if done := w.describe(s, ""); !done.Described || done.Added != 12 || done.Behind != 1 || len(w.State()) != 0 {
		t.Errorf("%+v, %v", done, w.State())
	}
	if done := w.describe(s, ""); done.Described || done.Added != 0 {
		t.Errorf("described again: %+v", done)
	}
	w.describe(other, "")
	if done := w.merge(nil); done.Stores != 2 || done.Accounts != 3 || done.Added != 13 || w.notes() != 0 {
		t.Errorf("%+v, %d descriptions are left", done, w.notes())
	}
	w.check(w.open(), s)
	w.check(w.open(), other)
	if got := len(w.Snapshots("spend_daily")); got != 1 {
		t.Errorf("%d snapshots, want 1", got)
	}
	before := w.State()
	if done := w.merge(nil); done.Stores != 0 || !done.IsNothing() {
		t.Errorf("%+v", done)
	}
	for _, s := range []*store{s, other} { // what a direct follower would do is nothing
		if done := w.follow(s); !done.IsNothing() {
			t.Errorf("%+v", done)
		}
		if done := w.describe(s, ""); done.Described {
			t.Errorf("%+v", done)
		}
	}
	if after := w.State(); len(before) == 0 || after[MarkerTable] != before[MarkerTable] {
		t.Errorf("the lake was %v and is %v", before, after)
	}
	// Two generations of one store, and none of the other: the newest, in one commit.
	s.Spend("acme", "2026-11-02", 4, 8)
	s.Publish()
	w.describe(s, "")
	s.Spend("acme", "2026-11-03", 1, 1)
	s.Publish()
	w.describe(s, "")
	if done := w.merge(nil); done.Stores != 1 || done.Added != 2 || done.Removed != 1 || w.notes() != 0 {
		t.Errorf("%+v, %d descriptions are left", done, w.notes())
	}
	w.check(w.open(), s)
	w.check(w.open(), other)
}

// TestCommit_AnOlderDescriptionNeverOverwrites: one that comes late, and one of a store that was
// set back, change nothing.
func TestCommit_AnOlderDescriptionNeverOverwrites(t *testing.T) {
	w := newWorld(t)
	s := sample(t)
	w.describe(s, "")
	marker, err := w.open().load(t.Context(), markerSpec())
	if err != nil {
		t.Fatal(err)
	}
	notes, err := marker.inbox(w.Context(), "")
	if err != nil || len(notes) != 1 {
		t.Fatalf("%v, %v", notes, err)
	}
	late := w.Read(notes[0].object)
	s.Spend("acme", "2026-11-02", 4, 8)
	s.Publish()
	w.describe(s, "")
	w.merge(nil)
	w.Write(notes[0].object, late)
	before := w.State()
	if done := w.merge(ErrAhead); done.Stores != 0 || len(done.Refused) != 1 {
		t.Errorf("%+v", done)
	}
	if after := w.State(); after[MarkerTable] != before[MarkerTable] {
		t.Errorf("the lake was %v and is %v", before, after)
	}
	w.describe(s, "") // which takes it away
	w.merge(nil)
	w.check(w.open(), s)
	back := &store{TB: t, Dir: t.TempDir(), M: manifest.New(), Now: s.Now.Add(time.Minute), Every: time.Hour}
	back.M.Of("acme")
	for range 4 {
		back.Publish()
	}
	if _, err := w.open().Follow(t.Context(), FollowOptions{Dir: back.Dir, Inbox: true}); !errors.Is(err, ErrAhead) {
		t.Errorf("got %v", err)
	}
}

// TestCommit_RefusesOneStoreAndFoldsTheOthers: a day that is gone is not taken away, one that is too
// old is described again, and neither stops another store.
func TestCommit_RefusesOneStoreAndFoldsTheOthers(t *testing.T) {
	w := newWorld(t)
	s, other := sample(t), newStore(t, "gamma")
	other.Spend("gamma", "2026-11-01", 2, 1)
	other.Publish()
	w.describe(s, "")
	w.merge(nil)
	delete(s.M.Accounts["acme"].Files, manifest.PartPath(schema.SpendDaily.Table, "acme", day("2026-10-01")))
	delete(s.M.Accounts["acme"].Days, day("2026-10-01"))
	s.Publish()
	w.describe(s, "")
	w.describe(other, "")
	if done := w.merge(ErrShrink); done.Stores != 1 || len(done.Refused) != 1 ||
		!strings.Contains(done.Refused[0], "2026-10-01") {
		t.Errorf("%+v", done)
	}
	w.check(w.open(), other)
	if done, err := w.open().Commit(t.Context(), FoldOptions{AllowShrink: true}); err != nil || done.Removed != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	w.check(w.open(), s)
	s.Spend("acme", "2026-11-03", 1, 1)
	s.Publish()
	w.describe(s, "")
	o := w.options()
	o.Now = func() time.Time { return time.Now().Add(InboxAge + time.Minute) }
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Commit(t.Context(), FoldOptions{}); !errors.Is(err, ErrDiffers) || w.notes() != 0 {
		t.Errorf("got %v, %d descriptions are left", err, w.notes())
	}
	w.describe(s, "")
	// Somebody merges two days: the description no longer says all, and the next one does.
	w.compact("acme", "2026-11-01", "2026-11-02")
	w.merge(ErrDiffers)
	w.describe(s, "")
	w.merge(nil)
	w.check(w.open(), s)
}

func TestCommit_EndsAfterADeathAtEveryStep(t *testing.T) {
	for _, step := range []string{"upload", "describe", "commit", "committed"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			s := sample(t)
			w.follow(s)
			s.Spend("acme", "2026-11-02", 4, 8)
			s.Publish()
			w.describe(s, step)
			w.describe(s, "")
			l := w.open()
			l.die = diesAt(step, 1)
			if _, err := l.Commit(t.Context(), FoldOptions{}); err != nil && !errors.Is(err, errDied) {
				t.Fatal(err)
			}
			w.merge(nil)
			w.check(w.open(), s)
			if n := w.notes(); n != 0 {
				t.Errorf("%d descriptions are left", n)
			}
			if got := len(w.Snapshots("spend_daily")); got != 2 {
				t.Errorf("%d snapshots, want 2", got)
			}
		})
	}
}

// TestCommit_ConvergesAfterRandomDeaths: followers and commits die at random steps, answers are lost
// and commits conflict, while three stores go on.
func TestCommit_ConvergesAfterRandomDeaths(t *testing.T) {
	w := newWorld(t)
	c := w.Disturb()
	stores := []*store{sample(t), newStore(t, "gamma"), newStore(t, "delta")}
	describe := func(s *store) {
		c.Try(func() error {
			_, err := w.dying(c, 15).Follow(t.Context(), FollowOptions{Dir: s.Dir, Inbox: true})
			return err
		})
	}
	fold := func() {
		c.Try(func() error {
			_, err := w.dying(c, 15).Commit(t.Context(), FoldOptions{})
			return err
		})
	}
	for range rounds(t, 15, 200) {
		for _, s := range stores {
			if account := s.M.AccountNames()[0]; c.Chance(60) {
				d := day("2026-10-25") + schema.Date(c.Below(15))
				s.Spend(account, d.String(), 1+c.Below(4), int64(c.Below(1e6)))
				s.Publish()
			}
			if s.M.Generation > 0 && c.Chance(70) {
				describe(s)
			}
		}
		if c.Chance(50) {
			fold()
		}
	}
	c.Quiet = true
	for _, s := range stores {
		s.Publish()
		describe(s)
	}
	fold()
	for _, s := range stores {
		w.check(w.open(), s)
	}
	if n := w.notes(); n != 0 || c.Deaths == 0 {
		t.Errorf("%d descriptions are left, %d deaths", n, c.Deaths)
	}
	t.Logf("%d deaths", c.Deaths)
}

// TestCommit_AsksOnceForEachDescription: a commit of six descriptions sends four requests more to the storage than one
// of two, whose descriptions are read each by one and deleted by one together; where the storage does not delete many
// at once, it deletes them one by one.
func TestCommit_AsksOnceForEachDescription(t *testing.T) {
	commit := func(stores int, refuses bool) (all int64, asked map[string]int) {
		w, asked := newWorld(t), map[string]int{}
		for i := range stores {
			s := newStore(t, fmt.Sprintf("account-%d", i))
			s.Spend(s.M.AccountNames()[0], "2026-11-01", 2, 1)
			s.Publish()
			w.describe(s, "")
		}
		w.S3Fault = func(r *http.Request) int {
			switch {
			case r.Method == http.MethodPost && r.URL.Query().Has("delete"):
				asked["DELETE many"]++
				if refuses {
					return http.StatusNotImplemented
				}
			case strings.Contains(r.URL.Path, "/inbox/") || r.Method == http.MethodDelete:
				asked[r.Method]++
			case r.URL.Query().Has("list-type"):
				asked["list"]++
			}
			return 0
		}
		before := w.Objects.Load()
		if done := w.merge(nil); done.Stores != stores {
			t.Errorf("%+v", done)
		}
		all = w.Objects.Load() - before
		w.S3Fault = nil
		if n := w.notes(); n != 0 {
			t.Errorf("%d descriptions are left", n)
		}
		return all, asked
	}
	two, _ := commit(2, false)
	six, asked := commit(6, false)
	if six-two != 4 || !maps.Equal(asked, map[string]int{"GET": 6, "DELETE many": 1, "list": 1}) {
		t.Errorf("%d and %d requests; %v", two, six, asked)
	}
	if _, asked = commit(2, true); asked["DELETE"] != 2 {
		t.Errorf("%v", asked)
	}
}
