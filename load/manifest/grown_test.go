package manifest

import "testing"

// TestGrownTooMuch tests a DuckDB file of a million rows of 100 bytes. Its dead space is of two kinds: space that the
// file already has, and the space of rows that are about to be replaced.
func TestGrownTooMuch(t *testing.T) {
	const mb = 1_000_000
	for name, c := range map[string]struct {
		bytes, rows, dead int64
		want              bool
	}{
		"as it was built":                     {100 * mb, mb, 0, false},
		"nearly twice as large":               {170 * mb, mb, 0, false},
		"twice as large":                      {190 * mb, mb, 0, true},
		"twice as large, with twice the rows": {190 * mb, 2 * mb, 0, false},
		"every row replaced":                  {100 * mb, mb, mb, true},
		"half of the rows replaced":           {100 * mb, mb, mb / 2, false},
		"half of the rows replaced again":     {150 * mb, mb, mb / 2, true},
		"small, and all dead":                 {30 * mb, mb / 4, mb / 4, false},
		"at the limit":                        {180 * mb, mb, 0, false},
		"as large as is free":                 {bloatFreeSize, mb / 10, 0, true},
		"nearly as large as is free":          {bloatFreeSize - 1, mb / 10, 0, false},
	} {
		m := New()
		m.Accounts["acme"] = &Account{Files: map[string]*File{"x": {Kind: KindParquet, Rows: c.rows}}}
		m.Warehouse.Bytes, m.Warehouse.BuiltBytes, m.Warehouse.BuiltRows = c.bytes, 100*mb, mb
		if got := m.GrownTooMuch(c.dead); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
		// A file without a record of its size when it was built is never rebuilt.
		if m.Warehouse.BuiltRows = 0; m.GrownTooMuch(c.dead) {
			t.Errorf("%s: it has grown from an unknown size", name)
		}
	}
}
