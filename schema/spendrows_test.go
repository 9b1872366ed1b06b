package schema

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomSpend returns rows of one day in random order. Some of them share values.
func randomSpend(random *rand.Rand, n int) []Spend {
	count := func() Null[int64] { return Null[int64]{V: random.Int64N(3), Valid: true} }
	rows := make([]Spend, n)
	for i := range rows {
		r := &rows[i]
		*r = Spend{
			AccountID: "acme", ReportDate: 20_000, CampaignID: fmt.Sprint("C", random.IntN(3)),
			CreativeID: fmt.Sprint("R", random.IntN(2)),
			SourceID:   fmt.Sprint("S", random.IntN(1000)), CampaignName: fmt.Sprint("N", random.IntN(2)),
			Spend:       Money(random.Int64N(5) - 2),
			FirstSeenAt: Instant(random.Int64N(2)), ChangedAt: Instant(random.Int64N(2)),
			RunID: fmt.Sprint("run", random.IntN(2)),
		}
		for _, c := range []*Null[int64]{&r.Clicks, &r.Impressions, &r.Conversions} {
			if random.IntN(3) > 0 {
				*c = count()
			}
		}
	}
	return rows
}

func unpacked(s *SpendRows) []Spend {
	rows := []Spend{}
	for i, r := range s.All() {
		if i != len(rows) {
			panic(i)
		}
		rows = append(rows, *r)
	}
	return rows
}

// TestSpendRows applies the same operations to packed rows and to a slice, and compares the results.
func TestSpendRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s SpendRows
	for round := range 300 {
		s.Reset()
		want := randomSpend(random, random.IntN(60))
		check := func(what string) {
			t.Helper()
			if got := unpacked(&s); !slices.Equal(got, want) || s.Len() != len(want) {
				t.Fatalf("round %d, %s: %d rows\n%+v\nwant\n%+v", round, what, s.Len(), got, want)
			}
		}
		s.Grow(random.IntN(50))
		for i := range want {
			s.Append(&want[i])
		}
		check("appended")
		if n := random.IntN(len(want) + 1); random.IntN(2) == 0 {
			s.Cut(n)
			more := randomSpend(random, 5)
			for i := range more {
				s.Append(&more[i])
			}
			want = append(want[:n], more...)
			check("cut and appended to")
		}
		byKey := func(a, b Spend) int {
			return cmp.Or(cmp.Compare(a.CampaignID, b.CampaignID), cmp.Compare(a.CreativeID, b.CreativeID),
				cmp.Compare(a.SourceID, b.SourceID))
		}
		for i := range want {
			for j := range want {
				if got := s.Compare(i, j); got != byKey(want[i], want[j]) {
					t.Fatalf("Compare = %d of\n%+v\n%+v", got, want[i], want[j])
				}
			}
		}
		ascend := true
		for i := range want {
			ascend = ascend && (i == 0 || byKey(want[i-1], want[i]) < 0)
		}
		if s.Ascend() != ascend {
			t.Fatalf("Ascend = %v of\n%+v", !ascend, want)
		}
		// From here on every row has a key of its own, so that sorting has one result.
		slices.SortFunc(want, byKey)
		want = slices.CompactFunc(want, func(a, b Spend) bool { return byKey(a, b) == 0 })
		shuffled := slices.Clone(want)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		s.Reset()
		for i := range shuffled {
			s.Append(&shuffled[i])
		}
		s.Sort()
		check("sorted")
		if !s.Ascend() {
			t.Fatalf("sorted, they do not ascend: %+v", want)
		}
		stamps := s.Restamp()
		for i := range want {
			stamp := SpendStamp{FirstSeenAt: Instant(random.Int64N(2)), ChangedAt: Instant(i / 3),
				RunID: fmt.Sprint("again", random.IntN(2))}
			want[i].FirstSeenAt, want[i].ChangedAt, want[i].RunID = stamp.FirstSeenAt, stamp.ChangedAt, stamp.RunID
			stamps.Next(i, stamp)
		}
		stamps.Done()
		check("restamped")
	}
}

// TestSpendRows_Sources: sources of any length come back unchanged, and a returned text stays valid when the rows are
// reused.
func TestSpendRows_Sources(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	letters := strings.Repeat("source", 60_000)
	var s SpendRows
	var given, want []string
	for range 20 {
		s.Reset()
		for range 200 {
			length := random.IntN(200)
			switch random.IntN(40) {
			case 0:
				length = 0
			case 1:
				length = pieceBytes - random.IntN(8)
			case 2:
				length = random.IntN(4 * pieceBytes)
			}
			from := random.IntN(6)
			want = append(want, letters[from:from+length])
			s.Append(&Spend{SourceID: want[len(want)-1], Spend: Money(length)})
		}
		for _, r := range s.All() {
			given = append(given, r.SourceID)
			if r.Spend != Money(len(r.SourceID)) {
				t.Fatalf("a source of %d bytes beside an amount of %d", len(r.SourceID), r.Spend)
			}
		}
	}
	if !slices.Equal(given, want) {
		t.Error("a source is not what it was")
	}
}
