package lake

import (
	"slices"
	"strings"
	"testing"

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

// TestFollow_RefusesAlteredColumns: if another program has renamed, retyped or dropped one of our columns, nothing is
// written, and verify and status refuse the table, too.
func TestFollow_RefusesAlteredColumns(t *testing.T) {
	schematest.Long(t)
	type fields = []iceberg.NestedField
	for what, change := range map[string]func(columns fields, at int) fields{
		"has column conversions_now with the id": func(columns fields, at int) fields {
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
	}
}

// TestFollow_ToleratesForeignColumns: a nullable column that another program added stays and does no harm. A required
// column is refused, because our files do not have that column.
func TestFollow_ToleratesForeignColumns(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	w.follow(s)
	note := iceberg.NestedField{Name: "note", Type: iceberg.PrimitiveTypes.String}
	w.addColumn("spend_daily", note)
	s.Spend("acme", "2026-11-02", 3, 8)
	s.Publish()
	w.follow(s)
	if v, err := w.open().Verify(t.Context(), s.Dir, true); err != nil {
		t.Errorf("%+v, %v", v, err)
	}
	note.Name, note.Required = "must", true
	w.addColumn("campaign_delivery_history", note)
	s.Publish()
	w.fails(s, w.options(), ErrForeign)
}

// TestFollow_RefusesOtherStorage: a catalog whose tables are in storage that this binary can't write to is refused.
func TestFollow_RefusesOtherStorage(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	w.Rest.Warehouse = "hdfs://lake/wh"
	if err := w.fails(s, w.options(), ErrForeign); !strings.Contains(err.Error(), "hdfs://lake/wh/spendsync") {
		t.Error(err)
	}
}
