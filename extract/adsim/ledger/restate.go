package ledger

import (
	"fmt"
	"slices"
	"strings"

	"spendsync/extract/adsim/clock"
)

// Restatement changes the rows of a day. Kind is one of
//
//	multiply  multiplies all measures of all rows by Percent/100, rounded down. If OneIn is set, only the rows of
//	          every OneIn-th source are multiplied; each restatement of the day selects different sources
//	change    sets the measures of one row to Measures. If Measures is nil, adds one click and one conversion
//	delete    removes one row
//	insert    adds one row with the given Measures. If Measures is nil, the row has made-up measures
//	empty     removes all rows
//	restore   removes all earlier restatements of the day
//
// The kinds change and delete affect the row at index Row in the order of the report, or the next row that has a
// source. The kind insert adds a row for the creative of that row, with a source for which the creative has no row on
// the day.
type Restatement struct {
	Kind     string
	Row      int
	Percent  int64
	OneIn    int32 `json:"one_in"`
	Measures *Measures
}

// Overlay contains the restatements of one day, in the order in which they apply. An Overlay is immutable once a State
// refers to it.
type Overlay struct {
	number int // number of restatements of the day since the last restore
	steps  []func(rows []Row) []Row
}

// Restate returns the overlay of a day with one more restatement added. It returns nil if the kind is restore.
func (st *State) Restate(d clock.Day, change Restatement) (*Overlay, error) {
	next := &Overlay{number: 1}
	if old := st.Overlays[d]; old != nil {
		next = &Overlay{old.number + 1, slices.Clip(old.steps)}
	}
	var err error
	var step func(rows []Row) []Row
	switch change.Kind {
	case "restore":
		return nil, nil
	case "empty":
		next.steps, step = nil, func([]Row) []Row { return nil }
	case "multiply":
		step, err = multiply(change, int32(next.number))
	case "change", "delete", "insert":
		var r Row
		if r, err = st.targetOf(d, change); err == nil {
			step = edit(r, change)
		}
	default:
		err = fmt.Errorf("unknown kind %q", change.Kind)
	}
	next.steps = append(next.steps, step)
	return next, err
}

// multiply returns a step that multiplies the measures of rows. The second parameter counts the restatements of the
// day. If OneIn is set, it determines which sources are affected.
func multiply(change Restatement, number int32) (func(rows []Row) []Row, error) {
	if change.Percent < 0 || change.OneIn < 0 {
		return nil, fmt.Errorf("percent %d or one_in %d is negative", change.Percent, change.OneIn)
	}
	return func(rows []Row) []Row {
		for i := range rows {
			r := &rows[i]
			if r.Source == NoSource || change.OneIn > 0 && r.Source%change.OneIn != number%change.OneIn {
				continue
			}
			r.Spend = r.Spend * change.Percent / 100
			r.Clicks = r.Clicks * change.Percent / 100
			r.Impressions = r.Impressions * change.Percent / 100
			r.Conversions = r.Conversions * change.Percent / 100
		}
		return rows
	}, nil
}

// edit returns a step that changes, deletes or inserts the row r.
func edit(r Row, change Restatement) func(rows []Row) []Row {
	hasKey := func(o Row) bool { return o.Creative == r.Creative && o.Source == r.Source }
	switch change.Kind {
	case "delete":
		return func(rows []Row) []Row { return slices.DeleteFunc(rows, hasKey) }
	case "insert":
		r.Measures = Measures{Spend: 1_230_000, Clicks: 3, Impressions: 100, Conversions: 1}
	default:
		r.Add(Measures{Spend: 100_000, Clicks: 1, Conversions: 1})
	}
	if change.Measures != nil {
		r.Measures = *change.Measures
	}
	return func(rows []Row) []Row {
		if i := slices.IndexFunc(rows, hasKey); i >= 0 {
			rows[i].Measures = r.Measures
		} else if change.Kind == "insert" {
			rows = append(rows, r)
		}
		return rows
	}
}

// targetOf returns the row that a restatement changes or deletes, or the key of the row that it inserts.
func (st *State) targetOf(d clock.Day, change Restatement) (Row, error) {
	rows := st.rowsOf(d)
	for _, r := range rows[min(max(0, change.Row), len(rows)):] {
		switch {
		case r.Source == NoSource:
			continue
		case change.Kind != "insert":
			return r, nil
		}
		for _, src := range st.Account.Sources.Live.Src {
			if !slices.ContainsFunc(rows, func(o Row) bool { return o.Creative == r.Creative && o.Source == src }) {
				return Row{Day: d, Source: src, Campaign: r.Campaign, Creative: r.Creative}, nil
			}
		}
	}
	return Row{}, fmt.Errorf("no row with a source at place %d or after", change.Row)
}

// apply applies the restatements to the rows of a day.
func (o *Overlay) apply(rows []Row) []Row {
	if o == nil {
		return rows
	}
	for _, step := range o.steps {
		rows = step(rows)
	}
	slices.SortFunc(rows, func(x, y Row) int { return compareRows(&x, &y) })
	out := rows[:0]
	for i, r := range rows {
		// If a creative now has rows with sources, drop its row without a source.
		if r.Source != NoSource || i+1 == len(rows) || rows[i+1].Creative != r.Creative {
			out = append(out, r)
		}
	}
	return out
}

// compareRows compares rows in the report's order.
func compareRows(x, y *Row) int {
	if x.Day != y.Day {
		return int(x.Day - y.Day)
	}
	if x.Campaign != y.Campaign && x.Campaign != nil && y.Campaign != nil {
		if c := strings.Compare(x.Campaign.ID, y.Campaign.ID); c != 0 {
			return c
		}
	}
	if x.Creative != y.Creative && x.Creative != nil && y.Creative != nil {
		if c := strings.Compare(x.Creative.ID, y.Creative.ID); c != 0 {
			return c
		}
	}
	return int(x.Source - y.Source)
}
