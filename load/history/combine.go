package history

import (
	"fmt"
	"iter"
	"slices"

	"spendsync/schema"
)

// Combination is how the rows of one key in the replies of a day are one row. It is stored, so that
// the same replies give the same day again.
type Combination string

// The combinations.
const (
	Apart  Combination = ""       // every key comes once
	Newest Combination = "newest" // the row that came last stands, for it is the same one
	Named  Combination = "named"  // of each name the last row stands; these are added up, under the last name
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

// Renamed reports whether rows of one key have different names. The rows are sorted.
func Renamed(rows *schema.SpendRows) bool {
	for of := range keys(rows) {
		if slices.ContainsFunc(of, func(r schema.Spend) bool { return r.CampaignName != of[0].CampaignName }) {
			return true
		}
	}
	return false
}

// Count returns how many rows there are that are combined so, and how many of them have spend. The rows are sorted.
func Count(rows *schema.SpendRows, how Combination) (n, spending int64) {
	for of := range keys(rows) {
		for i := range of {
			if how.stands(of, i) {
				n++
				if of[i].Spend > 0 {
					spending++
				}
			}
		}
	}
	return n, spending
}

// stands reports whether no later row of the same key stands for row i.
func (c Combination) stands(of []schema.Spend, i int) bool {
	later := of[i+1:]
	return c == Added || c == Apart || len(later) == 0 || c == Named && !slices.ContainsFunc(later, isNamed(&of[i]))
}

func isNamed(r *schema.Spend) func(schema.Spend) bool {
	return func(other schema.Spend) bool { return r.CampaignName == other.CampaignName }
}

// keys yields the rows of each key, in the order in which they came. The rows are sorted.
func keys(rows *schema.SpendRows) iter.Seq[[]schema.Spend] {
	return func(yield func([]schema.Spend) bool) {
		var of []schema.Spend
		for i := range rows.Len() {
			if i > 0 && rows.Compare(i-1, i) != 0 {
				if !yield(of) {
					return
				}
				of = of[:0]
			}
			of = append(of, schema.Spend{})
			rows.Row(i, &of[len(of)-1])
		}
		if len(of) > 0 {
			yield(of)
		}
	}
}

// Combine returns the rows with every key once. The rows that were handed over are sorted.
func Combine(rows *schema.SpendRows, how Combination) (*schema.SpendRows, error) {
	if repeats, _ := Repeats(rows); how == Apart || !repeats {
		return rows, nil
	}
	out := &schema.SpendRows{}
	out.Grow(rows.Len())
	for of := range keys(rows) {
		row := of[len(of)-1]
		for i, more := range of[:len(of)-1] {
			if !how.stands(of, i) {
				continue
			}
			if err := addNumbers(&row, &more); err != nil {
				return nil, fmt.Errorf("campaign %q creative %q source %q: %w", row.CampaignID, row.CreativeID,
					row.SourceID, err)
			}
		}
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
