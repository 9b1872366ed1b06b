package load

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/schema"
	"spendsync/schema/schematest"
)

var errCrash = errors.New("crash")

// TestPublish_DiesAnywhere ends a run at every step of publishing, as if the
// process had been killed there, and then runs again: the store must be whole at
// every moment and end in the state of a run that was never disturbed.
func TestPublish_DiesAnywhere(t *testing.T) {
	// The reference: two undisturbed runs, the second with a restated day, a new
	// day and a vanished row.
	second := func() map[schema.Date][]schema.Spend {
		return map[schema.Date][]schema.Spend{
			day:     {schematest.SpendRow(day, "S1", 13_000_000), schematest.SpendRow(day, "S4", 4_000_000)},
			day - 2: {schematest.SpendRow(day-2, "S1", 1)},
		}
	}
	state := func(dir string) string {
		return strings.Join([]string{
			query(t, dir, "SELECT * EXCLUDE (_run_id, _first_seen_at, _changed_at) FROM spend_daily ORDER BY ALL"),
			query(t, dir, "SELECT * EXCLUDE (_run_id, seen_at) FROM spend_change ORDER BY ALL"),
			query(t, dir, "SELECT report_date, state, rows, spend, content_hash FROM ops.day_coverage ORDER BY ALL"),
		}, "\n--\n")
	}
	before := filepath.Join(quickDir(t), "before")
	newRun(t, before).mustSync(twoDays())
	reference := newRun(t, filepath.Join(quickDir(t), "reference"))
	copyStore(t, before, reference.dir)
	reference.at = reference.at.Add(24 * time.Hour)
	var steps []string
	reference.opts.crash = func(step string) error { steps = append(steps, step); return nil }
	reference.mustSync(second())
	want := state(reference.dir)
	if len(steps) < 10 {
		t.Fatalf("only %d steps: %v", len(steps), steps)
	}
	committed := slices.Index(steps, "commit record") + 1

	for i, step := range steps {
		if i%strideOf(2) != 0 && i != committed {
			continue
		}
		t.Run(fmt.Sprintf("%02d %s", i, strings.ReplaceAll(step, "/", "~")), func(t *testing.T) {
			r := newRun(t, filepath.Join(quickDir(t), "data"))
			copyStore(t, before, r.dir)
			r.at = r.at.Add(24 * time.Hour)
			n := 0
			r.opts.crash = func(string) error {
				if n++; n > i {
					return errCrash
				}
				return nil
			}
			if _, err := r.sync(second()); !errors.Is(err, errCrash) {
				t.Fatalf("sync = %v, want the crash", err)
			}
			r.opts.crash = nil
			// Whatever the next start finds, it brings one generation: the new one
			// once the record was in its place, else the old one.
			s, err := Open(t.Context(), r.dir, "acme", r.opts)
			if err != nil {
				t.Fatalf("open after the crash: %v", err)
			}
			wantGeneration := int64(1)
			if i >= committed {
				wantGeneration = 2
			}
			if got := s.Manifest().Generation; got != wantGeneration {
				t.Errorf("generation %d after the crash, want %d", got, wantGeneration)
			}
			s.Close()
			checkStore(t, r.dir)
			r.mustSync(second())
			if got := state(r.dir); got != want {
				t.Errorf("after the next run:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestRollForward_CanDieItself ends the recovery at every move, again and again,
// until it gets through.
func TestRollForward_CanDieItself(t *testing.T) {
	schematest.Long(t)
	r := newRun(t, t.TempDir())
	r.mustSync(twoDays())
	r.opts.crash = func(step string) error {
		if strings.HasPrefix(step, "move ") {
			return errCrash
		}
		return nil
	}
	r.at = r.at.Add(24 * time.Hour)
	read := map[schema.Date][]schema.Spend{day: {schematest.SpendRow(day, "S5", 5)}}
	if _, err := r.sync(read); !errors.Is(err, errCrash) {
		t.Fatalf("sync = %v, want the crash", err)
	}
	for survived := 0; ; survived++ {
		n := 0
		o := Options{crash: func(string) error {
			if n++; n > survived {
				return errCrash
			}
			return nil
		}}
		err := o.filled().place(r.dir).End()
		if err == nil {
			if survived < 5 {
				t.Errorf("the recovery got through after %d steps; were they counted?", survived)
			}
			break
		}
		if !errors.Is(err, errCrash) {
			t.Fatalf("after %d steps: %v", survived, err)
		}
	}
	checkStore(t, r.dir)
	if got := query(t, r.dir, "SELECT source_id FROM spend_daily WHERE report_date = '2026-11-20'"); got != "S5" {
		t.Errorf("sources = %s, want S5", got)
	}
}
