package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"spendsync/schema"
)

// Day is the rows of one report day, sealed: in key order, with unique keys, their exact sums and the hash of their
// content. Only this package can create one, so the sums and the hash always fit the rows.
type Day struct {
	rows *schema.SpendRows
	sums Sums
	hash string
}

// NewDay sorts and seals rows. It returns an error if a key occurs twice, and [schema.ErrRange] if the amounts are too
// large to be added up. The caller must not use the rows afterwards.
func NewDay(rows *schema.SpendRows) (*Day, error) {
	if !rows.Ascend() {
		rows.Sort()
		if err := distinct(rows); err != nil {
			return nil, err
		}
	}
	return seal(rows)
}

// OrderedDay seals rows without sorting them. Rows in another order have another hash.
func OrderedDay(rows *schema.SpendRows) (*Day, error) {
	if err := distinct(rows); err != nil {
		return nil, err
	}
	return seal(rows)
}

func seal(rows *schema.SpendRows) (*Day, error) {
	sums, err := sumDay(rows)
	if err != nil {
		return nil, err
	}
	return &Day{rows: rows, sums: sums, hash: hashDay(rows)}, nil
}

// Rows returns the rows in key order. They must not be changed.
func (d *Day) Rows() *schema.SpendRows { return d.rows }

// Sums returns the exact totals of the rows.
func (d *Day) Sums() Sums { return d.sums }

// Hash returns the SHA-256 of the service's values in the rows. If the hashes of two reads are equal, the day is
// unchanged.
func (d *Day) Hash() string { return d.hash }

// KeyHash returns the SHA-256 of the keys and the spend of the rows. Two reads with an equal KeyHash differ at most in
// counts.
func (d *Day) KeyHash() string {
	h := sha256.New()
	for _, r := range d.rows.All() {
		fmt.Fprintf(h, "%q %q %q %d\n", r.CampaignID, r.CreativeID, r.SourceID, r.Spend)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Spending returns the number of rows whose spend is not 0.
func Spending(rows *schema.SpendRows) (n int64) {
	for _, r := range rows.All() {
		if r.Spend != 0 {
			n++
		}
	}
	return n
}

// distinct returns an error if two adjacent rows have the same key.
func distinct(rows *schema.SpendRows) error {
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

// hashDay computes [Day.Hash].
func hashDay(rows *schema.SpendRows) string {
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

// hashedAtOnce is the number of bytes that are hashed at a time.
const hashedAtOnce = 32 << 10

// Sums are the exact totals of a day's rows. As in SQL, NULLs are left out, and the sum is NULL if no row has a value.
type Sums struct {
	Rows        int64              `json:"rows"`
	Spend       schema.Money       `json:"spend"`
	Clicks      schema.Null[int64] `json:"clicks"`
	Impressions schema.Null[int64] `json:"impressions"`
	Conversions schema.Null[int64] `json:"conversions"`
}

// Counts are the names of the columns that contain counts in a report row. [Lacks] has the same order.
var Counts = [...]string{"clicks", "impressions", "conversions"}

func countsOf(r *schema.Spend) [len(Counts)]schema.Null[int64] {
	return [...]schema.Null[int64]{r.Clicks, r.Impressions, r.Conversions}
}

// Lacks counts the rows with a NULL in place of a count, separately for each of [Counts].
type Lacks [len(Counts)]int64

// After returns the numbers as they are after one more read of the day. It adds the rows that lost a count in that
// read, and subtracts those that regained one.
func (l Lacks) After(lost, regained Lacks) Lacks {
	for i := range l {
		l[i] = max(0, l[i]-regained[i]) + lost[i]
	}
	return l
}

// HasDelivery reports whether anything was delivered. A creative without delivery is a row of zeros, so a day may have
// rows and no delivery.
func (s Sums) HasDelivery() bool {
	return s.Spend != 0 || s.Clicks.V != 0 || s.Impressions.V != 0 || s.Conversions.V != 0
}

// sumDay adds up the rows of a day. It returns [schema.ErrRange] if some of the rows, for example those of a campaign,
// could add up to more than DECIMAL(18,6) holds.
func sumDay(rows *schema.SpendRows) (Sums, error) {
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
		for k, n := range countsOf(r) {
			if n.Valid {
				counts[k].V, counts[k].Valid = counts[k].V+n.V, true
			}
			// Rows with credits have negative counts, so the sums of absolute values are checked.
			if unsignedCounts[k] += max(n.V, -n.V); unsignedCounts[k] < 0 { // overflow
				return s, fmt.Errorf("a sum of counts: %w", schema.ErrRange)
			}
		}
	}
	if rows.Len() == 0 {
		// The sums of a day without rows are 0, not unknown.
		for _, n := range counts {
			n.Valid = true
		}
	}
	return s, nil
}
