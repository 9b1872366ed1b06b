package parquet

import (
	"io"

	"spendsync/schema"
)

// WriteDay writes the rows of a day, in the bytes in which [Write] writes their records.
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
