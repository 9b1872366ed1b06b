package lake

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"spendsync/load/lake/laketest"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// keep follows, and checks that the lake has the store.
func (w *world) keep(s *store) *Followed {
	w.Helper()
	done, err := w.open().Follow(w.Context(), FollowOptions{Dir: s.Dir})
	if err != nil {
		w.Fatal(err)
	}
	w.check(w.open(), s)
	return done
}

// TestFollow_MakesOneFileOfAClosedMonth: the rows stay, also where a day of it is restated or added
// later; a day that is gone is not taken away.
func TestFollow_MakesOneFileOfAClosedMonth(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := laketest.Autumn(t)
	if w.keep(s); w.Months() != 0 {
		t.Fatalf("%d months before any is closed", w.Months())
	}
	s.CloseSeptember()
	if done := w.keep(s); done.Added != 2 || done.Removed != 6 || done.Rows != 26 || w.Months() != 2 {
		t.Errorf("%+v, %d months", done, w.Months())
	}
	if done := w.keep(s); !done.IsNothing() {
		t.Errorf("again: %+v", done)
	}
	for step, change := range []func(){
		func() { s.Spend("acme", "2026-09-08", 9, 9) }, // restated
		func() { s.Spend("acme", "2026-09-09", 2, 2) }, // added
	} {
		change()
		s.Publish()
		if done := w.keep(s); done.Added != 1 || done.Removed != 1 || w.Months() != 2 {
			t.Errorf("change %d: %+v, %d months", step, done, w.Months())
		}
	}
	for _, deep := range []bool{false, true} {
		if v, err := w.open().Verify(t.Context(), s.Dir, deep); err != nil || v.Files != 7 || v.Rows != 43 {
			t.Errorf("%+v, %v", v, err)
		}
	}
	path := manifest.PartPath(schema.SpendDaily.Table, "acme", day("2026-09-09"))
	delete(s.M.Accounts["acme"].Files, path)
	delete(s.M.Accounts["acme"].Days, day("2026-09-09"))
	s.Publish()
	w.fails(s, w.options(), ErrShrink)
	done, err := w.open().Follow(t.Context(), FollowOptions{Dir: s.Dir, AllowShrink: true})
	if err != nil || done.Added != 1 || done.Removed != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	s.Now = time.Date(2026, 10, 21, 0, 0, 0, 0, time.UTC) // a clock that was set back opens the month again
	s.Publish()
	if done := w.keep(s); done.Added != 6 || done.Removed != 2 || w.Months() != 0 {
		t.Errorf("%+v, %d months", done, w.Months())
	}
}

func TestVerify_FindsADamagedMonth(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := laketest.Autumn(t)
	s.CloseSeptember()
	w.keep(s)
	for _, f := range w.Live() {
		if f.IsMonth() {
			b := f.Bytes()
			b[len(b)/2] ^= 1
			w.Write(f.FilePath(), b)
		}
	}
	if v, err := w.open().Verify(t.Context(), s.Dir, true); !errors.Is(err, ErrDiffers) || len(v.Findings) != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestFollow_ClosesAMonthAfterADeathAtEveryStep, and where a day is replaced while it is read.
func TestFollow_ClosesAMonthAfterADeathAtEveryStep(t *testing.T) {
	schematest.Long(t)
	for _, at := range []struct {
		step string
		nth  int
	}{{"upload", 1}, {"upload", 2}, {"commit", 1}, {"committed", 1}} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			w := newWorld(t)
			s := laketest.Autumn(t)
			w.keep(s)
			s.CloseSeptember()
			l := w.open()
			l.opts.Step = diesAt(at.step, at.nth)
			if _, err := l.Follow(t.Context(), FollowOptions{Dir: s.Dir}); !errors.Is(err, errDied) {
				t.Fatalf("got %v", err)
			}
			if w.keep(s); w.Months() != 2 {
				t.Errorf("%d months", w.Months())
			}
		})
	}
	t.Run("moved", func(t *testing.T) {
		w := newWorld(t)
		s := laketest.Autumn(t)
		w.keep(s)
		s.CloseSeptember()
		l := w.open()
		var moved sync.Once // files are uploaded several at a time
		l.opts.Step = func(step string) error {
			if step == "upload" {
				moved.Do(func() {
					s.Spend("acme", "2026-09-29", 5, 99)
					s.Publish()
				})
			}
			return nil
		}
		if done, err := l.Follow(t.Context(), FollowOptions{Dir: s.Dir}); err != nil || done.Generation != 3 {
			t.Fatalf("%+v, %v", done, err)
		}
		w.check(w.open(), s)
	})
}
