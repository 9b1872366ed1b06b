package job

import (
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/schema"
)

// TestWitnesses_TwoProveADay: each fault of a report that could cost a row or count one twice leaves a
// pair of witnesses that do not agree, and the pair refuses the day. One witness alone refuses
// nothing that two others prove.
func TestWitnesses_TwoProveADay(t *testing.T) {
	const matched, differs, none, open = schema.ControlMatched, schema.ControlDiffers, schema.ControlNone,
		schema.ControlOpen
	ended := func(total int64) extract.Evidence { return extract.Evidence{Total: total, Ended: true} }
	repeated := func(total int64) extract.Evidence {
		return extract.Evidence{Total: total, Ended: true, Repeats: "page 1: row 2 is there twice"}
	}
	for name, c := range map[string]struct {
		w    dayWitnesses
		why  string // part of why the day is refused; empty: it is proven
		says string // rows_total_state of the day
	}{
		"end and total":              {dayWitnesses{Evidence: ended(10), rows: 10, control: none}, "", "matched"},
		"end and total, an open day": {dayWitnesses{Evidence: ended(10), rows: 10, control: open}, "", "matched"},
		"end and sum, no total":      {dayWitnesses{Evidence: ended(-1), rows: 10, control: matched}, "", "none"},
		"end and another read, no total": {dayWitnesses{Evidence: ended(-1), rows: 10, control: none, alike: true}, "",
			"none"},
		"end and sum, a total that lags": {dayWitnesses{Evidence: ended(9), rows: 10, control: matched}, "", "differs"},
		"end and reads, a total that lags": {dayWitnesses{Evidence: ended(9), rows: 10, control: none, alike: true}, "",
			"differs"},
		"end and total, a sum with fees": {dayWitnesses{
			Evidence: ended(10), rows: 10, control: differs}, "", "matched"},
		"sum and reads against a total above": {dayWitnesses{Evidence: ended(11), rows: 10, control: matched,
			alike: true}, "",
			"differs"},
		"a full page that cannot be asked behind, sum and reads": {dayWitnesses{Evidence: extract.Evidence{Total: -1},
			rows:    10,
			control: matched, alike: true}, "", "none"},

		"rows missing: total and end": {dayWitnesses{Evidence: ended(11), rows: 10, control: none}, "total is 11",
			"differs"},
		"rows missing: total and sum": {dayWitnesses{Evidence: ended(11), rows: 10, control: differs}, "differs, too",
			"differs"},
		"rows missing in every read": {dayWitnesses{Evidence: ended(11), rows: 10, control: none, alike: true},
			"total is 11", "differs"},
		"rows without spend missing": {dayWitnesses{Evidence: ended(11), rows: 10, control: matched}, "total is 11",
			"differs"},
		"rows too many: total and sum": {dayWitnesses{Evidence: ended(9), rows: 10, control: differs, alike: true},
			"differs, too", "differs"},
		"a total that lies, alone": {dayWitnesses{Evidence: ended(9), rows: 10, control: none}, "total is 9",
			"differs"},
		"nothing but an end": {dayWitnesses{Evidence: ended(-1), rows: 10, control: none}, "states no total",
			"none"},
		"an empty answer without more": {dayWitnesses{Evidence: ended(-1), control: none}, "states no total", "none"},
		"an empty answer against the sum": {dayWitnesses{Evidence: ended(0), control: differs, alike: true},
			"answer is empty", "matched"},
		"an end by the total alone, against the sum": {dayWitnesses{Evidence: extract.Evidence{Total: 10, Ended: true,
			Full: true}, rows: 10, control: differs, alike: true}, "last page is full", "matched"},
		"a full last page, and a sum": {dayWitnesses{Evidence: extract.Evidence{Total: 10, Ended: true, Full: true},
			rows: 10, control: matched}, "", "matched"},
		"a cut answer and its sum": {dayWitnesses{Evidence: extract.Evidence{Total: -1}, rows: 10, control: matched},
			"no page is short", "none"},
		"a total that moves": {dayWitnesses{Evidence: extract.Evidence{Total: 10, Ended: true,
			Moved: "total changed from 9 to 10"},
			rows: 10, control: matched}, "changed from 9 to 10", "matched"},

		"the same row twice, counted once": {dayWitnesses{Evidence: repeated(10), rows: 10, control: none,
			combined: history.Newest}, "",
			"matched"},
		"the same row twice, summed once": {dayWitnesses{
			Evidence: repeated(11), rows: 10, control: matched, alike: true,
			combined: history.Newest}, "", "differs"},
		"the same row twice, neither": {dayWitnesses{Evidence: repeated(-1), rows: 10, control: none, alike: true,
			combined: history.Newest}, "is there twice", "none"},
		"the same row twice in the place of another: total": {dayWitnesses{
			Evidence: repeated(11), rows: 10, control: none,
			combined: history.Newest}, "is there twice", "differs"},
		"the same row twice in the place of another: added": {dayWitnesses{
			Evidence: repeated(11), rows: 11, control: none,
			alike: true, same: true, combined: history.Added}, "is there twice", "matched"},
		"the same row twice in the place of another: sum": {dayWitnesses{Evidence: repeated(11), rows: 11,
			control: differs,
			alike:   true, combined: history.Added}, "is there twice", "matched"},
		"parts of a row, total and sum": {dayWitnesses{Evidence: repeated(11), rows: 11, control: matched,
			combined: history.Added}, "", "matched"},
		"parts of a row, total and reads": {dayWitnesses{Evidence: repeated(11), rows: 11, control: none,
			alike: true, combined: history.Added}, "", "matched"},
		"parts of a row, total alone": {dayWitnesses{Evidence: repeated(11), rows: 11, control: none,
			combined: history.Added}, "is there twice", "matched"},
		"reads together that reach the total": {dayWitnesses{Evidence: ended(10), rows: 10, control: none,
			combined: history.Newest}, "", "matched"},
		"reads together that do not: total": {dayWitnesses{Evidence: ended(10), rows: 9, control: none,
			combined: history.Newest}, "neither", "differs"},
		"reads together that exceed it, no sum": {dayWitnesses{Evidence: ended(10), rows: 11, control: none,
			combined: history.Newest}, "neither", "differs"},
	} {
		err := c.w.prove(20_000)
		switch {
		case c.why == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%s: %v, want an error with %q", name, err, c.why)
		}
		if got := c.w.totalState(); got != c.says {
			t.Errorf("%s: the total %s, want %s", name, got, c.says)
		}
	}
}
