package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzDecodeSpend holds the decoder against encoding/json: what it accepts is
// valid JSON with as many rows, each value as encoding/json sees it. Whatever
// comes in, it returns.
func FuzzDecodeSpend(f *testing.F) {
	files, err := filepath.Glob("../testdata/pages/spend/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(pageOf(lines(2), placed(1, 3, 2, 1))))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := DecodeSpend(body)
		if err != nil {
			if !errors.Is(err, ErrContract) {
				t.Fatalf("error %v is of no kind", err)
			}
			return
		}
		if !utf8.Valid(body) {
			t.Fatal("accepted a body that is not UTF-8")
		}
		var top map[string]json.RawMessage // a struct would take "Data" for "data"
		dec := json.NewDecoder(bytes.NewReader(body))
		if err := dec.Decode(&top); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		var want []map[string]json.RawMessage
		if err := json.Unmarshal(top["data"], &want); err != nil {
			t.Fatal(err)
		}
		if _, err := dec.Token(); err != io.EOF {
			t.Fatalf("accepted bytes after the end: %v", err)
		}
		if len(p.Items) != len(want) {
			t.Fatalf("%d rows, want %d", len(p.Items), len(want))
		}
		for i := range p.Items {
			for _, column := range spendColumns {
				got, want := *p.Items[i].field([]byte(column)), want[i][column]
				if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
					t.Fatalf("row %d %s = %q, want %q", i+1, column, got, want)
				}
			}
		}
	})
}

// benchmarkPage is a page as long and as wide as the service sends them.
func benchmarkPage(rows int) []byte {
	out := make([]string, rows)
	for i := range out {
		out[i] = fmt.Sprintf(`{"date":"2026-03-08","campaign_id":"C%07d","campaign_name":"Spring sale – retargeting US %d",`+
			`"creative_id":"C%07d-%03d","source_id":"S%d","total_spend":%d.%02d,"clicks":%d,"impressions":%d,"conversions":%d}`,
			1000000+i/500, i/500, 1000000+i/500, i%500/50, 10000+i%5000, i%70, i%100, i%400, i*7%90000, i%9)
	}
	return []byte(pageOf(out, placed(1, rows, rows, 1)))
}

func BenchmarkDecodeSpend(b *testing.B) {
	body := benchmarkPage(10_000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeSpend(body); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDecodeSpend_AllocatesNothingPerRow(t *testing.T) {
	few, many := benchmarkPage(10), benchmarkPage(2000)
	count := func(body []byte) float64 {
		return testing.AllocsPerRun(5, func() { _, _ = DecodeSpend(body) })
	}
	if a, b := count(few), count(many); b > a+5 {
		t.Errorf("10 rows: %v allocations, 2000 rows: %v", a, b)
	}
}

func TestValue_TellsAbsentFromNull(t *testing.T) {
	body := pageOf([]string{`{"clicks":null,"date":"a\"\u00e9"}`}, placed(1, 3, 1, 1))
	p, err := DecodeSpend([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	l := p.Items[0]
	check(t, "absent", l.Conversions == nil, true)
	check(t, "null", string(l.Clicks), "null")
	check(t, "both are Null", l.Conversions.Null() && l.Clicks.Null(), true)
	check(t, "text", string(l.Date.appendText(nil)), `a"é`)
	check(t, "values are slices of the body with no room to append", cap(l.Date) == len(l.Date), true)
	check(t, "page holds the body", strings.Contains(string(p.Raw), string(l.Date)), true)
}
