package duck

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"spendsync/schema"
)

// MartColumns are the mart's columns as its view gives them, in the types of the
// table: ratios, which a view gives as floats, are rounded to six decimals.
func MartColumns(m schema.Mart) string {
	var list []string
	for _, c := range m.Columns {
		list = append(list, fmt.Sprintf("CAST(%[1]s AS %[2]s) AS %[1]s", schema.Quote(c.Name), c.DuckDB()))
	}
	return strings.Join(list, ", ")
}

// MartRecords asks the view of a mart and yields its rows, in the order of the key.
func (w *Warehouse) MartRecords(ctx context.Context, m schema.Mart, where string) iter.Seq2[arrow.Record, error] {
	return w.Records(ctx, m.Table, fmt.Sprintf("SELECT %s FROM mart.%s", MartColumns(m), schema.Quote(m.View)), where)
}
