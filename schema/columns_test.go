package schema_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestEveryColumn_OfOpsSurvivesJSON: the ledger and the manifest keep rows of these tables
// as JSON.
func TestEveryColumn_OfOpsSurvivesJSON(t *testing.T) {
	for _, table := range schema.Tables {
		if table.Schema != "ops" {
			continue
		}
		want := schematest.Rows(table)
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(want))
		if err := json.Unmarshal(b, got.Interface()); err != nil {
			t.Fatalf("%s: %v", table.FullName(), err)
		}
		if d := cmp.Diff(want, got.Elem().Interface()); d != "" {
			t.Errorf("%s (-want +got):\n%s", table.FullName(), d)
		}
	}
}

// TestSpendRows_KeepEveryColumn: packed rows keep all columns of spend_daily, also after they are sorted or restamped.
func TestSpendRows_KeepEveryColumn(t *testing.T) {
	want := schematest.Rows(schema.SpendDaily.Table).([]schema.Spend)
	var packed schema.SpendRows
	for _, r := range slices.Backward(want) {
		packed.Append(&r)
	}
	packed.Sort()
	check := func(what string) {
		t.Helper()
		var got []schema.Spend
		for _, r := range packed.All() {
			got = append(got, *r)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	check("sorted")
	stamps := packed.Restamp()
	for i := range want {
		want[i].FirstSeenAt, want[i].ChangedAt, want[i].RunID = 1, schema.Instant(2+i), "again"
		stamps.Next(i, schema.SpendStamp{FirstSeenAt: 1, ChangedAt: schema.Instant(2 + i), RunID: "again"})
	}
	stamps.Done()
	check("restamped")
}

// TestAppendReported_HearsOfEveryColumn: a changed value changes the hash and the content of a row if the service
// reports the column. In one of spendsync's own columns, a changed value changes neither.
func TestAppendReported_HearsOfEveryColumn(t *testing.T) {
	row := schematest.Rows(schema.SpendDaily.Table).([]schema.Spend)[0]
	for i, c := range schema.SpendDaily.Columns {
		ours := c.Name == "account_id" || c.Name == "report_date" || c.Name == "campaign_name" || c.Name[0] == '_'
		other := row
		schematest.Set(schema.SpendDaily.Table, reflect.ValueOf(&other).Elem(), i, 5)
		others := []schema.Spend{other}
		if c.Nullable {
			null := row
			reflect.ValueOf(&null).Elem().Field(i).SetZero()
			others = append(others, null)
		}
		for _, other := range others {
			if same := bytes.Equal(schema.AppendReported(nil, &row), schema.AppendReported(nil, &other)); same != ours {
				t.Errorf("%s: the same bytes %t, want %t", c.Name, same, ours)
			}
			if same := schema.SameReported(&row, &other); same != (ours || c.Key) {
				t.Errorf("%s: SameReported %t, want %t", c.Name, same, ours)
			}
			number := c.Kind == schema.Count || c.Kind == schema.Amount
			if differs := schema.Restates(&row, &other); differs != number {
				t.Errorf("%s: restates %t, want %t", c.Name, differs, number)
			}
		}
	}
}
