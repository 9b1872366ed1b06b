package schema

import (
	"fmt"
	"reflect"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// erasedRows is a [TableOf] for code that goes through all tables and so does not know
// the type of their rows.
type erasedRows interface {
	rowType() reflect.Type
	record(mem memory.Allocator, rows any) (arrow.Record, error)
}

func (t TableOf[R]) rowType() reflect.Type { return reflect.TypeFor[R]() }

func (t TableOf[R]) record(mem memory.Allocator, rows any) (arrow.Record, error) {
	typed, ok := rows.([]R)
	if !ok {
		return nil, fmt.Errorf("table %s has no rows of type %T", t.FullName(), rows)
	}
	return t.Record(mem, typed), nil
}

// RowType is the struct of the table's rows.
func (t *Table) RowType() reflect.Type { return t.rows.rowType() }

// RecordOf is [TableOf.Record] of a slice of the table's row struct, whichever it is.
func (t *Table) RecordOf(mem memory.Allocator, rows any) (arrow.Record, error) {
	return t.rows.record(mem, rows)
}
