package payouts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/schema/schematest"
)

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
