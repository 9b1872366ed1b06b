package variations

import "testing"

// TestTable_NamesEveryBehavior: a function whose name is not in the table would never be used.
func TestTable_NamesEveryBehavior(t *testing.T) {
	for _, group := range groups {
		for name := range group {
			if _, err := findQuirk(name); err != nil {
				t.Error(err)
			}
		}
	}
	for _, q := range catalogue() {
		if q.ask == nil && q.override == nil && q.change == nil && q.wire == nil {
			t.Errorf("%s has neither a line nor a behavior", q.Name)
		}
	}
}
