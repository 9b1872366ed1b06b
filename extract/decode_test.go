package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/extract/service"

	"spendsync/schema"
)

// FuzzDecodeSpend compares the decoder with encoding/json: apart from bare words, it accepts only valid JSON, with the
// same number of rows and the same values. The decoder always returns.
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
		p, err := DecodeSpend(nil, body)
		if err != nil {
			if !errors.Is(err, ErrContract) {
				t.Fatalf("error %v is of no kind", err)
			}
			return
		}
		for i := range p.Items {
			for _, column := range schema.ReportNames(schema.IsOfRow) {
				if v := *p.Items[i].place(column); !utf8.Valid(v) {
					t.Fatalf("row %d %s = %q is not UTF-8", i+1, column, v)
				}
			}
		}
		if !json.Valid(body) {
			body = listWords(body)
		}
		body = bytes.ToValidUTF8(body, []byte(replacement))
		var top map[string]json.RawMessage // not a struct, because encoding/json would accept "Data" for "data"
		dec := json.NewDecoder(bytes.NewReader(body))
		if err := dec.Decode(&top); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		var rows []json.RawMessage
		if err := json.Unmarshal(top["data"], &rows); err != nil {
			t.Fatal(err)
		}
		want := make([]map[string]json.RawMessage, len(rows))
		var notObjects []int
		for i, row := range rows {
			if want[i] = nil; row[0] != '{' {
				notObjects = append(notObjects, i+1)
			} else if err := json.Unmarshal(row, &want[i]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(p.NotObjects, notObjects) {
			t.Fatalf("not objects: %v, want %v", p.NotObjects, notObjects)
		}
		if _, err := dec.Token(); err != io.EOF {
			t.Fatalf("accepted bytes after the end: %v", err)
		}
		if len(p.Items) != len(want) {
			t.Fatalf("%d rows, want %d", len(p.Items), len(want))
		}
		for i := range p.Items {
			if got := p.Items[i].JSON; string(got) != string(rows[i]) {
				t.Fatalf("row %d is %q, want %q", i+1, got, rows[i])
			}
			spellings := map[string]int{} // number of keys per column
			for key := range keysIn(rows[i]) {
				column, _ := spendForm(nil).service.Column(key)
				spellings[column]++
			}
			for _, column := range schema.ReportNames(schema.IsOfRow) {
				if spellings[column] > 1 {
					continue // the value is "twice: ", unless all values are equal
				}
				got, want := *p.Items[i].place(column), want[i][column]
				if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
					t.Fatalf("row %d %s = %q, want %q", i+1, column, got, want)
				}
			}
		}
	})
}

// keysIn yields the keys of a JSON object in their order, duplicates included.
func keysIn(object []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(object), anyNames, lenientTexts)
		if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
			return
		}
		for d.PeekKind() == '"' {
			if t, err := d.ReadToken(); err != nil || !yield(t.String()) || d.SkipValue() != nil {
				return
			}
		}
	}
}

// benchmarkPage returns a page with rows of realistic size.
func benchmarkPage(rows int) []byte {
	out := make([]string, rows)
	for i := range out {
		out[i] = fmt.Sprintf(`{"date":"2026-03-08","campaign_id":"C%07d","campaign_name":"Spring sale – `+
			`retargeting US %d",`+
			`"creative_id":"C%07d-%03d","source_id":"S%d","total_spend":%d.%02d,"clicks":%d,"impressions":%d,`+
			`"conversions":%d}`,
			1000000+i/500, i/500, 1000000+i/500, i%500/50, 10000+i%5000, i%70, i%100, i%400, i*7%90000, i%9)
	}
	return []byte(pageOf(out, placed(1, rows, rows, 1)))
}

func BenchmarkDecodeSpend(b *testing.B) {
	body := benchmarkPage(10_000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeSpend(nil, body); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDecodeSpend_AllocatesNothingPerRow(t *testing.T) {
	few, many := benchmarkPage(10), benchmarkPage(2000)
	count := func(body []byte) float64 {
		return testing.AllocsPerRun(5, func() { _, _ = DecodeSpend(nil, body) })
	}
	if a, b := count(few), count(many); b > a+5 {
		t.Errorf("10 rows: %v allocations, 2000 rows: %v", a, b)
	}
}

func TestSpend_TakesWhatAServiceMayWrite(t *testing.T) {
	for name, body := range map[string]string{
		"pagination/null": pageOf(lines(2), `"pagination":null`),
		"no error": pageOf(lines(2), placed(1, 3, 2, 1)+`,"error":null,"errors":[],"success":true,"truncated":false,`+
			`"has_more":false`),
		"an empty error": pageOf(lines(2), placed(1, 3, 2, 1)+`,"error":""`),
		"a false error":  pageOf(lines(2), placed(1, 3, 2, 1)+`,"error":false`),
		"pagination/texts": pageOf(lines(2), `"pagination":{"page":"1","page_size":"3","total_rows":"2",`+
			`"total_pages":"1"}`),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := walk(t, dayOf(t.Context(), newTestClient(t, scripted(body)), testDay, 3))
			if err != nil {
				t.Fatal(err)
			}
			check(t, "sources", sources(got), "S1 S2")
		})
	}
}

func TestDayOf_IsADay(t *testing.T) {
	for text, want := range map[string]bool{
		"2026-03-08": true, "2026/03/08": true, "2026-03-08T00:00:00Z": false, "2026-03-08 00:00:00": false,
		"": false, "03/08/2026": false, "2026-03": false, "2026-02-30": false,
	} {
		day, ok := DayOf(nil, text)
		check(t, text, ok, want)
		check(t, text+" is the day", !ok || day == testDay, true)
	}
}

// TestDayOf_TakesTheFormsOfTheServiceFile: a time with a zone stands for the Chicago day that begins at that time.
func TestDayOf_TakesTheFormsOfTheServiceFile(t *testing.T) {
	s, err := service.Default().With([]byte("times.days: [\"2006-01-02T15:04:05.000Z07:00\", 01/02/2006]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"2026-03-08T06:00:00.000Z": true, "2026-03-08T05:00:00.000Z": false, "2026-03-08T01:00:00.000-05:00": true,
		"03/08/2026": true, "2026-03-08": true, "2026/03/08": true, "13/08/2026": false, "8 March": false,
	} {
		day, ok := DayOf(s, text)
		check(t, text, ok, want)
		check(t, text+" is the day", !ok || day == testDay, true)
	}
}
