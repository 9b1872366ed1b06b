package schema

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestParseMoney(t *testing.T) {
	for text, want := range map[string]struct {
		money   Money
		rounded bool
		err     error
	}{
		"0": {}, "-0": {}, "0.0": {}, "0e9": {}, "0e999999999999": {},
		"12.3":                     {money: 12_300_000},
		"-12.300000":               {money: -12_300_000},
		"12.300000000000001":       {money: 12_300_000, rounded: true},
		"0.30000000000000004":      {money: 300_000, rounded: true},
		"1e-06":                    {money: 1},
		"1E+2":                     {money: 100_000_000},
		"1.5e-7":                   {money: 0, rounded: true},
		"0.0000005":                {money: 0, rounded: true}, // half to even
		"0.0000015":                {money: 2, rounded: true},
		"0.0000025":                {money: 2, rounded: true},
		"0.00000250000001":         {money: 3, rounded: true},
		"0.0000005000000000000001": {money: 1, rounded: true},
		"999999999999.999999":      {money: MaxMoney},
		"-999999999999.999999":     {money: -MaxMoney},
		"999999999999.9999994":     {money: MaxMoney, rounded: true},
		"999999999999.9999995":     {err: ErrRange},
		"1000000000000":            {err: ErrRange},
		"1e400":                    {err: ErrRange},
		"1e-400":                   {money: 0, rounded: true},
		"1e99999999999999999999":   {err: ErrRange},
		"1e-99999999999999999999":  {money: 0, rounded: true},
		strings.Repeat("9", 101):   {err: ErrRange},
		"":                         {err: ErrNotNumber}, "-": {err: ErrNotNumber}, "+1": {err: ErrNotNumber},
		".5": {err: ErrNotNumber},
		"5.": {err: ErrNotNumber}, "01": {err: ErrNotNumber}, "1.2.3": {err: ErrNotNumber}, "1e": {err: ErrNotNumber},
		"1e+":   {err: ErrNotNumber},
		"1e+-5": {err: ErrNotNumber}, "NaN": {err: ErrNotNumber}, "Infinity": {err: ErrNotNumber},
		"1,5": {err: ErrNotNumber}, "0x10": {err: ErrNotNumber},
		" 1": {err: ErrNotNumber}, "1 ": {err: ErrNotNumber}, "1_000": {err: ErrNotNumber}, `"1"`: {err: ErrNotNumber},
		"٣": {err: ErrNotNumber},
	} {
		money, rounded, err := ParseMoney([]byte(text))
		if !errors.Is(err, want.err) || (err == nil && (money != want.money || rounded != want.rounded)) {
			t.Errorf("ParseMoney(%q) = %d, %v, %v; want %d, %v, %v", text, money, rounded, err, want.money,
				want.rounded, want.err)
		}
	}
}

// TestParseMoney_AgreesWithExactArithmetic compares the results with exact rational numbers.
func TestParseMoney_AgreesWithExactArithmetic(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 20000 {
		text := fmt.Sprintf("%d", r.Int64N(1_000_000_000_000))
		if r.IntN(4) > 0 {
			text += "." + fmt.Sprintf("%0*d", 1+r.IntN(12), r.IntN(1_000_000))
		}
		if r.IntN(3) == 0 {
			text += fmt.Sprintf("e%d", r.IntN(20)-12)
		}
		if r.IntN(2) == 0 {
			text = "-" + text
		}
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		exact.Mul(exact, big.NewRat(1_000_000, 1))
		money, rounded, err := ParseMoney([]byte(text))
		if err != nil {
			if limit := new(big.Rat).SetInt64(int64(MaxMoney)); new(big.Rat).Abs(exact).Cmp(limit) <= 0 {
				t.Errorf("ParseMoney(%q): %v", text, err)
			}
			continue
		}
		off := new(big.Rat).Sub(exact, new(big.Rat).SetInt64(int64(money)))
		off.Abs(off)
		half := big.NewRat(1, 2)
		if off.Cmp(half) > 0 || (off.Cmp(half) == 0 && money%2 != 0) || rounded != (off.Sign() != 0) {
			t.Errorf("ParseMoney(%q) = %d, %v; off by %s", text, money, rounded, off)
		}
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]struct {
		n   int64
		err error
	}{
		"0": {}, "12": {n: 12}, "12.0": {n: 12}, "1.2e1": {n: 12}, "120e-1": {n: 12}, "-3": {n: -3},
		"12.5": {err: ErrFraction}, "1e-1": {err: ErrFraction}, "1e30": {err: ErrRange}, "true": {err: ErrNotNumber},
	} {
		n, err := ParseCount([]byte(text))
		if n != want.n || !errors.Is(err, want.err) {
			t.Errorf("ParseCount(%q) = %d, %v; want %d, %v", text, n, err, want.n, want.err)
		}
	}
}

func TestMoney_TextGoesBothWays(t *testing.T) {
	for m, want := range map[Money]string{
		0: "0.00", 1: "0.000001", -1: "-0.000001", 12_300_000: "12.30", 12_340_000: "12.34", 12_345_678: "12.345678",
		-5_000_000: "-5.00", MaxMoney: "999999999999.999999", -MaxMoney: "-999999999999.999999",
	} {
		if m.String() != want {
			t.Errorf("Money(%d) = %s, want %s", m, m, want)
		}
		var back Money
		if err := back.UnmarshalText([]byte(want)); err != nil || back != m {
			t.Errorf("%s came back as %d, %v", want, back, err)
		}
	}
	var m Money
	if err := m.UnmarshalText([]byte("0.0000001")); err == nil {
		t.Error("a stored amount was rounded without an error")
	}
}

func TestAddMoney_RefusesOverflow(t *testing.T) {
	if _, err := AddMoney(MaxMoney, 1); !errors.Is(err, ErrRange) {
		t.Errorf("AddMoney = %v, want ErrRange", err)
	}
	if s, err := AddMoney(MaxMoney, -1); err != nil || s != MaxMoney-1 {
		t.Errorf("AddMoney = %d, %v", s, err)
	}
}

func BenchmarkParseMoney(b *testing.B) {
	text := []byte("1234.567891")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ParseMoney(text); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParseMoney(f *testing.F) {
	for _, s := range []string{"12.3", "1e-06", "-0", "1e400", "0.0000005", "01", "1e+-5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, rounded, err := ParseMoney([]byte(text))
		if err != nil || rounded {
			return
		}
		// An amount that was not rounded is the same after String and ParseMoney.
		again, _, err := ParseMoney([]byte(m.String()))
		if err != nil || again != m {
			t.Errorf("%q = %s, which reads as %s (%v)", text, m, again, err)
		}
	})
}
