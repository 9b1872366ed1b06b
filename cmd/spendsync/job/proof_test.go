package job

import (
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/schema/schematest"
	"spendsync/transform"
)

// readOf returns a read of a finished day. The first row has no spend; every other row has one dollar.
func readOf(t *testing.T, rows int, edit func(*dayRead)) *dayRead {
	t.Helper()
	const day = schema.Date(20000)
	read := &dayRead{at: schema.InstantOf(day.End().Add(controlDelay)), evidence: extract.Evidence{Total: int64(rows)}}
	read.DayRows = transform.NewDayRows(transform.SpendContext{Day: day}, transform.NewInterner())
	all := schematest.SpendOfSources(day, rows)
	for i := range all {
		all[i].Spend = schema.Dollar
		if i == 0 {
			all[i].Spend = 0
		}
		read.Rows.Append(&all[i])
	}
	if err := read.seal(); err != nil {
		t.Fatal(err)
	}
	read.Control = schema.ControlNone
	if edit != nil {
		edit(read)
	}
	return read
}

func serviceWith(t *testing.T, line string) *service.Service {
	t.Helper()
	s, err := service.Default().With([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWeigh checks when a read is proven. If the read is not proven, the message names the contradiction, and the line
// of the service file that may help.
func TestWeigh(t *testing.T) {
	spend, none := serviceWith(t, "report.total_rows: with_spend"), serviceWith(t, "report.total_rows: none")
	total := func(n int64) func(*dayRead) { return func(r *dayRead) { r.evidence.Total = n } }
	ofADollar := func(r *dayRead) {
		r.Control, r.ControlTotal.Spend = schema.ControlDiffers, schema.Some(schema.Dollar)
	}
	for name, c := range map[string]struct {
		isEmpty bool
		edit    func(*dayRead)
		service *service.Service
		alike   bool
		against string
	}{
		"nothing, once":               {isEmpty: true, against: "the answer is empty, and neither"},
		"nothing, twice":              {isEmpty: true, alike: true},
		"nothing, and its sum":        {isEmpty: true, edit: func(r *dayRead) { r.Control = schema.ControlMatched }},
		"nothing, beside a sum":       {isEmpty: true, edit: ofADollar, against: "own sum is 1.00 US dollars"},
		"nothing, twice beside a sum": {isEmpty: true, edit: ofADollar, alike: true, against: "the answer is empty"},

		"as many as stated": {},
		"more than stated": {edit: total(4),
			against: "5 rows came, and total_rows is 4; what it counts is a line report.total_rows"},
		"less than stated": {edit: total(6), against: "5 rows came, and total_rows is 6"},
		"the sum is no substitute": {edit: func(r *dayRead) { r.evidence.Total, r.Control = 6, schema.ControlMatched },
			against: "total_rows is 6"},
		"pages that do not fit": {edit: func(r *dayRead) { r.evidence.Against = "page 2: total changed" },
			against: "page 2: total changed"},
		"a key twice": {edit: func(r *dayRead) { r.day, r.duplicate = nil, "a key comes twice" },
			against: "a key comes twice"},
		"rows with spend":  {service: spend, edit: total(4)},
		"all rows of such": {service: spend, against: "4 rows with spend came, and total_rows is 5"},
		"no pagination": {edit: total(-1),
			against: "5 rows came, and neither the service's own sum nor a second read"},
		"no pagination, its sum": {edit: func(r *dayRead) {
			r.evidence.Total, r.Control = -1, schema.ControlMatched
		}},
		"no pagination, read alike": {edit: total(-1), alike: true},
		"no pagination, an open day": {edit: func(r *dayRead) {
			r.evidence.Total, r.at = -1,
				schema.InstantOf(schema.Date(20000).Start())
		}},
		"no pagination, a full page": {edit: func(r *dayRead) {
			r.evidence.Total, r.evidence.Full, r.Control = -1, true,
				schema.ControlMatched
		}, against: "as many as a page may have"},
		"another count, read alike": {service: none, edit: total(99), alike: true},
		"another count, read once": {service: none, edit: total(99),
			against: "neither the service's own sum nor a second read"},
		"campaign by campaign": {edit: func(r *dayRead) { r.DayRows.Pieces = []schema.Piece{{Campaign: "C1"}} }},
		"by campaign, one is missing": {edit: func(r *dayRead) {
			r.DayRows.Pieces,
				r.evidence.Total = []schema.Piece{{Campaign: "C1"}}, 6
		}, against: "total_rows is 6"},
		"by campaign, the sum": {edit: func(r *dayRead) {
			r.DayRows.Pieces, r.evidence.Total, r.Control = []schema.Piece{{Campaign: "C1"}}, 6, schema.ControlMatched
		}},
		"by campaign, an open day": {edit: func(r *dayRead) {
			r.DayRows.Pieces, r.evidence.Total, r.at = []schema.Piece{{Campaign: "C1"}}, 6,
				schema.InstantOf(schema.Date(20000).Start())
		}},
		"by campaign, an open day with rows without one": {edit: func(r *dayRead) {
			r.DayRows.Pieces, r.evidence.Total, r.at = []schema.Piece{{Campaign: "C1"}}, 6,
				schema.InstantOf(schema.Date(20000).Start())
			r.hasNameless = true
		}, against: "total_rows is 6"},
	} {
		rows := 5
		if c.isEmpty {
			rows = 0
		}
		read := readOf(t, rows, c.edit)
		with := comparison{day: 20000, service: c.service}
		if c.alike {
			with.earlier = []string{read.hash}
		}
		err := read.checkProof(with)
		if (err == nil) != (c.against == "") || err != nil && !strings.Contains(err.Error(), c.against) {
			t.Errorf("%s: %v, want %q", name, err, c.against)
		}
	}
}

// TestMayReplace checks when a proven read replaces the stored day.
func TestMayReplace(t *testing.T) {
	const day = schema.Date(20000)
	stored := func(rows int64, spend schema.Money) *manifest.Day {
		return &manifest.Day{LastReadAt: schema.InstantOf(day.End()), Sums: history.Sums{Rows: rows,
			Spend: spend * schema.Dollar}}
	}
	open := stored(5, 4)
	open.LastReadAt = schema.InstantOf(day.Start())
	matched := func(r *dayRead) { r.Control = schema.ControlMatched }
	refused := func(r *dayRead) { r.DayRows.Refused, r.First = 1, &transform.RowError{Err: transform.ErrMissing} }
	for name, c := range map[string]struct {
		rows    int
		edit    func(*dayRead)
		stored  *manifest.Day
		isAgain bool // the previous run read the same rows
		against string
		waits   bool
	}{
		"nothing stored":              {rows: 5},
		"a row less":                  {rows: 4, stored: stored(5, 4)},
		"less than half":              {rows: 2, stored: stored(5, 4), against: "less than half", waits: true},
		"less than half of the rows":  {rows: 2, stored: stored(5, 1), against: "2 rows are less", waits: true},
		"less than half of the spend": {rows: 5, stored: stored(5, 9), against: ": 4.00 US dollars are", waits: true},
		"less than half, the sum":     {rows: 2, edit: matched, stored: stored(5, 4)},
		"less than half, again":       {rows: 2, stored: stored(5, 4), isAgain: true},
		"none": {rows: 0, stored: stored(5, 4), against: "0 rows are less than half of the 5 rows",
			waits: true},
		"none, again":   {rows: 0, stored: stored(5, 4), isAgain: true},
		"none, the sum": {rows: 0, edit: matched, stored: stored(5, 4)},
		"the sum is of the stored": {rows: 5, edit: func(r *dayRead) { r.isSumOfStored = true }, stored: stored(5,
			4), isAgain: true, against: "is that of the stored rows"},
		"refused rows": {rows: 5, edit: refused, against: ""},
		"refused rows, over whole": {rows: 5, edit: refused, stored: stored(5, 4),
			against: "the day that is proven stands"},
		"refused rows, over open":  {rows: 5, edit: refused, stored: open},
		"nothing but refused rows": {rows: 0, edit: refused, against: "missing"},
	} {
		read := readOf(t, c.rows, c.edit)
		with := comparison{day: day, stored: c.stored}
		if c.isAgain {
			with.waiting = read.day.KeyHash()
		}
		waiting, err := read.mayReplace(with)
		if (err == nil) != (c.against == "") || err != nil && !strings.Contains(err.Error(), c.against) ||
			(waiting != "") != c.waits && err != nil {
			t.Errorf("%s: %v, waiting %q, want %q", name, err, waiting, c.against)
		}
	}
}
