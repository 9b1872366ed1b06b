package load

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"spendsync/schema"
)

// SortDay puts the rows of one day into key order and refuses a key that occurs
// twice: the last line of the proof, on the values as they will be stored.
func SortDay(rows []schema.Spend) ([]schema.Spend, error) {
	if !inKeyOrder(rows) {
		// Rows are large: their order is sorted, then each is moved once.
		order := make([]int32, len(rows))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int { return compareKeys(&rows[a], &rows[b]) })
		sorted := make([]schema.Spend, len(rows))
		for i, from := range order {
			sorted[i] = rows[from]
		}
		rows = sorted
	}
	for i := 1; i < len(rows); i++ {
		if compareKeys(&rows[i-1], &rows[i]) == 0 {
			r := rows[i]
			return nil, fmt.Errorf("campaign %q creative %q source %q: two rows", r.CampaignID, r.CreativeID, r.SourceID)
		}
	}
	return rows, nil
}

func inKeyOrder(rows []schema.Spend) bool {
	for i := 1; i < len(rows); i++ {
		if compareKeys(&rows[i-1], &rows[i]) > 0 {
			return false
		}
	}
	return true
}

// compareKeys orders rows of one account and day.
func compareKeys(a, b *schema.Spend) int {
	if c := cmp.Compare(a.CampaignID, b.CampaignID); c != 0 {
		return c
	}
	if c := cmp.Compare(a.CreativeID, b.CreativeID); c != 0 {
		return c
	}
	return cmp.Compare(a.SourceID, b.SourceID)
}

// HashDay is the SHA-256 of what the service says in the rows of a day, in key
// order: equal hashes mean an unchanged day.
func HashDay(rows []schema.Spend) string {
	h := sha256.New()
	var b []byte
	for i := range rows {
		r := &rows[i]
		b = b[:0]
		for _, s := range [...]string{r.CampaignID, r.CreativeID, r.SourceID, r.CampaignName} {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
		b = binary.AppendVarint(b, int64(r.Spend))
		for _, n := range [...]schema.Null[int64]{r.Clicks, r.Impressions, r.Conversions} {
			if n.Valid {
				b = binary.AppendVarint(append(b, 1), n.V)
			} else {
				b = append(b, 0)
			}
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// SumDay adds up the rows of a day, exactly. Unknown values are left out, as
// SQL's sum does; where no row has a value, the sum is unknown too.
func SumDay(rows []schema.Spend) (Sums, error) {
	s := Sums{Rows: int64(len(rows))}
	counts := [...]*schema.Null[int64]{&s.Clicks, &s.Impressions, &s.Conversions}
	for i := range rows {
		r := &rows[i]
		var err error
		if s.Spend, err = schema.AddMoney(s.Spend, r.Spend); err != nil {
			return s, err
		}
		for k, n := range [...]schema.Null[int64]{r.Clicks, r.Impressions, r.Conversions} {
			if n.Valid {
				counts[k].V, counts[k].Valid = counts[k].V+n.V, true
			}
			if counts[k].V < 0 { // both were not negative: it wrapped around
				return s, fmt.Errorf("a sum of counts: %w", schema.ErrRange)
			}
		}
	}
	if len(rows) == 0 {
		// A day without rows is known to have had nothing.
		for _, n := range counts {
			n.Valid = true
		}
	}
	return s, nil
}

// DayDiff counts the differences between two versions of a day.
type DayDiff struct{ Inserted, Updated, Deleted int64 }

// Reading says when and by which run a day was read, and whether the day as
// stored had been read after it was over.
type Reading struct {
	At      schema.Instant
	RunID   string
	WasOver bool
}

// MergeDay lays a day as read over the day as stored; both are in key order.
// The result is the day to store: rows whose values are the same stay as they
// were, with the run that wrote them, and others keep the time they were first
// seen. Where the day was over when it was last read, every difference in the
// numbers is a restatement, and is returned as a line of spend_change.
func MergeDay(stored, read []schema.Spend, by Reading) (rows []schema.Spend, changes []schema.SpendChange, d DayDiff) {
	rows = make([]schema.Spend, 0, len(read))
	note := func(op string, was, is *schema.Spend) {
		if by.WasOver {
			changes = append(changes, change(op, was, is, by))
		}
	}
	i, j := 0, 0
	for i < len(stored) || j < len(read) {
		switch {
		case j == len(read) || (i < len(stored) && compareKeys(&stored[i], &read[j]) < 0):
			d.Deleted++
			note(schema.OpDelete, &stored[i], nil)
			i++
		case i == len(stored) || compareKeys(&stored[i], &read[j]) > 0:
			d.Inserted++
			note(schema.OpInsert, nil, &read[j])
			rows = append(rows, read[j])
			j++
		default:
			was, is := &stored[i], &read[j]
			row, same := *was, sameNumbers(was, is)
			if !same {
				note(schema.OpUpdate, was, is)
			}
			if !same || was.CampaignName != is.CampaignName {
				d.Updated++
				row = *is
				row.FirstSeenAt = was.FirstSeenAt
			}
			rows = append(rows, row)
			i, j = i+1, j+1
		}
	}
	return rows, changes, d
}

func sameNumbers(a, b *schema.Spend) bool {
	return a.Spend == b.Spend && a.Clicks == b.Clicks && a.Impressions == b.Impressions && a.Conversions == b.Conversions
}

func change(op string, was, is *schema.Spend, by Reading) schema.SpendChange {
	key := was
	if key == nil {
		key = is
	}
	c := schema.SpendChange{
		AccountID: key.AccountID, ReportDate: key.ReportDate, CampaignID: key.CampaignID,
		CreativeID: key.CreativeID, SourceID: key.SourceID, SeenAt: by.At, Op: op, RunID: by.RunID,
	}
	if was != nil {
		c.OldSpend, c.OldClicks = schema.Some(was.Spend), was.Clicks
		c.OldImpressions, c.OldConversions = was.Impressions, was.Conversions
	}
	if is != nil {
		c.NewSpend, c.NewClicks = schema.Some(is.Spend), is.Clicks
		c.NewImpressions, c.NewConversions = is.Impressions, is.Conversions
	}
	return c
}
