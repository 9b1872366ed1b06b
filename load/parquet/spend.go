package parquet

import (
	"io"

	"spendsync/schema"
)

// WriteDay writes the rows of a day as one Parquet file, with the same bytes as [Write].
func WriteDay(out io.Writer, rows *schema.SpendRows) (int64, error) {
	return write(out, schema.SpendDaily.Table, rows.Len(), RecordsOf(schema.SpendDaily,
		func(yield func(schema.Spend) bool) {
			for _, row := range rows.All() {
				if !yield(*row) {
					return
				}
			}
		}))
}
