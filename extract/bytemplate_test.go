package extract

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sameAnswers returns how the readings of one reply differ: by template and strictly,
// into new memory and over the rows of another reply.
func sameAnswers(body []byte) error {
	want, wantErr := decodeStrictly(body, nil, spendForm(nil))
	for _, room := range []int{0, 2, 30} {
		got, err := decodeAnswer(body, usedRoom(room), spendForm(nil))
		if err := sameAnswer(got, err, want, wantErr); err != nil {
			return fmt.Errorf("by template, over %d rows: %w", room, err)
		}
		got, err = decodeStrictly(body, usedRoom(room), spendForm(nil))
		if err := sameAnswer(got, err, want, wantErr); err != nil {
			return fmt.Errorf("strictly, over %d rows: %w", room, err)
		}
	}
	return nil
}

// usedRoom is the memory of so many rows, with all values of an earlier page in it.
func usedRoom(rows int) []SpendLine {
	room := make([]SpendLine, rows)
	for i := range room {
		for _, column := range spendColumns {
			*room[i].place(column) = Value(`"stale"`)
		}
	}
	return room
}

func sameAnswer(got pageReply[SpendLine], gotErr error, want pageReply[SpendLine], wantErr error) error {
	if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
		return fmt.Errorf("error %v, want %v", gotErr, wantErr)
	}
	if wantErr != nil {
		return nil
	}
	switch {
	case !slices.Equal(got.columns, want.columns):
		return fmt.Errorf("columns %q, want %q", got.columns, want.columns)
	case !slices.Equal(got.notObjects, want.notObjects) || got.nullData != want.nullData:
		return fmt.Errorf("not objects %v, null %v, want %v, %v", got.notObjects, got.nullData, want.notObjects,
			want.nullData)
	case !slices.Equal(got.unknown, want.unknown):
		return fmt.Errorf("unknown %v, want %v", got.unknown, want.unknown)
	case (got.pagination == nil) != (want.pagination == nil) || got.pagination != nil &&
		*got.pagination != *want.pagination:
		return fmt.Errorf("pagination %v, want %v", got.pagination, want.pagination)
	case len(got.items) != len(want.items) || got.items == nil:
		return fmt.Errorf("%d rows, want %d", len(got.items), len(want.items))
	}
	for i := range want.items {
		for _, column := range spendColumns {
			g, w := *got.items[i].place(column), *want.items[i].place(column)
			if !bytes.Equal(g, w) || (g == nil) != (w == nil) || cap(g) != len(g) {
				return fmt.Errorf("row %d %s = %q (cap %d), want %q", i+1, column, g, cap(g), w)
			}
		}
	}
	return nil
}

// FuzzDecodeByTemplate holds the template against the strict decoder: the same
// rows or the same refusal, always.
func FuzzDecodeByTemplate(f *testing.F) {
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
	for _, body := range oddPages() {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := sameAnswers(body); err != nil {
			t.Fatal(err)
		}
	})
}

// oddPages are pages on which a template could go wrong.
func oddPages() []string {
	row := `{"date":"2026-11-20","campaign_id":"C1","clicks":1}`
	around := func(rows string) string { return `{"columns":["date","campaign_id","clicks"],"data":[` + rows + `]}` }
	pages := []string{
		string(benchmarkPage(12)), around(""), around(" "), around(row), around(row + "," + row),
		around(row + ",\n\t " + row + " "),
		around(row + ","), around("," + row), around(row + row),
		around(row + `,{"date":"2026-11-20","campaign_id":"C1","clicks":1,"clicks":2}`),
		around(row + `,{"date":"2026-11-20","campaign_id":"C1","clicks":1,}`), around(row + `,[]`),
		around(row + `,null`), around(`null,` + row),
		around(row) + "x", around(row) + " ", `{"data":[` + row + `],"columns":[],"data":[]}`,
		`{"columns":[],"data":[` + row + `],"columns":[]}`,
		`{"columns":["date"],"other":{"data":[` + row + `]},"data":[` + row + "," + row + `]}`,
		`{"columns":["date"],"data":{"data":[` + row + `]}}`, `{"columns":["\"data\":["],"data":[` + row + `]}`,
		`{"columns":["date"],"data" :[` + row + `]}`,
		`{"columns":["date"],"d\u0061ta":[],"data":[` + row + `]}`, `[{"data":[` + row + `]}]`, `{"data":[` + row,
		`{"columns":[],"data":[` + row + `],"pagination":{"page":1,"page_size":1,"total_rows":1,` +
			`"total_pages":1},"more":1}`,
	}
	values := []string{
		`1`, `-1`, `-`, `01`, `-01`, `0`, `-0`, `1.`, `.1`, `1.5`, `1.5.5`, `1e5`, `1e`, `1E+5`, `1e-`, `1e+`, `NaN`,
		`+1`, `0x1`, `1_0`, `""`, `"a\"b"`, `"é"`, `"\u00e9"`, `"a` + "\n" + `b"`,
		`"` + "\x00" + `"`, `"` + "\xff" + `"`, `"1234567` + "\xc3" + `"`, `"1234567é"`, `"abcdefghijklmno` + "\x1f" +
			`"`, `"0123456789\\"`, `"🎿🎿🎿"`, `"` + "\xed\xa0\x80" + `"`, `"unfinished`,
		`"half \ud83d"`, `"\ud83d\ude00"`, `"\ude00\ud83d"`, `"\ud83dx"`, `"\u0000"`, `"\ud83d` + "\xff" + `"`,
		`null`, `nul`, `nulll`, `true`, `false`, `tru`, `{}`, `[]`, `{"a":1}`, `[1,2]`, ``, ` 1`, `1 `, "\t1\r",
		`"` + strings.Repeat("x", 100) + `"`, `"` + strings.Repeat("é", 50) + `"`,
	}
	for _, v := range values {
		pages = append(pages, around(row+`,{"date":"2026-11-20","campaign_id":"C1","clicks":`+v+`},`+row),
			around(row+`,{"date":`+v+`,"campaign_id":"C1","clicks":1},`+row),
			around(`{"date":"2026-11-20","campaign_id":"C1","clicks":`+v+`},`+row),
			around(row+`,{"date":"2026-11-20","campaign_id":"C1","clicks":1,"ctr":`+v+`},`+row+
				`,{"date":"2026-11-20","campaign_id":"C1","clicks":1,"ctr":`+v+`}`))
	}
	return pages
}

func TestDecodeByTemplate_IsTheStrictDecoder(t *testing.T) {
	for _, body := range oddPages() {
		if err := sameAnswers([]byte(body)); err != nil {
			t.Errorf("%.300q: %v", body, err)
		}
	}
	// Every byte of a page broken in several ways.
	page := benchmarkPage(3)
	for i := range page {
		for _, c := range []byte{0, ' ', '"', '\\', ',', '}', ']', '0', 'e', 0xff, page[i] ^ 1, page[i] | 0x80} {
			body := bytes.Clone(page)
			body[i] = c
			if err := sameAnswers(body); err != nil {
				t.Errorf("byte %d as %q: %v", i, c, err)
			}
		}
		if err := sameAnswers(page[:i]); err != nil {
			t.Errorf("cut at %d: %v", i, err)
		}
		if err := sameAnswers(slices.Delete(bytes.Clone(page), i, i+1)); err != nil {
			t.Errorf("without byte %d: %v", i, err)
		}
		if err := sameAnswers(slices.Insert(bytes.Clone(page), i, page[i])); err != nil {
			t.Errorf("byte %d twice: %v", i, err)
		}
	}
}

func TestDecodeByTemplate_FitsThePagesOfTheService(t *testing.T) {
	zero := `{"date":"2026-11-20","campaign_id":"C1","creative_id":"C1-001"}`
	for _, body := range [][]byte{benchmarkPage(100), []byte(pageOf([]string{zero, zero}, placed(1, 2, 2, 1)))} {
		if _, err := decodeByTemplate(body, nil, spendForm(nil)); err != nil {
			t.Errorf("%.200q: %v", body, err)
		}
	}
	if _, err := decodeByTemplate([]byte(`{}`), nil, spendForm(nil)); !errors.Is(err, errUnfit) {
		t.Errorf("no data: %v", err)
	}
}

// BenchmarkDecodeSpend_Strictly is what the template is measured against.
func BenchmarkDecodeSpend_Strictly(b *testing.B) {
	body := benchmarkPage(10_000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeStrictly(body, nil, spendForm(nil)); err != nil {
			b.Fatal(err)
		}
	}
}
