package payouts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/schema/schematest"
)

func TestWriteObjects(t *testing.T) {
	for text, want := range map[string]string{
		`[{"a": 1},` + "\n" + `{"b": [2]}]`:                             `{"a":1} {"b":[2]}`,
		`{"a":1}` + "\n" + `{"a":2}`:                                    `{"a":1} {"a":2}`,
		`[{"a":1}, null, 7]`:                                            `{"a":1} {} {}`,
		`{"columns":[{"x":1},{"x":2}],"rows":[{"a":1}],"total":{}}`:     `{"a":1}`,
		`{"rows":[{"a":1}],"columns":[{"x":1}],"ids":[1]}`:              `{"a":1}`,
		`{"tags":["x"],"n":1.50,"of":{"y":[]}}`:                         `{"n":1.50,"of":{"y":[]}}`,
		`{"status":"ok","data":[{"a":1},{"a":2}],"page":{"next":null}}`: `{"a":1} {"a":2}`,
		`[1, 2]`: ``, `[]`: ``, `{"rows":[]}`: `{}`, `7`: ``,
		`[{"a":1},{"a":`: `unexpected EOF`, `{"rows":[{"a":1}`: `unexpected EOF`, `[{"a":NaN}]`: `invalid`,
	} {
		from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
		if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := writeObjects(from, to)
		if err != nil {
			if want == "" || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
			continue
		}
		got, err := os.ReadFile(to)
		if lines := strings.Fields(string(got)); err != nil || n != len(lines) || strings.Join(lines, " ") != want {
			t.Errorf("%s: %d objects: %s, want %s", text, n, got, want)
		}
	}
}

// TestRead_AListIsNotHeld: the engine's memory does not grow with the list that the rows are in.
func TestRead_AListIsNotHeld(t *testing.T) {
	schematest.Long(t)
	var list strings.Builder
	const rows = 400_000
	list.WriteByte('[')
	for i := range rows {
		fmt.Fprintf(&list, `{"date":"2026-11-25","campaign":"C%d","source":"S%d","conversions":1,"revenue":1.5},`,
			i%7, i)
	}
	path := filepath.Join(t.TempDir(), "export.json")
	if err := os.WriteFile(path, []byte(strings.TrimSuffix(list.String(), ",")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := readAll(t, Options{Paths: []string{path}, Campaigns: map[string]bool{"C0": true, "C1": true, "C2": true,
		"C3": true, "C4": true, "C5": true, "C6": true}})
	if len(got.days) != rows || len(got.Failures) > 0 {
		t.Errorf("%d rows, %q", len(got.days), got.Failures)
	}
}
