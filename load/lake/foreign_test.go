package lake

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/schema/schematest"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// alter changes the columns of a table, as another program would.
func (w *world) alter(name string, change func(columns []iceberg.NestedField, next int) []iceberg.NestedField) {
	w.Helper()
	l := w.open()
	t, err := l.catalog.LoadTable(w.Context(), l.identifier(name))
	if err != nil {
		w.Fatal(err)
	}
	columns := change(slices.Clone(t.Schema().Fields()), t.Metadata().LastColumnID()+1)
	altered := iceberg.NewSchemaWithIdentifiers(0, t.Schema().IdentifierFieldIDs, columns...)
	if _, _, err := l.catalog.CommitTable(w.Context(), t.Identifier(), nil, []table.Update{
		table.NewAddSchemaUpdate(altered), table.NewSetCurrentSchemaUpdate(-1)}); err != nil {
		w.Fatal(err)
	}
}

// addColumn adds a column to a table.
func (w *world) addColumn(name string, column iceberg.NestedField) {
	w.Helper()
	w.alter(name, func(columns []iceberg.NestedField, next int) []iceberg.NestedField {
		column.ID = next
		return append(columns, column)
	})
}

// TestFollow_RefusesAlteredColumns: of the columns that are ours none may be renamed, retyped or dropped; nothing is
// written, and verify and check refuse the table, too.
func TestFollow_RefusesAlteredColumns(t *testing.T) {
	schematest.Long(t)
	type fields = []iceberg.NestedField
	for what, change := range map[string]func(columns fields, at int) fields{
		"is column conversions_now there": func(columns fields, at int) fields {
			columns[at].Name += "_now"
			return columns
		},
		"column conversions is double there": func(columns fields, at int) fields {
			columns[at].Type = iceberg.PrimitiveTypes.Float64
			return columns
		},
		"had the column conversions, and somebody has dropped it": func(columns fields, at int) fields {
			return slices.Delete(columns, at, at+1)
		},
	} {
		w, s := newWorld(t), sample(t)
		w.follow(s)
		w.alter("spend_daily", func(columns []iceberg.NestedField, _ int) []iceberg.NestedField {
			return change(columns, slices.IndexFunc(columns, func(f iceberg.NestedField) bool {
				return f.Name == "conversions"
			}))
		})
		s.Spend("acme", "2026-11-02", 3, 8)
		s.Publish()
		if err := w.fails(s, w.options(), ErrForeign); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
		if _, err := w.open().Check(t.Context(), s.Dir); !errors.Is(err, ErrForeign) {
			t.Errorf("check: %v", err)
		}
	}
}

// TestFollow_ToleratesForeignColumns: a column that somebody added stays, is named, and hinders nothing; one that may
// not be NULL could not be read in our files.
func TestFollow_ToleratesForeignColumns(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	w.follow(s)
	note := iceberg.NestedField{Name: "note", Type: iceberg.PrimitiveTypes.String}
	w.addColumn("spend_daily", note)
	s.Spend("acme", "2026-11-02", 3, 8)
	s.Publish()
	done := w.follow(s)
	if want := []string{"spend_daily.note"}; !slices.Equal(done.Foreign, want) {
		t.Errorf("follow names %v, want %v", done.Foreign, want)
	}
	l := w.open()
	found, err := l.Check(t.Context(), s.Dir)
	if err != nil || !slices.Equal(found.Foreign, done.Foreign) {
		t.Errorf("%+v, %v", found, err)
	}
	v, err := l.Verify(t.Context(), s.Dir, true)
	if err != nil || !slices.Equal(v.Foreign, done.Foreign) {
		t.Errorf("%+v, %v", v, err)
	}
	note.Name, note.Required = "must", true
	w.addColumn("campaign_delivery_history", note)
	s.Publish()
	w.fails(s, w.options(), ErrForeign)
}

// TestFollow_LooksOnceADay: while no generation comes, what another program has deleted is seen within a day, and put
// back.
func TestFollow_LooksOnceADay(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	w.follow(s)
	l := w.open()
	w.Delete("spend_daily", "acme")
	follow := func(after time.Duration, looked time.Time) *Followed {
		t.Helper()
		l.opts.Now = func() time.Time { return time.Now().Add(after) }
		done, err := l.Follow(t.Context(), FollowOptions{Dir: s.Dir, Looked: looked})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	before := w.State()
	looked := time.Now().Add(2 * time.Hour)
	for _, done := range []*Followed{follow(time.Hour, time.Time{}), follow(25*time.Hour, looked)} {
		if done.Looked || !done.IsNothing() {
			t.Errorf("it looked early: %+v", done)
		}
	}
	if !maps.Equal(before, w.State()) {
		t.Error("something was written")
	}
	done := follow(25*time.Hour, time.Time{})
	if !done.Looked || !slices.Equal(done.Changed, []string{"spend_daily"}) {
		t.Errorf("%+v", done)
	}
	w.check(l, s)
	before = w.State()
	if done := follow(50*time.Hour, time.Time{}); !done.Looked || len(done.Changed) > 0 || !done.IsNothing() {
		t.Errorf("%+v", done)
	}
	if !maps.Equal(before, w.State()) {
		t.Error("a look that found nothing wrote something")
	}
}

// TestFollow_RefusesOtherStorage: a catalog that puts tables where this binary can't write is named at once.
func TestFollow_RefusesOtherStorage(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	w.Rest.Warehouse = "hdfs://lake/wh"
	if err := w.fails(s, w.options(), ErrForeign); !strings.Contains(err.Error(), "hdfs://lake/wh/spendsync") {
		t.Error(err)
	}
	if _, err := w.open().Check(t.Context(), s.Dir); !errors.Is(err, ErrForeign) {
		t.Errorf("check: %v", err)
	}
}

// TestCheck_DoesWhatFollowDoes: it fails where follow would, and leaves nothing.
func TestCheck_DoesWhatFollowDoes(t *testing.T) {
	schematest.Long(t)
	s := sample(t)
	t.Run("well", func(t *testing.T) {
		w := newWorld(t)
		l := w.open()
		found, err := l.Check(t.Context(), s.Dir)
		if err != nil || !found.Transactions || found.Tables != 0 || len(found.Left) > 0 {
			t.Errorf("%+v, %v", found, err)
		}
		if there, err := l.catalog.CheckNamespaceExists(t.Context(), l.namespace()); there || err != nil {
			t.Errorf("the namespace stays: %v", err)
		}
		if objects := w.Keys(); len(objects) > 0 {
			t.Errorf("objects stay: %v", objects)
		}
		w.follow(s)
		before, objects := w.State(), w.Keys()
		if found, err := l.Check(t.Context(), s.Dir); err != nil || found.Tables != len(l.specs) {
			t.Errorf("%+v, %v", found, err)
		}
		if !maps.Equal(before, w.State()) || !slices.Equal(objects, w.Keys()) {
			t.Error("check changed the lake")
		}
	})
	t.Run("storage refuses to write", func(t *testing.T) {
		w := newWorld(t)
		w.S3Fault = func(r *http.Request) int {
			if r.Method == http.MethodPut {
				return http.StatusForbidden
			}
			return 0
		}
		if _, err := w.open().Check(t.Context(), s.Dir); !errors.Is(err, ErrDenied) {
			t.Errorf("%v, want ErrDenied", err)
		}
	})
	t.Run("storage refuses to delete", func(t *testing.T) {
		w := newWorld(t)
		w.S3Fault = func(r *http.Request) int {
			if r.Method == http.MethodDelete || r.Method == http.MethodPost && r.URL.Query().Has("delete") {
				return http.StatusForbidden
			}
			return 0
		}
		if found, err := w.open().Check(t.Context(), s.Dir); err != nil || len(found.Left) == 0 {
			t.Errorf("%+v, %v", found, err)
		}
	})
	t.Run("catalog refuses our schema", func(t *testing.T) {
		w := newWorld(t)
		l, err := Open(t.Context(), w.behind(noSecondSchema(t)))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if _, err := l.Check(t.Context(), s.Dir); !errors.Is(err, ErrRejected) ||
			!strings.Contains(err.Error(), "add-schema: no") {
			t.Errorf("%v, want ErrRejected", err)
		}
	})
}
