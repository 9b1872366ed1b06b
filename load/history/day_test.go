package history

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestDay_Hash: the hash covers the service's values in all rows, in their order, however many they are.
func TestDay_Hash(t *testing.T) {
	for _, n := range []int{0, 1, 2000} {
		rows := schematest.SpendOfSources(day, n)
		slices.SortFunc(rows, func(a, b schema.Spend) int { return CompareKeys(&a, &b) })
		var text []byte
		for i := range rows {
			text = schema.AppendReported(text, &rows[i])
		}
		sum := sha256.Sum256(text)
		want := hex.EncodeToString(sum[:])
		if got := sealed(t, schematest.Packed(rows)).Hash(); got != want {
			t.Errorf("%d rows: %s, want %s", n, got, want)
		}
		for i := range rows {
			rows[i].RunID, rows[i].FirstSeenAt = "another", 9
		}
		slices.Reverse(rows)
		if got := sealed(t, schematest.Packed(rows)).Hash(); got != want {
			t.Errorf("%d rows in another order, of another run: %s, want %s", n, got, want)
		}
		ordered, err := OrderedDay(schematest.Packed(rows))
		if err != nil || (ordered.Hash() == want) != (n < 2) {
			t.Errorf("%d rows in their own order: %v, %v", n, ordered, err)
		}
		if n < 2 {
			continue
		}
		for _, i := range []int{0, n / 2, n - 1} {
			rows[i].Spend++
			if got := sealed(t, schematest.Packed(rows)).Hash(); got == want {
				t.Errorf("row %d is another, and the hash is not", i)
			}
			rows[i].Spend--
		}
	}
}

// TestDay_HashOfFractions: another fraction is another day, and none leaves the bytes as they were before the column.
func TestDay_HashOfFractions(t *testing.T) {
	rows := schematest.SpendOfSources(day, 3)
	seen := map[string]int64{}
	for i, v := range []int64{0, 1, 500_000, 2_500_000, -1} {
		rows[1].Conversions = schema.Null[int64]{}
		rows[1].ConversionsFractional = schema.Null[schema.Money]{V: schema.Money(v), Valid: i > 0}
		hash := sealed(t, schematest.Packed(rows)).Hash()
		if other, twice := seen[hash]; twice {
			t.Errorf("%d has the hash of %d", v, other)
		}
		seen[hash] = v
	}
	r := schema.Spend{CampaignID: "c", Conversions: schema.Some[int64](3)}
	if got, want := schema.AppendReported(nil, &r), "\x01c\x00\x00\x00\x00\x00\x00\x01\x06"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCombine_AddsFractions: whole and fractional conversions of one key add up.
func TestCombine_AddsFractions(t *testing.T) {
	whole := func(n int64) schema.Spend { return schema.Spend{Conversions: schema.Some(n)} }
	part := func(m schema.Money) schema.Spend { return schema.Spend{ConversionsFractional: schema.Some(m)} }
	for name, tc := range map[string]struct{ a, b, want schema.Spend }{
		"whole":            {whole(2), whole(3), whole(5)},
		"a fraction":       {whole(2), part(500_000), part(2_500_000)},
		"two":              {part(1_500_000), part(500_000), part(2_000_000)},
		"one unknown":      {schema.Spend{}, part(500_000), schema.Spend{}},
		"one beyond money": {whole(1_000_000_000_000), part(500_000), schema.Spend{}},
	} {
		for _, pair := range [][]schema.Spend{{tc.a, tc.b}, {tc.b, tc.a}} {
			rows, err := Combine(schematest.Packed(pair), Added)
			if err != nil || rows.Len() != 1 {
				t.Fatalf("%s: %v, error %v", name, rows, err)
			}
			var got schema.Spend
			if rows.Row(0, &got); got != tc.want {
				t.Errorf("%s: %+v, want %+v", name, got, tc.want)
			}
		}
	}
}

// TestDay_SortsAndRefusesAKeyTwice, next to each other or not.
func TestDay_SortsAndRefusesAKeyTwice(t *testing.T) {
	rows := schematest.SpendOfSources(day, 5)
	want := slices.Clone(rows)
	slices.Reverse(rows)
	d := sealed(t, schematest.Packed(rows))
	if got := unpacked(d.Rows()); !slices.Equal(got, want) {
		t.Errorf("rows = %v", got)
	}
	if d.Sums().Rows != 5 || d.Sums().Spend != 15_000_000 || d.Sums().Clicks != schema.Some[int64](15) {
		t.Errorf("sums = %+v", d.Sums())
	}
	twice := schematest.Packed(append(rows, rows[1]))
	if _, err := NewDay(twice); err == nil || !strings.Contains(err.Error(), `"S003"`) ||
		!strings.Contains(err.Error(), `"C1234567-001"`) {
		t.Errorf("a key twice: %v", err)
	}
	if _, err := OrderedDay(schematest.Packed(append(rows, rows[4]))); err == nil {
		t.Error("a key twice in an ordered day is accepted")
	}
}

// TestDay_WithoutRowsHadNothing: its counts are 0, and those of rows without a count are unknown.
func TestDay_WithoutRowsHadNothing(t *testing.T) {
	zero := schema.Some[int64](0)
	nothing := Sums{Clicks: zero, Impressions: zero, Conversions: zero}
	if got := sealed(t, schematest.Packed(nil)).Sums(); got != nothing {
		t.Errorf("no rows: %+v", got)
	}
	row := schematest.SpendRow(day, "S1", 5)
	row.Clicks, row.Conversions = schema.Null[int64]{}, schema.Null[int64]{}
	want := Sums{Rows: 1, Spend: 5, Impressions: schema.Some[int64](100)}
	if got := sealed(t, schematest.Packed([]schema.Spend{row})).Sums(); got != want {
		t.Errorf("a row without counts: %+v, want %+v", got, want)
	}
}
