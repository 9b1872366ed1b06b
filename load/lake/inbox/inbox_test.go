package inbox

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"spendsync/load/lake"
	"spendsync/load/lake/laketest"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// world is a lake in this process, with an inbox.
type world struct{ *laketest.World }

type store = laketest.Store

var newStore, sample, day = laketest.NewStore, laketest.Sample, laketest.Day

func newWorld(t testing.TB) *world { return &world{laketest.New(t)} }

// open opens the lake; step is told of each step.
func (w *world) open(step func(string) error) *lake.Lake {
	w.Helper()
	l, err := lake.Open(w.Context(), lake.Options{Catalog: w.URL, Warehouse: "wh", Namespace: laketest.Namespace,
		S3Endpoint: w.S3, Region: "us-east-1", AccessKey: laketest.AccessKey, SecretKey: laketest.SecretKey,
		Version: "test", Step: step})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { l.Close() })
	return l
}

// follow follows a store directly, and checks that the lake then holds just what the store does.
func (w *world) follow(s *store) *lake.Followed {
	w.Helper()
	done, err := w.open(nil).Follow(w.Context(), lake.FollowOptions{Dir: s.Dir})
	if err != nil {
		w.Fatal(err)
	}
	w.check(s)
	return done
}

// check compares the lake with a store, and with what lake_generation says.
func (w *world) check(s *store) {
	w.Helper()
	w.Check(s)
	status, err := w.open(nil).Status(w.Context(), s.Dir)
	if err != nil || status.Behind != 0 {
		w.Errorf("status: %+v, %v", status, err)
	}
}

// describe leaves a description of a store in the inbox.
func (w *world) describe(s *store) *Described {
	w.Helper()
	done, err := Describe(w.Context(), w.open(nil), time.Now(), s.Dir)
	if err != nil {
		w.Fatal(err)
	}
	return done
}

// commit commits the inbox and wants an error.
func (w *world) commit(want error) *Folded {
	w.Helper()
	done, err := Commit(w.Context(), w.open(nil), time.Now(), false)
	if !errors.Is(err, want) || done == nil {
		w.Fatalf("got %v, want %v", err, want)
	}
	return done
}

// inbox is the inbox and the descriptions in it.
func (w *world) inbox() (folder *lake.Folder, notes []note) {
	w.Helper()
	_, err := w.open(nil).Try(w.Context(), lake.FollowOptions{}, func(t *lake.Try) (err error) {
		if folder, err = t.Folder(w.Context(), folderName); err == nil {
			notes, err = list(w.Context(), folder, "")
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return folder, notes
}

// notes is how many descriptions lie in the inbox.
func (w *world) notes() int {
	w.Helper()
	_, notes := w.inbox()
	return len(notes)
}

// TestCommit_FoldsManyStoresIntoOneCommit: what two stores want is there after one commit, as it is
// where they commit themselves.
func TestCommit_FoldsManyStoresIntoOneCommit(t *testing.T) {
	w := newWorld(t)
	s, other := sample(t), newStore(t, "gamma")
	other.Spend("gamma", "2026-11-01", 2, 1)
	other.Publish()
	if done := w.describe(s); !done.Described || done.Added != 12 || done.Behind != 1 || len(w.State()) != 0 {
		t.Errorf("%+v, %v", done, w.State())
	}
	if done := w.describe(s); done.Described || done.Added != 0 {
		t.Errorf("described again: %+v", done)
	}
	w.describe(other)
	if done := w.commit(nil); done.Stores != 2 || done.Accounts != 3 || done.Added != 13 || w.notes() != 0 {
		t.Errorf("%+v, %d descriptions are left", done, w.notes())
	}
	w.check(s)
	w.check(other)
	if got := len(w.Snapshots("spend_daily")); got != 1 {
		t.Errorf("%d snapshots, want 1", got)
	}
	before := w.State()
	if done := w.commit(nil); done.Stores != 0 || !done.IsNothing() {
		t.Errorf("%+v", done)
	}
	for _, s := range []*store{s, other} { // what a direct follower would do is nothing
		if done := w.follow(s); !done.IsNothing() {
			t.Errorf("%+v", done)
		}
		if done := w.describe(s); done.Described {
			t.Errorf("%+v", done)
		}
	}
	if after := w.State(); len(before) == 0 || after[lake.MarkerTable] != before[lake.MarkerTable] {
		t.Errorf("the lake was %v and is %v", before, after)
	}
	// Two generations of one store, and none of the other: the newest, in one commit.
	s.Spend("acme", "2026-11-02", 4, 8)
	s.Publish()
	w.describe(s)
	s.Spend("acme", "2026-11-03", 1, 1)
	s.Publish()
	w.describe(s)
	if done := w.commit(nil); done.Stores != 1 || done.Added != 2 || done.Removed != 1 || w.notes() != 0 {
		t.Errorf("%+v, %d descriptions are left", done, w.notes())
	}
	w.check(s)
	w.check(other)
}

// TestCommit_AnOlderDescriptionNeverOverwrites: one that comes late, and one of a store that was
// set back, change nothing.
func TestCommit_AnOlderDescriptionNeverOverwrites(t *testing.T) {
	w := newWorld(t)
	s := sample(t)
	w.describe(s)
	_, notes := w.inbox()
	if len(notes) != 1 {
		t.Fatalf("%v", notes)
	}
	late := w.Read(notes[0].object)
	s.Spend("acme", "2026-11-02", 4, 8)
	s.Publish()
	w.describe(s)
	w.commit(nil)
	w.Write(notes[0].object, late)
	before := w.State()
	if done := w.commit(lake.ErrAhead); done.Stores != 0 || len(done.Refused) != 1 {
		t.Errorf("%+v", done)
	}
	if after := w.State(); after[lake.MarkerTable] != before[lake.MarkerTable] {
		t.Errorf("the lake was %v and is %v", before, after)
	}
	w.describe(s) // which takes it away
	w.commit(nil)
	w.check(s)
	back := &store{TB: t, Dir: t.TempDir(), M: manifest.New(), Now: s.Now.Add(time.Minute), Every: time.Hour}
	back.M.Of("acme")
	for range 4 {
		back.Publish()
	}
	if _, err := Describe(t.Context(), w.open(nil), time.Now(), back.Dir); !errors.Is(err, lake.ErrAhead) {
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
	w.describe(s)
	w.commit(nil)
	delete(s.M.Accounts["acme"].Files, manifest.PartPath(schema.SpendDaily.Table, "acme", day("2026-10-01")))
	delete(s.M.Accounts["acme"].Days, day("2026-10-01"))
	s.Publish()
	w.describe(s)
	w.describe(other)
	if done := w.commit(lake.ErrShrink); done.Stores != 1 || len(done.Refused) != 1 ||
		!strings.Contains(done.Refused[0], "2026-10-01") {
		t.Errorf("%+v", done)
	}
	w.check(other)
	if done, err := Commit(t.Context(), w.open(nil), time.Now(), true); err != nil || done.Removed != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	w.check(s)
	s.Spend("acme", "2026-11-03", 1, 1)
	s.Publish()
	w.describe(s)
	late := time.Now().Add(Age + time.Minute)
	if _, err := Commit(t.Context(), w.open(nil), late, false); !errors.Is(err, lake.ErrDiffers) || w.notes() != 0 {
		t.Errorf("got %v, %d descriptions are left", err, w.notes())
	}
	w.describe(s)
	// Somebody deletes rows: the description no longer names all, and the next one does.
	w.Delete("spend_daily", "acme")
	w.commit(lake.ErrDiffers)
	w.describe(s)
	w.commit(nil)
	w.check(s)
}

func TestCommit_EndsAfterADeathAtEveryStep(t *testing.T) {
	for _, step := range []string{"upload", "describe", "commit", "committed"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			s := sample(t)
			w.follow(s)
			s.Spend("acme", "2026-11-02", 4, 8)
			s.Publish()
			dies := laketest.DiesAt(step, 1)
			if _, err := Describe(t.Context(), w.open(dies), time.Now(), s.Dir); err != nil &&
				!errors.Is(err, laketest.ErrDied) {
				t.Fatal(err)
			}
			w.describe(s)
			dies = laketest.DiesAt(step, 1)
			if _, err := Commit(t.Context(), w.open(dies), time.Now(), false); err != nil &&
				!errors.Is(err, laketest.ErrDied) {
				t.Fatal(err)
			}
			w.commit(nil)
			w.check(s)
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
			_, err := Describe(t.Context(), w.open(c.Dies(15)), time.Now(), s.Dir)
			return err
		})
	}
	fold := func() {
		c.Try(func() error {
			_, err := Commit(t.Context(), w.open(c.Dies(15)), time.Now(), false)
			return err
		})
	}
	for range laketest.Rounds(15, 200) {
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
		w.check(s)
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
			w.describe(s)
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
		if done := w.commit(nil); done.Stores != stores {
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

// TestInbox_RefusesABomb: an object that unpacks to much more than a description does is named, and
// never unpacked to its end.
func TestInbox_RefusesABomb(t *testing.T) {
	w := newWorld(t)
	w.follow(sample(t))
	folder, _ := w.inbox()
	if err := putCompressed(t.Context(), folder, "acme/99-R99.json.zst",
		io.LimitReader(zeros{}, 300<<20)); err != nil {
		t.Fatal(err)
	}
	_, notes := w.inbox()
	f, err := readCompressed(folder, notes[0].object)
	if !errors.Is(err, lake.ErrForeign) || !strings.Contains(err.Error(), "unpack to more") {
		t.Errorf("%v, %v", f, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestCommit_FoldsClosedMonths: what an inbox describes holds the files of closed months.
func TestCommit_FoldsClosedMonths(t *testing.T) {
	w := newWorld(t)
	s := laketest.Autumn(t)
	w.describe(s)
	w.commit(nil)
	s.CloseSeptember()
	w.describe(s)
	if done := w.commit(nil); done.Added != 2 || done.Removed != 6 || w.Months() != 2 {
		t.Errorf("%+v, %d months", done, w.Months())
	}
	w.check(s)
}
