package schematest

import (
	"fmt"
	"iter"
	"slices"

	"spendsync/schema"
)

// SpendRow returns a row of account acme. The edit functions change the fields that matter to a test.
func SpendRow(d schema.Date, source string, spend schema.Money, edit ...func(*schema.Spend)) schema.Spend {
	r := schema.Spend{
		AccountID: "acme", ReportDate: d, CampaignID: "C1234567", CreativeID: "C1234567-001", SourceID: source,
		CampaignName: "Winter 🎿 \"sale\"", Spend: spend,
		Clicks: schema.Some[int64](3), Impressions: schema.Some[int64](100), Conversions: schema.Some[int64](0),
	}
	for _, e := range edit {
		e(&r)
	}
	return r
}

// SpendOfSources returns n rows of one day, each with a source of its own.
func SpendOfSources(d schema.Date, n int) []schema.Spend {
	rows := make([]schema.Spend, n)
	for i := range rows {
		rows[i] = SpendRow(d, fmt.Sprintf("S%03d", i), schema.Money(i+1)*1_000_000)
	}
	return rows
}

// Packed returns the rows as [schema.SpendRows].
func Packed(rows []schema.Spend) *schema.SpendRows {
	p := &schema.SpendRows{}
	for i := range rows {
		p.Append(&rows[i])
	}
	return p
}

// Batches yields the rows in batches, and clears each batch after its iteration, as a reader of a stored day reuses the
// memory. A test thus finds code that keeps a batch.
func Batches(rows []schema.Spend, size int) iter.Seq2[[]schema.Spend, error] {
	return func(yield func([]schema.Spend, error) bool) {
		for batch := range slices.Chunk(rows, size) {
			lent := slices.Clone(batch)
			more := yield(lent, nil)
			clear(lent)
			if !more {
				return
			}
		}
	}
}
