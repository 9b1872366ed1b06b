package manifest

import (
	"reflect"
	"testing"

	"spendsync/load/history"
	"spendsync/schema"
)

// TestNext_IsPure: the next manifest has the change and everything else of the base, and neither the
// base nor the change is altered, whether the account is new or known.
func TestNext_IsPure(t *testing.T) {
	base := large()
	before := large()
	_, same := base.Encode()
	_, err := before.Encode()
	if same != nil || err != nil {
		t.Fatal(same, err)
	}
	kept := PartPath(schema.SpendDaily.Table, "account-3", 20001)
	gone := PartPath(schema.SpendDaily.Table, "account-3", 20002)
	change := func() Change {
		return Change{
			Since: 10, Days: map[schema.Date]*Day{20001: {RunID: "R8"}}, Pinned: "A1", Settled: []string{"C2"},
			Files:         map[string]*File{"new": {Kind: KindRaw}, gone: nil},
			Confirmations: map[string]history.Confirmations{"t": {ObservedAt: 5}},
			ExtraKeys:     map[string]map[string]KeyChanges{"b": {"k": {Compared: 1}}},
			Unknown:       []schema.UnknownField{{Stream: "s", Path: "p"}, {Stream: "s", Path: "p", RunID: "later"}},
			Asked:         true, Ask: &Ask{PageSize: 500}, Reach: 30, Notes: []Note{{Name: "n"}},
		}
	}
	c, again := change(), change()
	head := Head{SchemaVersion: schema.Version, Generation: 8, RunID: "R8"}
	next := Next(base, head, "account-3", c)
	if !reflect.DeepEqual(base, before) || !reflect.DeepEqual(c, again) {
		t.Error("the base or the change is another")
	}
	is, was := next.Accounts["account-3"], base.Accounts["account-3"]
	if next.Generation != 8 || next.Views != base.Views || is.Files["new"] == nil || is.Files[gone] != nil ||
		is.Files[kept] != was.Files[kept] || is.Days[20001].RunID != "R8" || is.Days[20002].RunID != "R1" ||
		is.Since != was.Since || is.Pinned != "A1" || len(is.Settled) != 1 || is.Confirmations["t"].ObservedAt != 5 ||
		is.ExtraKeys["b"]["k"].Compared != 1 || len(is.Unknown) != 1 || is.Unknown[0].RunID != "" ||
		is.Ask.PageSize != 500 || is.Reach != 30 || len(is.Notes) != 1 {
		t.Errorf("%+v", is)
	}
	if !reflect.DeepEqual(next.Accounts["account-4"], base.Accounts["account-4"]) {
		t.Error("another account is another")
	}
	if a := Next(base, head, "new", c).Accounts["new"]; a.Since != 10 || len(a.Days) != 1 || len(a.Files) != 1 {
		t.Errorf("a new account: %+v", a)
	}
	if m := Next(nil, head, "new", Change{}); len(m.Accounts) != 1 || m.Generation != 8 {
		t.Errorf("nothing before: %+v", m)
	}
	early := Next(base, head, "account-3", Change{Days: map[schema.Date]*Day{was.Since - 1: {}, was.Since + 1: {}}})
	if a := early.Accounts["account-3"]; a.Since != was.Since-1 {
		t.Errorf("a day before the first: since %s", a.Since)
	}
	after := Next(next, head, "account-3", Change{}).Accounts["account-3"]
	if after.Ask != is.Ask || after.Reach != 30 || len(after.Notes) != 1 {
		t.Errorf("a run without an answer: %+v", after)
	}
	if a := Next(next, head, "account-3", Change{Asked: true, Notes: []Note{}}).Accounts["account-3"]; a.Ask != nil ||
		a.Reach != 0 || len(a.Notes) != 0 {
		t.Errorf("all is asked for again, and nothing is noted: %+v", a)
	}
	unchanged := Next(base, head, "account-3", Change{})
	if e, err := unchanged.Encode(); err != nil || len(e.Parts) != 0 {
		t.Errorf("no change gives %d files, %v", len(e.Parts), err)
	}
}
