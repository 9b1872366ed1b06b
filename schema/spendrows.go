package schema

import (
	"cmp"
	"iter"
	"slices"
)

// SpendRows holds the rows of one account and day in a third of the room that a slice
// of them takes: what neighbours share is there once, and a row has little for the
// garbage collector to follow. A large day is most of what a run holds in memory.
//
// The zero value is empty. It is not safe for concurrent use.
type SpendRows struct {
	account string
	day     Date
	rows    []packedSpend
	heads   []spendHead
}

// packedSpend is what a row does not share.
type packedSpend struct {
	source                          string
	spend                           Money
	clicks, impressions, conversion int64
	head                            uint32
	known                           uint8 // which of the counts are not NULL
}

// spendHead is what rows that follow each other share.
type spendHead struct {
	campaign, creative, name string
	stamp                    SpendStamp
}

// SpendStamp is what spendsync itself says of a row.
type SpendStamp struct {
	FirstSeenAt, ChangedAt Instant
	RunID                  string
}

// The bits of packedSpend.known.
const (
	clicksKnown = 1 << iota
	impressionsKnown
	conversionsKnown
)

// Len is the number of rows.
func (s *SpendRows) Len() int { return len(s.rows) }

// Reset forgets the rows and keeps their room.
func (s *SpendRows) Reset() { s.Cut(0) }

// Cut leaves the first n rows.
func (s *SpendRows) Cut(n int) {
	clear(s.rows[n:])
	s.rows = s.rows[:n]
	if n == 0 {
		clear(s.heads)
		s.heads = s.heads[:0]
	}
}

// Grow makes room for n more rows.
func (s *SpendRows) Grow(n int) { s.rows = slices.Grow(s.rows, n) }

// Append appends a row. All rows are of the account and the day of the first.
func (s *SpendRows) Append(r *Spend) {
	if len(s.rows) == 0 {
		s.account, s.day = r.AccountID, r.ReportDate
	}
	p := packedSpend{
		source: r.SourceID, spend: r.Spend, clicks: r.Clicks.V, impressions: r.Impressions.V, conversion: r.Conversions.V,
		head: addHead(&s.heads, spendHead{r.CampaignID, r.CreativeID, r.CampaignName, SpendStamp{r.FirstSeenAt, r.ChangedAt, r.RunID}}),
	}
	for bit, n := range [...]Null[int64]{r.Clicks, r.Impressions, r.Conversions} {
		if n.Valid {
			p.known |= 1 << bit
		}
	}
	s.rows = append(s.rows, p)
}

// addHead is the place of a head, which is added unless it is that of the row before.
func addHead(heads *[]spendHead, h spendHead) uint32 {
	last := len(*heads) - 1
	if last < 0 || (*heads)[last] != h {
		*heads = append(*heads, h)
		last++
	}
	return uint32(last)
}

// Row fills r with a row.
func (s *SpendRows) Row(i int, r *Spend) {
	p := &s.rows[i]
	h := &s.heads[p.head]
	*r = Spend{
		AccountID: s.account, ReportDate: s.day, CampaignID: h.campaign, CreativeID: h.creative, SourceID: p.source, CampaignName: h.name,
		Spend:       p.spend,
		Clicks:      Null[int64]{p.clicks, p.known&clicksKnown != 0},
		Impressions: Null[int64]{p.impressions, p.known&impressionsKnown != 0},
		Conversions: Null[int64]{p.conversion, p.known&conversionsKnown != 0},
		FirstSeenAt: h.stamp.FirstSeenAt, ChangedAt: h.stamp.ChangedAt, RunID: h.stamp.RunID,
	}
}

// All are the rows in their order. A row is the loop body's alone.
func (s *SpendRows) All() iter.Seq2[int, *Spend] {
	return func(yield func(int, *Spend) bool) {
		var r Spend
		for i := range s.rows {
			if s.Row(i, &r); !yield(i, &r) {
				return
			}
		}
	}
}

// Chunks are the rows in their order, n at a time. A slice is the loop body's alone.
func (s *SpendRows) Chunks(n int) iter.Seq[[]Spend] {
	return func(yield func([]Spend) bool) {
		chunk := make([]Spend, min(n, len(s.rows)))
		for from := 0; from < len(s.rows); from += n {
			chunk = chunk[:min(n, len(s.rows)-from)]
			for i := range chunk {
				s.Row(from+i, &chunk[i])
			}
			if !yield(chunk) {
				return
			}
		}
	}
}

// Compare orders two rows by their key.
func (s *SpendRows) Compare(i, j int) int {
	a, b := &s.rows[i], &s.rows[j]
	if a.head != b.head {
		x, y := &s.heads[a.head], &s.heads[b.head]
		if c := cmp.Or(cmp.Compare(x.campaign, y.campaign), cmp.Compare(x.creative, y.creative)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.source, b.source)
}

// Sort puts the rows into the order of their keys.
func (s *SpendRows) Sort() {
	for i := 1; i < len(s.rows); i++ {
		if s.Compare(i-1, i) > 0 {
			s.sort()
			return
		}
	}
}

func (s *SpendRows) sort() {
	order := make([]int32, len(s.rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return s.Compare(int(a), int(b)) })
	sorted := make([]packedSpend, len(s.rows))
	for i, from := range order {
		sorted[i] = s.rows[from]
	}
	s.rows = sorted
}

// Restamp gives the rows other stamps, one row after the other.
type Restamp struct {
	of    *SpendRows
	heads []spendHead
}

// Restamp begins. Until [Restamp.Done] the rows that have their new stamp are not to be
// looked at.
func (s *SpendRows) Restamp() *Restamp { return &Restamp{of: s} }

// Next gives row i its stamp; i goes up from 0 by 1.
func (r *Restamp) Next(i int, stamp SpendStamp) {
	p := &r.of.rows[i]
	h := r.of.heads[p.head]
	h.stamp = stamp
	p.head = addHead(&r.heads, h)
}

// Done ends it, when every row has its stamp.
func (r *Restamp) Done() { r.of.heads = r.heads }
