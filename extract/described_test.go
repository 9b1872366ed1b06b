package extract

import (
	"testing"

	"spendsync/extract/service"
)

func TestSnakeCase(t *testing.T) {
	for key, want := range map[string]string{
		"default_bid": "default_bid", "defaultBid": "default_bid", "DefaultBid": "default_bid",
		"default-bid": "default_bid", "targetCPA": "target_cpa",
		"CPATarget": "cpa_target", "id": "id", "ID": "id", "campaignID": "campaign_id", "button1": "button1",
		"average7DaySpend": "average7_day_spend", "": "", "größeX": "größe_x",
	} {
		check(t, key, service.SnakeCase(key), want)
	}
}

// A key that is there under its own name keeps it, and of two that would become one
// neither is taken for it.
func TestFields_AreUnderTheNamesOfTheDescription(t *testing.T) {
	fields, _ := Value(`{"defaultBid":1,"target_cpa":2,"targetCpa":3,"endDate":4,"end-date":5,"Name":6}`).Fields()
	for key, want := range map[string]string{
		"default_bid": "1", "target_cpa": "2", "targetCpa": "3", "end_date": "", "endDate": "4", "end-date": "5",
		"name": "6", "defaultBid": "",
	} {
		check(t, key, string(fields[key]), want)
	}
	if _, ok := Value(`[]`).Fields(); ok {
		t.Error("a list has fields")
	}
}

// A campaign in the form of JSON:API.
func TestResource_TakesAttributes(t *testing.T) {
	body := `{"data":[{"type":"campaigns","id":"C1000001","attributes":{"name":"Spring","defaultBid":0.5,"id":7},` +
		`"relationships":{}}],"meta":{"total":1}}`
	part, err := campaignResource(nil).list([]byte(body))
	entries, total := part.entries, part.total
	if err != nil || len(entries) != 1 || total != 1 {
		t.Fatalf("%v of %d, %v", entries, total, err)
	}
	e := entries[0]
	check(t, "id", e.ID, "C1000001")
	check(t, "name", string(e.Fields["name"]), `"Spring"`)
	check(t, "bid", string(e.Fields["default_bid"]), "0.5")
	check(t, "raw", string(e.Raw), body[len(`{"data":[`):len(body)-len(`],"meta":{"total":1}}`)])
	me, err := aboutAccount(nil, Value(`{"data":{"type":"key","id":"k","attributes":{"advertiserId":"A17"}}}`),
		"key info", "me")
	if err != nil || string(me.Fields["advertiser_id"]) != `"A17"` {
		t.Errorf("%v, %v", me, err)
	}
}
