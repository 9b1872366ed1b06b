// Package schematest makes rows for tests. [Rows] makes rows of any table from its definition, so that a new table or
// column is tested without further code. [SpendRow] makes rows of the report.
package schematest

import (
	"fmt"
	"reflect"

	"spendsync/schema"
)

// Rows returns a slice of the table's row struct. In the first row every column has a value that is not zero and
// differs from the values of the neighboring columns. Each of the following rows has one NULL, each in another nullable
// column. In the last row all nullable columns are NULL. The rows are in key order, and all values of a column are
// different, flags excepted.
func Rows(t *schema.Table) any {
	var nullable []int
	for i, c := range t.Columns {
		if c.Nullable {
			nullable = append(nullable, i)
		}
	}
	rows := reflect.MakeSlice(reflect.SliceOf(t.Row), len(nullable)+2, len(nullable)+2)
	for n := range rows.Len() {
		for i, c := range t.Columns {
			isNull := c.Nullable && (n == rows.Len()-1 || n > 0 && nullable[n-1] == i)
			if !isNull {
				Set(t, rows.Index(n), i, n)
			}
		}
	}
	return rows.Interface()
}

// Set sets a column of a row to its test value number n. The values grow with n, except for flags, which alternate.
func Set(t *schema.Table, row reflect.Value, column, n int) {
	c := t.Columns[column]
	field := fieldOf(row, c.Name)
	if c.Nullable {
		field.FieldByName("Valid").SetBool(true)
		field = field.FieldByName("V")
	}
	switch number := int64(1000*(column+1) + n); c.Kind {
	case schema.Text:
		field.SetString(fmt.Sprintf("%s %04d", c.Name, n))
	case schema.Flag:
		field.SetBool(n%2 == 0)
	case schema.Moment:
		field.SetInt(1_700_000_000_000_000 + number)
	default:
		field.SetInt(number)
	}
}

// fieldOf returns the field of a column, which may be in an embedded struct.
func fieldOf(row reflect.Value, column string) reflect.Value {
	for _, f := range reflect.VisibleFields(row.Type()) {
		if f.Tag.Get("col") == column {
			return row.FieldByIndex(f.Index)
		}
	}
	panic("schematest: no field of column " + column)
}
