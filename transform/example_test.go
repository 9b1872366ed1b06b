package transform_test

import (
	"fmt"
	"log"
	"slices"

	"spendsync/extract"
	"spendsync/schema"
	"spendsync/transform"
)

// Turn a reply of the report into rows. The second row has an amount that would have to be guessed: it is left out
// and returned with its place, its reason and its JSON.
func Example() {
	const reply = `{"columns":["date","campaign_id","campaign_name","creative_id","source_id","total_spend",
		"clicks","impressions","conversions"],"data":[
		{"date":"2026-11-20","campaign_id":"C13463005","campaign_name":"Winter","creative_id":"C13463005-001",
		 "source_id":"S101","total_spend":12.345678,"clicks":17,"impressions":2100,"conversions":2},
		{"date":"2026-11-20","campaign_id":"C13463005","campaign_name":"Winter","creative_id":"C13463005-001",
		 "source_id":"S118","total_spend":"about 3","clicks":4,"impressions":800,"conversions":0}],
		"pagination":{"page":1,"page_size":1000,"total_rows":2,"total_pages":1}}`
	day, err := schema.ParseDate("2026-11-20")
	if err != nil {
		log.Fatal(err)
	}
	bodies := func(yield func([]byte, error) bool) { yield([]byte(reply), nil) }
	c := transform.SpendContext{Account: "acme", RunID: "run1", Day: day}
	var rows schema.SpendRows
	var refused []transform.RefusedRow
	for page, err := range extract.ProveSpend(nil, extract.SpendQuestion{Day: day, PageSize: 1000}, bodies,
		new(extract.Evidence)) {
		if err != nil {
			log.Fatal(err)
		}
		read := transform.AppendSpend(&rows, page, c, transform.NewInterner())
		refused = slices.Concat(refused, read.Refused)
	}
	for _, row := range rows.All() {
		fmt.Println(row.ReportDate, row.CampaignID, row.SourceID, row.Spend, row.Clicks.V)
	}
	for _, r := range refused {
		fmt.Println("refused:", r.RowError.Error())
	}
	// Output:
	// 2026-11-20 C13463005 S101 12.345678 17
	// refused: spend_daily page 1 row 2: total_spend "about 3": not a number
}
