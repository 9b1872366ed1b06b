package schema

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"unsafe"
)

// SpendRows holds the rows of one account and day in a quarter of the room that a slice
// of them takes: what neighbours share is there once, and a row has nothing for the
// garbage collector to follow. A large day is most of what a run holds in memory.
//
// The zero value is empty. It is not safe for concurrent use. The texts of a row stay as
// they are whatever becomes of the rows; that of its source keeps those of many others
// in memory.
type SpendRows struct {
	account string
	day     Date
	rows    []packedSpend
	heads   []spendHead
	sources [][]byte // each behind its length
}

// packedSpend is what a row does not share.
type packedSpend struct {
	spend                           Money
	clicks, impressions, conversion int64
	source                          uint32 // the piece of sources, and behind 16 bits the place in it
	head                            uint32 // which head, and in the last bits which of the counts are not NULL
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

// The last bits of packedSpend.head.
const (
	clicksKnown = 1 << iota
	impressionsKnown
	conversionsKnown

	knownBits = iota
)

// pieceBytes is how large a piece of the sources is, unless one source is larger: a place
// in it has 16 bits.
const pieceBytes = 1 << 16

// Len is the number of rows.
func (s *SpendRows) Len() int { return len(s.rows) }

// Reset forgets the rows and keeps their room.
func (s *SpendRows) Reset() { s.Cut(0) }

// Cut leaves the first n rows.
func (s *SpendRows) Cut(n int) {
	s.rows = s.rows[:n]
	if n == 0 {
		clear(s.heads)
		s.heads = s.heads[:0]
		s.sources = nil // rows that were given away have their texts there
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
		source: s.addSource(r.SourceID), spend: r.Spend, clicks: r.Clicks.V, impressions: r.Impressions.V, conversion: r.Conversions.V,
		head: addHead(&s.heads, spendHead{r.CampaignID, r.CreativeID, r.CampaignName, SpendStamp{r.FirstSeenAt, r.ChangedAt, r.RunID}}) << knownBits,
	}
	for bit, n := range [...]Null[int64]{r.Clicks, r.Impressions, r.Conversions} {
		if n.Valid {
			p.head |= 1 << bit
		}
	}
	s.rows = append(s.rows, p)
}

// addSource copies a text, behind its length, and says where it is.
func (s *SpendRows) addSource(text string) uint32 {
	last := len(s.sources) - 1
	if size := binary.MaxVarintLen32 + len(text); last < 0 || len(s.sources[last])+size > cap(s.sources[last]) {
		if last++; last == 1<<16 {
			panic("schema: more than 4 GiB of sources on one day")
		}
		s.sources = append(s.sources, make([]byte, 0, max(pieceBytes, size)))
	}
	piece := s.sources[last]
	at := uint32(last)<<16 | uint32(len(piece))
	s.sources[last] = append(binary.AppendUvarint(piece, uint64(len(text))), text...)
	return at
}

// source is the text at a place. No byte of it ever changes.
func (s *SpendRows) source(at uint32) string {
	text := s.sources[at>>16][at&0xffff:]
	size, used := uint64(text[0]), 1
	if size >= 0x80 {
		size, used = binary.Uvarint(text)
	}
	return unsafe.String(unsafe.SliceData(text[used:]), int(size))
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
	h := &s.heads[p.head>>knownBits]
	*r = Spend{
		AccountID: s.account, ReportDate: s.day, CampaignID: h.campaign, CreativeID: h.creative, CampaignName: h.name,
		FirstSeenAt: h.stamp.FirstSeenAt, ChangedAt: h.stamp.ChangedAt, RunID: h.stamp.RunID,
	}
	s.own(p, r)
}

// own puts into r what a row does not share.
func (s *SpendRows) own(p *packedSpend, r *Spend) {
	r.SourceID, r.Spend = s.source(p.source), p.spend
	r.Clicks = Null[int64]{p.clicks, p.head&clicksKnown != 0}
	r.Impressions = Null[int64]{p.impressions, p.head&impressionsKnown != 0}
	r.Conversions = Null[int64]{p.conversion, p.head&conversionsKnown != 0}
}

// All are the rows in their order. A row is lent to the loop body, to be looked at.
func (s *SpendRows) All() iter.Seq2[int, *Spend] {
	return func(yield func(int, *Spend) bool) {
		var r Spend
		for i := range s.rows {
			p := &s.rows[i]
			if i > 0 && p.head>>knownBits == s.rows[i-1].head>>knownBits {
				s.own(p, &r)
			} else {
				s.Row(i, &r)
			}
			if !yield(i, &r) {
				return
			}
		}
	}
}

// Compare orders two rows by their key.
func (s *SpendRows) Compare(i, j int) int {
	a, b := &s.rows[i], &s.rows[j]
	if i, j := a.head>>knownBits, b.head>>knownBits; i != j {
		x, y := &s.heads[i], &s.heads[j]
		if c := cmp.Or(cmp.Compare(x.campaign, y.campaign), cmp.Compare(x.creative, y.creative)); c != 0 {
			return c
		}
	}
	return cmp.Compare(s.source(a.source), s.source(b.source))
}

// Ascend says whether the key of each row is above that of the row before.
func (s *SpendRows) Ascend() bool {
	for i := 1; i < len(s.rows); i++ {
		if s.Compare(i-1, i) >= 0 {
			return false
		}
	}
	return true
}

// Sort puts the rows into the order of their keys.
func (s *SpendRows) Sort() {
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
	h := r.of.heads[p.head>>knownBits]
	h.stamp = stamp
	p.head = addHead(&r.heads, h)<<knownBits | p.head&(1<<knownBits-1)
}

// Done ends it, when every row has its stamp.
func (r *Restamp) Done() { r.of.heads = r.heads }
