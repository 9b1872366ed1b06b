package job

import (
	"testing"

	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// TestSuspicious_LooksAtRowsAndAtSpend: an answer is suspicious if it lost all rows, or more than
// half of the rows or of the spend, whichever of the two it is.
func TestSuspicious_LooksAtRowsAndAtSpend(t *testing.T) {
	for name, c := range map[string]struct {
		wasRows, rows   int64
		wasSpend, spend schema.Money
		want            bool
	}{
		"as-it-was":                  {100, 100, 1000, 1000, false},
		"more":                       {100, 200, 1000, 2000, false},
		"half-of-the-rows":           {100, 50, 1000, 1000, false},
		"rows/less-than-half":        {100, 49, 1000, 1000, true},
		"rows/fewer-with-more-spend": {100, 1, 1000, 5000, true},
		"half-of-the-spend":          {100, 100, 1000, 500, false},
		"spend/less-than-half":       {100, 100, 1000, 499, true},
		"spend/more-rows":            {100, 500, 1000, 0, true},
		"empty":                      {1, 0, 1000, 0, true},
		"empty-of-rows-without-cost": {3, 0, 0, 0, true},
		"rows-without-cost":          {100, 60, 0, 0, false},
		"rows-without-cost/lost":     {100, 40, 0, 0, true},
		"credits":                    {100, 100, -1000, -5000, false},
		"credits-after-no-cost":      {100, 100, 0, -5, false},
		"nothing-was-stored":         {0, 0, 0, 0, false},
		"first-rows":                 {0, 10, 0, 1000, false},
	} {
		known := &manifest.Day{Sums: history.Sums{Rows: c.wasRows, Spend: c.wasSpend}}
		if got := suspicious(known, history.Sums{Rows: c.rows, Spend: c.spend}); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	if suspicious(nil, history.Sums{}) {
		t.Error("an empty answer for a day of which nothing is stored is suspicious")
	}
}
