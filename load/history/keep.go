package history

import (
	"iter"
	"slices"
	"strings"

	"spendsync/schema"
)

// Keep returns rows with the stored values of columns that the replies lack, and the columns of which it took some:
// what was not asked for, or not given, takes no known value away. The rows have every key once, in key order.
func Keep(rows *schema.SpendRows, stored iter.Seq2[[]schema.Spend, error], columns []string) (
	kept *schema.SpendRows, from []string, err error) {
	if len(columns) == 0 || rows.Len() == 0 {
		return rows, nil, nil
	}
	kept = &schema.SpendRows{}
	kept.Grow(rows.Len())
	next := 0
	var row schema.Spend
	for batch, err := range stored {
		if err != nil {
			return nil, nil, err
		}
		for i := range batch {
			was := &batch[i]
			for next < rows.Len() {
				rows.Row(next, &row)
				order := CompareKeys(&row, was)
				if order > 0 {
					break
				}
				if order == 0 {
					from = keepValues(&row, was, columns, from)
				}
				kept.Append(&row)
				next++
			}
		}
	}
	for ; next < rows.Len(); next++ {
		rows.Row(next, &row)
		kept.Append(&row)
	}
	slices.Sort(from)
	return kept, from, nil
}

// keepValues takes the known values of a stored row that a row lacks, and adds their columns to from.
func keepValues(row, was *schema.Spend, columns, from []string) []string {
	for _, column := range columns {
		took := false
		switch column {
		case "clicks":
			took = take(&row.Clicks, was.Clicks)
		case "impressions":
			took = take(&row.Impressions, was.Impressions)
		case "conversions":
			took = take(&row.Conversions, was.Conversions)
			took = take(&row.ConversionsFractional, was.ConversionsFractional) || took
		case "campaign_name":
			if took = row.CampaignName == "" && was.CampaignName != ""; took {
				row.CampaignName = strings.Clone(was.CampaignName)
			}
		}
		if took && !slices.Contains(from, column) {
			from = append(from, column)
		}
	}
	return from
}

// take gives an unknown value the known one.
func take[T comparable](to *schema.Null[T], known schema.Null[T]) bool {
	if to.Valid || !known.Valid {
		return false
	}
	*to = known
	return true
}
