package queries_test

import (
	"strings"
	"testing"

	"spendsync/queries"
	"spendsync/schema/schematest"
)

// TestViews_MayBeAskedInASubquery: of a view that has correlated subqueries of its own, or
// many clauses that are named often, a reader's makes a question that DuckDB cannot plan
// ("INTERNAL Error: Failed to bind column reference") or for which no memory is enough.
func TestViews_MayBeAskedInASubquery(t *testing.T) {
	schematest.Long(t)
	w := newWarehouse(t)
	w.fill(t, &testCase{now: noon}, "")
	views, err := queries.Views(nil)
	if err != nil {
		t.Fatal(err)
	}
	of := schematest.Times(3, 1, 1) // planning takes most of a second for each
	asked, seen := 0, 0
	for _, v := range views {
		name := v.Schema + "." + v.Name
		if v.Parameters != "" || v.Name == "example" || !strings.Contains(v.SQL, "account_id") {
			continue
		}
		if seen++; seen%of != 0 {
			continue
		}
		asked++
		from := "FROM " + name + " AS v WHERE v.account_id = d.account_id"
		rows, err := w.Query("EXPLAIN SELECT (SELECT count(*) " + from + ") FROM mart.campaign_day AS d " +
			"WHERE EXISTS (SELECT 1 " + from + ")")
		if err != nil {
			t.Fatalf("%s: %v", name, err) // DuckDB answers nothing more after that
		}
		rows.Close()
	}
	if asked < 40/of {
		t.Errorf("%d views were asked", asked)
	}
}
