package history

import (
	"fmt"

	"spendsync/schema"
)

// Combination is how the rows of one key in the replies of a day are one row. It is stored, so that
// the same replies give the same day again.
type Combination string

// The combinations.
const (
	Apart  Combination = ""       // every key comes once
	Newest Combination = "newest" // the row that came last stands, for it is the same one
	Added  Combination = "added"  // the numbers are added up, under the last name
)

// Repeats sorts rows by their keys, those of one key in the order in which they came. It reports
// whether a key comes more than once, and whether all rows of such keys are alike.
func Repeats(rows *schema.SpendRows) (repeats, alike bool) {
	if rows.Ascend() {
		return false, true
	}
	rows.Sort()
	alike = true
	var a, b schema.Spend
	for i := 1; i < rows.Len(); i++ {
		if rows.Compare(i-1, i) == 0 {
			rows.Row(i-1, &a)
			rows.Row(i, &b)
			repeats, alike = true, alike && schema.SameReported(&a, &b)
		}
	}
	return repeats, alike
}

// Renamed reports whether all rows of one key have different names next to each other. The rows are sorted.
func Renamed(rows *schema.SpendRows) bool {
	var a, b schema.Spend
	found := false
	for i := 1; i < rows.Len(); i++ {
		if rows.Compare(i-1, i) != 0 {
			continue
		}
		rows.Row(i-1, &a)
		rows.Row(i, &b)
		if found = true; a.CampaignName == b.CampaignName {
			return false
		}
	}
	return found
}

// Combine returns the rows with every key once. The rows that were handed over are sorted.
func Combine(rows *schema.SpendRows, how Combination) (*schema.SpendRows, error) {
	if repeats, _ := Repeats(rows); how == Apart || !repeats {
		return rows, nil
	}
	out := &schema.SpendRows{}
	out.Grow(rows.Len())
	var row, next schema.Spend
	for i := range rows.Len() {
		rows.Row(i, &next)
		if i == 0 || rows.Compare(i-1, i) != 0 {
			if i > 0 {
				out.Append(&row)
			}
			row = next
			continue
		}
		if how == Added {
			if err := addNumbers(&next, &row); err != nil {
				return nil, fmt.Errorf("campaign %q creative %q source %q: %w", row.CampaignID, row.CreativeID,
					row.SourceID, err)
			}
		}
		row = next
	}
	if rows.Len() > 0 {
		out.Append(&row)
	}
	return out, nil
}

// addNumbers adds the numbers of a row to those of another. A sum with an unknown number is unknown.
func addNumbers(to, more *schema.Spend) (err error) {
	if to.Spend, err = schema.AddMoney(to.Spend, more.Spend); err != nil {
		return err
	}
	if to.ConversionsFractional.Valid || more.ConversionsFractional.Valid {
		a, b := exactConversions(to), exactConversions(more)
		to.Conversions, to.ConversionsFractional = schema.Null[int64]{}, schema.Null[schema.Money]{}
		if a.Valid && b.Valid {
			sum, err := schema.AddMoney(a.V, b.V)
			if err != nil {
				return err
			}
			to.ConversionsFractional = schema.Some(sum)
		}
	}
	for _, n := range [...]struct{ to, more *schema.Null[int64] }{
		{&to.Clicks, &more.Clicks}, {&to.Impressions, &more.Impressions}, {&to.Conversions, &more.Conversions},
	} {
		if !n.to.Valid || !n.more.Valid {
			*n.to = schema.Null[int64]{}
			continue
		}
		if n.to.V += n.more.V; n.to.V < 0 != (n.more.V < 0) && (n.to.V-n.more.V < 0) == (n.more.V < 0) {
			return fmt.Errorf("a sum of counts: %w", schema.ErrRange)
		}
	}
	return nil
}

// exactConversions returns the conversions of a row, whole or not.
func exactConversions(r *schema.Spend) schema.Null[schema.Money] {
	const most = int64(schema.MaxMoney / schema.Dollar)
	if n := r.Conversions; n.Valid && n.V <= most && n.V >= -most {
		return schema.Some(schema.Money(n.V) * schema.Dollar)
	}
	return r.ConversionsFractional
}
