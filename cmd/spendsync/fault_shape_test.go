package main

import (
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// faultShapes are forms of the service that a sync accepts without a finding: the quirks that change most of the
// decoded bodies, alone or several joined by blanks.
var faultShapes = []string{
	"envelope-bare ids-long", "envelope-data bids-map", "envelope-items limits-map list-no-totals",
	"report-camel", "numbers-text", "spend-float", "source-number", "date-datetime", "pagination-from-zero",
	"pagination-size-shown", "page-cap", "keys-escaped", "pretty", "bom", "gzip", "json-api", "list-map", "camel-keys",
	"list-cap", "sources-rules",
}

// TestFault_InOtherShapes lets the faults of a page stay while the service has another form,
// and then one clean sync end in the truth. By default the form is drawn by lot, and some faults
// do; .ci/long takes each fault at each of its places.
func TestFault_InOtherShapes(t *testing.T) {
	schematest.Long(t)
	shapes := faultShapes
	from := syncedStore(t)
	for _, name := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inProcess(t, from, func(c *adsim.Config) { c.Quirks = strings.Fields(name) })
			w.shaped = true
			day, was := date("2026-03-08"), w.published()
			for _, row := range pageFaults {
				w.strike(row, day, was)
			}
			w.service.ClearFaults()
			code, _, last := w.runLogged("sync", "--full")
			if name == "source-number" && strings.Contains(last, "IDs of a new form") { // which is said once
				code, _, last = w.runLogged("sync", "--full")
			}
			if code != exit.OK && name != "sources-rules" {
				t.Errorf("exit %d: %s", code, last)
			}
			if name != "source-number" && name != "spend-float" { // whose numbers are others
				w.checkTruth()
			}
		})
	}
}
