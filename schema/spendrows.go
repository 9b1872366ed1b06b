package schema

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"unsafe"
)

// SpendRows holds the rows of one account and day in a quarter of the memory of a []Spend, because a large day takes
// most of a run's memory. Values that neighboring rows share are stored once, and a row has no pointers for the garbage
// collector to follow.
//
// Each row has its own source, counts and amounts (see [ownNumbers]). Neighboring rows share the values of all other
// columns, including columns added later.
//
// With a []Spend, a first load of three million rows takes 12 % more time, an hourly run 11 % more, and memory peaks at
// 500 MiB instead of 310.
//
// The zero value is empty. SpendRows is not safe for concurrent use. The texts of a row remain valid after rows are
// changed or removed; the text of a source keeps the memory of many other sources alive.
type SpendRows struct {
	rows    []packedSpend
	numbers []int64  // len(ownNumbers) values per row, in row order
	heads   []Spend  // values that consecutive rows share; the source and the columns in ownNumbers are empty
	sources [][]byte // IDs of sources, each prefixed by its length
}

// packedSpend locates the source of a row, and the values that it shares with other rows.
type packedSpend struct {
	source uint32 // upper 16 bits: index into SpendRows.sources; lower 16 bits: offset in that element
	head   uint32 // lowest knownBits bits: one flag for each of ownNumbers; other bits: index into SpendRows.heads
}

// SpendStamp holds the columns of a row that spendsync itself sets: when it first saw the row, when it last saw a
// change, and the run that last changed the row.
type SpendStamp struct {
	FirstSeenAt, ChangedAt Instant
	RunID                  string
}

// ownNumbers are the columns that SpendRows stores for each row separately, besides the source: all counts and amounts.
// Each takes 8 bytes in the row struct. If the column is nullable, the flag of a [Null] follows them.
var ownNumbers = slices.DeleteFunc(slices.Clone(SpendDaily.Columns), func(c Column) bool { return !c.isOwnNumber() })

func (c Column) isOwnNumber() bool { return c.Kind == Count || c.Kind == Amount }

// knownBits is how many of the lowest bits of packedSpend.head are flags. Each of the ownNumbers has one, which is set
// if the number is nullable and not NULL.
var knownBits = len(ownNumbers)

func init() {
	if knownBits > 12 {
		panic("schema: a day of spend_daily could have too few heads")
	}
}

// pieceBytes is the capacity of one element of SpendRows.sources, because packedSpend.source has 16 bits for the offset
// in an element. A single source that is larger gets an element of its own size.
const pieceBytes = 1 << 16

// Len returns how many rows were appended, except those that Cut removed.
func (s *SpendRows) Len() int { return len(s.rows) }

// Reset removes all rows. It keeps their memory for new rows, except that of the source IDs, which callers may still
// use.
func (s *SpendRows) Reset() { s.Cut(0) }

// Cut removes all rows after the first n.
func (s *SpendRows) Cut(n int) {
	s.rows, s.numbers = s.rows[:n], s.numbers[:n*len(ownNumbers)]
	if n == 0 {
		clear(s.heads)
		s.heads = s.heads[:0]
		s.sources = nil // callers may still hold source IDs that point into this memory
	}
}

// Name sets the campaign names of the rows. The map has names by campaign ID. Rows of campaigns that are not in the map
// keep their name.
func (s *SpendRows) Name(names map[string]string) {
	for i := range s.heads {
		if name := names[s.heads[i].CampaignID]; name != "" {
			s.heads[i].CampaignName = name
		}
	}
}

// Grow reserves memory for n more rows.
func (s *SpendRows) Grow(n int) {
	s.rows, s.numbers = slices.Grow(s.rows, n), slices.Grow(s.numbers, n*len(ownNumbers))
}

// Append appends a row.
func (s *SpendRows) Append(r *Spend) {
	head, notNull := *r, uint32(0)
	for i := range ownNumbers {
		c := &ownNumbers[i]
		field := unsafe.Add(unsafe.Pointer(&head), c.offset)
		if !c.Nullable {
			s.numbers = append(s.numbers, *(*int64)(field))
			*(*int64)(field) = 0
			continue
		}
		n := (*Null[int64])(field)
		s.numbers = append(s.numbers, n.V)
		if n.Valid {
			notNull |= 1 << i
		}
		*n = Null[int64]{}
	}
	head.SourceID = ""
	s.rows = append(s.rows, packedSpend{source: s.addSource(r.SourceID),
		head: addHead(&s.heads, &head)<<knownBits | notNull})
}

// addSource copies the ID of a source, prefixed by its length, and returns its location, see packedSpend.source.
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

// source returns the ID of a source at a location, see packedSpend.source. Its bytes never change, so it is not copied.
func (s *SpendRows) source(at uint32) string {
	text := s.sources[at>>16][at&0xffff:]
	size, used := uint64(text[0]), 1
	if size >= 0x80 {
		size, used = binary.Uvarint(text)
	}
	return unsafe.String(unsafe.SliceData(text[used:]), int(size))
}

// addHead returns the index of a head that equals h. It looks at the last four heads only, because the rows of two runs
// often alternate. If none of them equals h, addHead appends h.
func addHead(heads *[]Spend, h *Spend) uint32 {
	last := len(*heads) - 1
	for i := last; i >= 0 && i > last-4; i-- {
		if (*heads)[i] == *h {
			return uint32(i)
		}
	}
	*heads = append(*heads, *h)
	return uint32(last + 1)
}

// Row copies row i to *r.
func (s *SpendRows) Row(i int, r *Spend) {
	*r = s.heads[s.rows[i].head>>knownBits]
	s.own(i, r)
}

// own copies the source, the counts and the amounts of row i to *r.
func (s *SpendRows) own(i int, r *Spend) {
	p := s.rows[i]
	r.SourceID = s.source(p.source)
	numbers := s.numbers[i*len(ownNumbers):][:len(ownNumbers)]
	for k := range ownNumbers {
		c := &ownNumbers[k]
		field := unsafe.Add(unsafe.Pointer(r), c.offset)
		if c.Nullable {
			*(*Null[int64])(field) = Null[int64]{numbers[k], p.head&(1<<k) != 0}
		} else {
			*(*int64)(field) = numbers[k]
		}
	}
}

// All yields the rows in their order. The row is valid only until the next iteration.
func (s *SpendRows) All() iter.Seq2[int, *Spend] {
	return func(yield func(int, *Spend) bool) {
		var r Spend
		for i := range s.rows {
			if i > 0 && s.rows[i].head>>knownBits == s.rows[i-1].head>>knownBits {
				s.own(i, &r)
			} else {
				s.Row(i, &r)
			}
			if !yield(i, &r) {
				return
			}
		}
	}
}

// Compare compares the keys of rows i and j. It returns -1, 0 or 1, like [cmp.Compare].
func (s *SpendRows) Compare(i, j int) int {
	a, b := &s.rows[i], &s.rows[j]
	if i, j := a.head>>knownBits, b.head>>knownBits; i != j {
		x, y := &s.heads[i], &s.heads[j]
		if c := cmp.Or(cmp.Compare(x.CampaignID, y.CampaignID), cmp.Compare(x.CreativeID, y.CreativeID)); c != 0 {
			return c
		}
	}
	return cmp.Compare(s.source(a.source), s.source(b.source))
}

// Ascend reports whether the keys are strictly ascending.
func (s *SpendRows) Ascend() bool {
	for i := 1; i < len(s.rows); i++ {
		if s.Compare(i-1, i) >= 0 {
			return false
		}
	}
	return true
}

// Sort sorts the rows by key. Rows with the same key keep their order.
func (s *SpendRows) Sort() {
	order := make([]int32, len(s.rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(s.Compare(int(a), int(b)), cmp.Compare(a, b)) })
	rows, numbers := make([]packedSpend, len(s.rows)), make([]int64, 0, len(s.numbers))
	for i, from := range order {
		rows[i] = s.rows[from]
		numbers = append(numbers, s.numbers[int(from)*len(ownNumbers):][:len(ownNumbers)]...)
	}
	s.rows, s.numbers = rows, numbers
}

// Restamp replaces the [SpendStamp] of every row, in row order.
type Restamp struct {
	rows  *SpendRows
	heads []Spend

	// These three describe the previous row: the index of its old head, its stamp, and the index of its new head.
	from  uint32
	stamp SpendStamp
	to    uint32
}

// Restamp starts replacing the stamps of all rows. Until [Restamp.Done] is called, a row must not be read after its
// stamp was replaced.
func (s *SpendRows) Restamp() *Restamp { return &Restamp{rows: s} }

// Next sets the stamp of row i. It must be called once for each row, in order: i = 0, 1, 2 and so on.
func (r *Restamp) Next(i int, stamp SpendStamp) {
	p := &r.rows.rows[i]
	if from := p.head >> knownBits; i == 0 || from != r.from || stamp != r.stamp {
		h := r.rows.heads[from]
		h.FirstSeenAt, h.ChangedAt, h.RunID = stamp.FirstSeenAt, stamp.ChangedAt, stamp.RunID
		r.from, r.stamp, r.to = from, stamp, addHead(&r.heads, &h)
	}
	p.head = r.to<<knownBits | p.head&(1<<knownBits-1)
}

// Done completes the change, once every row has its stamp.
func (r *Restamp) Done() { r.rows.heads = r.heads }
