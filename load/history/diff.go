package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"

	"spendsync/schema"
)

// SortDay puts the rows of one day into key order and refuses a key that occurs
// twice: the last line of the proof, on the values as they will be stored.
func SortDay(rows *schema.SpendRows) error {
	if rows.Ascend() {
		return nil
	}
	rows.Sort()
	return Distinct(rows)
}

// Distinct refuses neighbours of the same key.
func Distinct(rows *schema.SpendRows) error {
	for i := 1; i < rows.Len(); i++ {
		if rows.Compare(i-1, i) == 0 {
			var r schema.Spend
			rows.Row(i, &r)
			return fmt.Errorf("campaign %q creative %q source %q: two rows", r.CampaignID, r.CreativeID, r.SourceID)
		}
	}
	return nil
}

// CompareKeys orders rows of one account and day.
func CompareKeys(a, b *schema.Spend) int {
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
func HashDay(rows *schema.SpendRows) string {
	h := sha256.New()
	b := make([]byte, 0, hashedAtOnce+1000)
	for _, r := range rows.All() {
		b = schema.AppendReported(b, r)
		if len(b) > hashedAtOnce {
			h.Write(b)
			b = b[:0]
		}
	}
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// hashedAtOnce is how many bytes are hashed at a time.
const hashedAtOnce = 32 << 10

// Sums are the exact totals of a day's rows, as SQL's sum gives them: of the known
// values, and absent where no row has one.
type Sums struct {
	Rows        int64              `json:"rows"`
	Spend       schema.Money       `json:"spend"`
	Clicks      schema.Null[int64] `json:"clicks"`
	Impressions schema.Null[int64] `json:"impressions"`
	Conversions schema.Null[int64] `json:"conversions"`
}

// SumDay adds up the rows of a day, exactly. Unknown values are left out, as
// SQL's sum does; where no row has a value, the sum is unknown too. Amounts are refused
// with [schema.ErrRange] where those of some rows, such as a campaign's, could add up to
// more than DECIMAL(18,6) holds.
func SumDay(rows *schema.SpendRows) (Sums, error) {
	s := Sums{Rows: int64(rows.Len())}
	var unsigned schema.Money
	var unsignedCounts [3]int64
	counts := [...]*schema.Null[int64]{&s.Clicks, &s.Impressions, &s.Conversions}
	for _, r := range rows.All() {
		var err error
		if unsigned, err = schema.AddMoney(unsigned, max(r.Spend, -r.Spend)); err != nil {
			return s, err
		}
		s.Spend += r.Spend
		for k, n := range [...]schema.Null[int64]{r.Clicks, r.Impressions, r.Conversions} {
			if n.Valid {
				counts[k].V, counts[k].Valid = counts[k].V+n.V, true
			}
			// A credit takes counts back, so a sum may be negative.
			if unsignedCounts[k] += max(n.V, -n.V); unsignedCounts[k] < 0 { // it wrapped around
				return s, fmt.Errorf("a sum of counts: %w", schema.ErrRange)
			}
		}
	}
	if rows.Len() == 0 {
		// A day without rows is known to have had nothing.
		for _, n := range counts {
			n.Valid = true
		}
	}
	return s, nil
}

// Diff counts the differences between two versions of a day.
type Diff struct{ Inserted, Updated, Deleted int64 }

// Reading says when and by which run a day was read, and whether the day as
// stored had been read after it was over.
type Reading struct {
	At      schema.Instant
	RunID   string
	WasOver bool
}

// Merged is what a day as read differs by from the day as stored.
type Merged struct {
	// Changes are the restatements: where the day was over when it was last read, every
	// difference in the numbers is one.
	Changes *Changes
	Diff    Diff
	// Stale have the keys of the stored rows that are no longer right: that are updated
	// or gone. It is nil where they are many, or there was nothing stored.
	Stale []schema.Spend
}

// fewStale is how large a part of a day's rows may be stale for them to be called
// few: taking out and putting in so many rows costs less than all of them.
const fewStale = 8

// MergeDay lays a day as read over the day as stored; both are in key order. The
// rows as read become those to store: rows whose values are the same stay as they were,
// with the run that wrote them, and others keep the time they were first seen. After an
// error they are neither.
func MergeDay(stored iter.Seq2[[]schema.Spend, error], read *schema.SpendRows, by Reading) (Merged, error) {
	m := merger{Merged: Merged{Stale: []schema.Spend{}}, read: read, stamps: read.Restamp()}
	if by.WasOver {
		m.Changes = &Changes{by: by, read: read, was: &schema.SpendRows{}}
	}
	m.turn(0)
	for batch, err := range stored {
		if err != nil {
			return Merged{}, err
		}
		for i := range batch {
			m.take(&batch[i])
		}
	}
	if m.met == 0 && !by.WasOver {
		// There is nothing that a row could keep, and none is a restatement.
		return Merged{Diff: Diff{Inserted: int64(read.Len())}}, nil
	}
	for m.next < read.Len() {
		m.inserted()
	}
	m.stamps.Done()
	if m.met == 0 {
		m.Stale = nil
	}
	return m.Merged, nil
}

// merger takes the stored rows in, one by one.
type merger struct {
	Merged
	read   *schema.SpendRows
	stamps *schema.Restamp
	next   int          // row as read that is to be compared
	is     schema.Spend // that row
	met    int          // rows as stored
	run    string       // the run of the last row that stays as it was
}

// turn goes on to a row as read.
func (m *merger) turn(i int) {
	if m.next = i; i < m.read.Len() {
		m.read.Row(i, &m.is)
	}
}

// take takes in the next row as stored, which is only lent.
func (m *merger) take(was *schema.Spend) {
	m.met++
	for m.next < m.read.Len() && CompareKeys(was, &m.is) > 0 {
		m.inserted()
	}
	if m.next == m.read.Len() || CompareKeys(was, &m.is) < 0 {
		m.Diff.Deleted++
		gone := *was
		schema.SpendDaily.CloneTexts(&gone)
		if m.Changes != nil {
			m.Changes.deleted(&gone)
		}
		m.stale(&gone)
		return
	}
	stamp := schema.SpendStamp{FirstSeenAt: was.FirstSeenAt, ChangedAt: m.is.ChangedAt, RunID: m.is.RunID}
	same := schema.SameReported(was, &m.is)
	if !same && m.Changes != nil && !schema.SameNumbers(was, &m.is) {
		m.Changes.updated(m.next, &m.is, was)
	}
	if same {
		if m.run != was.RunID {
			m.run = strings.Clone(was.RunID)
		}
		stamp.ChangedAt, stamp.RunID = was.ChangedAt, m.run
	} else {
		m.Diff.Updated++
		m.is.FirstSeenAt = was.FirstSeenAt
		m.stale(&m.is)
	}
	m.stamps.Next(m.next, stamp)
	m.turn(m.next + 1)
}

// inserted takes in the row as read, which is not stored.
func (m *merger) inserted() {
	m.Diff.Inserted++
	if m.Changes != nil {
		m.Changes.inserted(m.next)
	}
	m.stamps.Next(m.next, schema.SpendStamp{FirstSeenAt: m.is.FirstSeenAt, ChangedAt: m.is.ChangedAt, RunID: m.is.RunID})
	m.turn(m.next + 1)
}

func (m *merger) stale(r *schema.Spend) {
	if m.Stale == nil {
		return
	}
	if m.Stale = append(m.Stale, *r); len(m.Stale)*fewStale > m.read.Len() {
		m.Stale = nil
	}
}
