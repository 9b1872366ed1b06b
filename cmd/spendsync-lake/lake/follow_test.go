package lake

import (
	"errors"
	"slices"
	"testing"

	"github.com/apache/iceberg-go/table"

	"spendsync/cmd/spendsync-lake/lake/restsim"
	"spendsync/schema/schematest"
)

func TestFollow_MakesTheLakeEqual(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := sample(t)
	done := w.follow(s)
	if done.Added != 12 || done.Generation != 1 || done.Accounts != 2 {
		t.Errorf("first follow: %+v", done)
	}
	l, before, asked := w.open(), w.Objects.Load(), w.Rest.Requests()
	done, err := l.Follow(t.Context(), FollowOptions{Dir: s.Dir})
	if err != nil || !done.IsNothing() || w.Rest.Requests()-asked != 1 || w.Objects.Load()-before > 6 {
		t.Errorf("second follow: %+v, %v, %d and %d requests", done, err, w.Rest.Requests()-asked,
			w.Objects.Load()-before)
	}
	s.Spend("acme", "2026-11-02", 4, 8) // restated
	s.Spend("acme", "2026-11-03", 2, 1) // new
	s.Publish()
	if done = w.follow(s); done.Added != 2 || done.Removed != 1 || len(done.Tables) != 2 {
		t.Errorf("third follow: %+v", done)
	}
}

func TestFollow_KeepsOurFieldIDs(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	w.follow(sample(t))
	for _, s := range specs() {
		meta := w.Rest.Metadata("spendsync", s.name)
		if meta == nil {
			t.Fatalf("table %s is not there", s.name)
		}
		for _, f := range s.schema.Fields() {
			if got, ok := meta.CurrentSchema().FindFieldByID(f.ID); !ok || got.Name != f.Name ||
				!got.Type.Equals(f.Type) ||
				got.Required != f.Required || got.Doc != f.Doc {
				t.Errorf("table %s id %d: %v, want %v", s.name, f.ID, got, f)
			}
		}
		if got, want := sortedBy(meta.SortOrder()), sortedBy(s.order); !slices.Equal(got, want) {
			t.Errorf("table %s is sorted by %v, want %v", s.name, got, want)
		}
	}
}

func TestFollow_StandsLostAnswersAndConflicts(t *testing.T) {
	schematest.Long(t)
	for name, disturb := range map[string]func(*restsim.Catalog, *int){
		"lost": func(c *restsim.Catalog, n *int) {
			c.After = func([]string) error {
				if *n++; *n == 1 {
					return errors.New("the connection broke")
				}
				return nil
			}
		},
		"conflict": func(c *restsim.Catalog, n *int) {
			c.Before = func([]string) error {
				if *n++; *n == 1 {
					return restsim.ErrConflict
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := sample(t)
			w.follow(s)
			s.Spend("acme", "2026-11-02", 4, 8)
			s.Publish()
			n := 0
			disturb(w.Rest, &n)
			if done := w.follow(s); n == 0 {
				t.Errorf("%+v after %d commits", done, n)
			}
			if got := len(w.Snapshots("spend_daily")); got != 2 {
				t.Errorf("%d snapshots, want 2", got)
			}
		})
	}
}

func sortedBy(o table.SortOrder) (ids []int) {
	for _, f := range o.Fields() {
		ids = append(ids, f.SourceIDs...)
	}
	return ids
}
