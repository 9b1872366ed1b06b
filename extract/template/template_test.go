package template

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// pair is a row with two fields.
type pair struct{ a, b []byte }

// reader counts the rows that are read strictly.
type reader struct{ strict int }

func (r *reader) form(maxRows int) Form[pair] {
	return Form[pair]{
		Field: func(p *pair, name []byte) *[]byte {
			switch string(name) {
			case "a", "A":
				return &p.a
			case "b":
				return &p.b
			}
			return nil
		},
		Object: func(d *jsontext.Decoder, member func(name []byte) error) error {
			r.strict++
			var refused error
			if _, err := d.ReadToken(); err != nil {
				return err
			}
			for d.PeekKind() != '}' {
				name, err := d.ReadToken()
				if err != nil {
					return err
				}
				if name.String() == "refused" {
					refused = errors.New("refused")
				}
				if err := member([]byte(name.String())); err != nil {
					return err
				}
			}
			_, err := d.ReadToken()
			return cmp.Or(err, refused)
		},
		MaxRows: maxRows,
	}
}

// TestRows_ReadsEachSpellingOnce: the rows, and how many of them the strict decoder had to read.
func TestRows_ReadsEachSpellingOnce(t *testing.T) {
	five := []string{`{"a":1}`, `{"b":1}`, `{"a": 1}`, `{"b": 1}`, `{ "a":1}`}
	for name, c := range map[string]struct {
		rows   string
		strict int
		want   string
	}{
		"none":               {`]`, 0, ``},
		"none, with spaces":  {" \n]", 0, ``},
		"one spelling":       {`{"a":1,"b":"x"},{"a":22,"b":"yy"},{"a":null,"b":""}]`, 1, `1|"x" 22|"yy" null|""`},
		"space of each kind": {"{\"a\":1} ,\n{\"a\":2}\r,\t{\"a\":3}\n]", 1, `1| 2| 3|`},
		"every scalar": {`{"a":-1},{"a":0},{"a":9.5e+3},{"a":null},{"a":true},{"a":false},{"a":"é"}]`, 1,
			`-1| 0| 9.5e+3| null| true| false| "é"|`},
		"a key less":      {`{"a":1,"b":2},{"a":3},{"a":4,"b":5},{"a":6}]`, 2, `1|2 3| 4|5 6|`},
		"three spellings": {`{"a":1},{"b":2},{"b":3,"a":4},{"a":5},{"b":6}]`, 3, `1| |2 4|3 5| |6`},
		"as many as are kept": {strings.Join(slices.Concat(five[:4], five[:4]), ",") + `]`, 4,
			`1| |1 1| |1 1| |1 1| |1`},
		"one more": {strings.Join(slices.Concat(five, five), ",") + `]`, 6,
			`1| |1 1| |1 1| 1| |1 1| |1 1|`},
		"an escape is strict": {`{"a":"x"},{"a":"\n"},{"a":"y"}]`, 2, `"x"| "\n"| "y"|`},
		"texts with spaces": {`{"a":"0123 5678"},{"a":" "}]`, 1,
			`"0123 5678"| " "|`},
		"unknown keys": {`{"a":1,"c":2},{"a":3,"c":4}]`, 1, `1| 3|`},
		"a long text": {`{"a":"0123456789"},{"a":"0123456789012345é"}]`, 1,
			`"0123456789"| "0123456789012345é"|`},
		"no template of lists": {`{"a":[]},{"a":{}},{"b":[1]},{"b":{}},{"a":1},{"a":2}]`, 5, `[]| {}| |[1] |{} 1| 2|`},
	} {
		var r reader
		before, after := "before ", " and much more"
		if len(c.rows)%2 == 0 {
			after = "" // the last bytes of a text at the end of the page are looked at one by one
		}
		page, ok := Rows([]byte(before+c.rows+after), len(before), nil, r.form(100))
		var got []string
		for _, p := range page.Rows {
			got = append(got, fmt.Sprintf("%s|%s", p.a, p.b))
		}
		if !ok || strings.Join(got, " ") != c.want || page.Rows == nil || page.End != len(before+c.rows) {
			t.Errorf("%s: %q, %t, end %d of %d", name, got, ok, page.End, len(before+c.rows))
		}
		if r.strict != c.strict {
			t.Errorf("%s: %d rows are read strictly, want %d", name, r.strict, c.strict)
		}
	}
}

// TestRows_LeavesDoubtToTheStrictDecoder: the whole page, after as many rows as fitted.
func TestRows_LeavesDoubtToTheStrictDecoder(t *testing.T) {
	for name, c := range map[string]struct {
		rows   string
		strict int
	}{
		"no row":                {`{"a":1},7]`, 1},
		"not between rows":      {`{"a":1};{"a":2}]`, 1},
		"no end":                {`{"a":1}`, 1},
		"no end, by template":   {`{"a":1},{"a":2}`, 1},
		"cut before a key":      {`{"a":1,"b":2},{"a":1`, 2},
		"cut in a key":          {`{"a":1,"b":2},{"a":1,"`, 2},
		"cut before a value":    {`{"a":1,"b":2},{"a":`, 2},
		"cut before the end":    {`{"a":1, "b":"x" },{"a":1, "b":"x"`, 2},
		"damaged":               {`{"a":1},{"a":01}]`, 2},
		"twice in one row":      {`{"a":1,"A":2}]`, 1},
		"a key of another form": {`{"a":1},{"refused":1},{"a":2}]`, 2},
		"a control character":   {"{\"a\":\"0123\x1f5678\"}]", 1},
		"..., by template":      {"{\"a\":\"0123 5678\"},{\"a\":\"0123\x1f5678\"}]", 2},
		"no UTF-8":              {"{\"a\":\"x\"},{\"a\":\"\x80\"}]", 2},
		"no UTF-8, first":       {"{\"a\":\"\x80\"}]", 1},
		"..., in a short text":  {"{\"a\":\"x\"},{\"a\":\"\x1f\"}]", 2},
		"more rows than a page": {`{"a":1},{"a":2},{"a":3},{"a":4}]`, 1},
	} {
		var r reader
		if page, ok := Rows(slices.Clip([]byte(c.rows)), 0, nil, r.form(3)); ok {
			t.Errorf("%s: %d rows", name, len(page.Rows))
		}
		if r.strict != c.strict {
			t.Errorf("%s: %d rows are read strictly, want %d", name, r.strict, c.strict)
		}
	}
}

func TestRows_TellsUnknownKeys(t *testing.T) {
	var r reader
	page, ok := Rows([]byte(`{"c":1,"a":2,"d":"x"},{"c":3,"a":4,"d":"y"},{"e":[]}]`), 0, nil, r.form(9))
	if got := fmt.Sprintf("%s", page.Unknown); !ok || got != `[{c number} {d string} {e [}]` {
		t.Errorf("%s, %t", got, ok)
	}
}

// TestRows_ReservesRoomOnce: by the first row, for as many as the rest of the page may have.
func TestRows_ReservesRoomOnce(t *testing.T) {
	const rows = 100
	before := strings.Repeat(" ", 5000)
	body := []byte(before + strings.Repeat(`{"a":1,"b":2},`, rows-1) + `{"a":1,"b":2}]`)
	var r reader
	page, ok := Rows(body, len(before), nil, r.form(1000))
	if !ok || len(page.Rows) != rows || cap(page.Rows) > rows+rows/5 {
		t.Errorf("%d rows have room for %d", len(page.Rows), cap(page.Rows))
	}
	page, _ = Rows(body, len(before), nil, r.form(rows))
	if len(page.Rows) != rows || cap(page.Rows) != rows {
		t.Errorf("of a page of at most %d rows, %d have room for %d", rows, len(page.Rows), cap(page.Rows))
	}
	// Behind the three rows lies what looks like seven more.
	long := []byte(strings.Repeat(`{"a":1},`, 2) + `{"a":1}]` + strings.Repeat(" ", 7*7))
	for capacity, kept := range map[int]bool{4: false, 5: true, 6: true} {
		room := make([]pair, 0, capacity)
		page, _ = Rows(long, 0, room, r.form(1000))
		if is := &page.Rows[0] == &room[:1][0]; len(page.Rows) != 3 || is != kept {
			t.Errorf("room for %d of the estimated rows: kept is %t; now for %d", capacity, is, cap(page.Rows))
		}
	}
}

func TestNumberEnd(t *testing.T) {
	for text, want := range map[string]int{
		"0": 1, "-0": 2, "10": 2, "01": 0, "-01": 0, "-": 0, "1.": 0, "1.5": 3, "1.5.5": 3, "1e": 0, "1e+": 0,
		"1e-": 0, "1E-5": 4, "1e5x": 3, "1:": 1, "1/": 1, ":": 0, "9": 1, "0.0e0": 5, "-1.25": 5,
	} {
		if got := NumberEnd(slices.Clip([]byte(text)), 0); got != want {
			t.Errorf("%s ends at %d, want %d", text, got, want)
		}
		if got := NumberEnd(slices.Clip([]byte("xy"+text)), 2); got != 0 && got != want+2 || got == 0 && want != 0 {
			t.Errorf("%s ends at %d from 2, want %d", text, got, want+2)
		}
	}
}
