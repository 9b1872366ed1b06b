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

// TestDay_Hash: the hash covers the service's values in all rows, in order, for any number of rows.
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

// TestDay_HashOfRow: the hashed bytes are the bytes that FORMAT.md states.
func TestDay_HashOfRow(t *testing.T) {
	r := schema.Spend{CampaignID: "c", Conversions: schema.Some[int64](3)}
	if got, want := schema.AppendReported(nil, &r), "\x01c\x00\x00\x00\x00\x00\x01\x06"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDay_SortsAndRefusesAKeyTwice: NewDay sorts the rows, and refuses a key that occurs twice, even in rows that are
// not adjacent.
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
