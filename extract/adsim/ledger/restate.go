package ledger

import (
	"fmt"
	"slices"
	"strings"

	"spendsync/extract/adsim/clock"
)

// Restatement changes the rows of a day. Kind is one of
//
//	multiply  all measures of all rows (or of CreativeID alone) times Percent/100, rounded down; with OneIn,
//	          those of one source in OneIn, which is another one the next time
//	change    one row gets Measures; without them one click and its conversion more
//	delete    one row vanishes
//	insert    a row appears, with Measures or with some
//	empty     the day has no rows at all
//	restore   the day is as if it had never been restated
//
// The row is the first with a source from place Row on, in the report's order; an inserted row belongs to that row's
// creative and to a source that it does not have yet.
type Restatement struct {
	Kind       string    `json:"kind"`
	CreativeID string    `json:"creative_id"`
	Row        int       `json:"row"`
	Percent    int64     `json:"percent"`
	OneIn      int32     `json:"one_in"`
	Measures   *Measures `json:"measures"`
}

// Overlay is the restatements of one day, in their order. Once it is in a state it is immutable.
type Overlay struct {
	number int // of the last restatement
	steps  []func(rows []Row) []Row
}

// Restate returns the overlay of a day with one more restatement, nil for none, and the row that is meant: for a
// delete as it was.
func (st *State) Restate(d clock.Day, change Restatement) (*Overlay, Row, error) {
	next := &Overlay{number: 1}
	if old := st.Overlays[d]; old != nil {
		next = &Overlay{old.number + 1, slices.Clip(old.steps)}
	}
	var r Row
	var err error
	var step func(rows []Row) []Row
	switch change.Kind {
	case "restore":
		return nil, r, nil
	case "empty":
		next.steps, step = nil, func([]Row) []Row { return nil }
	case "multiply":
		step, err = multiply(change, int32(next.number))
	case "change", "delete", "insert":
		if r, err = st.named(d, change); err == nil {
			r, step = edit(r, change)
		}
	default:
		err = fmt.Errorf("unknown kind %q", change.Kind)
	}
	next.steps = append(next.steps, step)
	return next, r, err
}

// multiply scales the rows that are meant; number chooses the sources of OneIn.
func multiply(change Restatement, number int32) (func(rows []Row) []Row, error) {
	if change.Percent < 0 || change.OneIn < 0 {
		return nil, fmt.Errorf("percent %d or one_in %d is negative", change.Percent, change.OneIn)
	}
	return func(rows []Row) []Row {
		for i := range rows {
			r := &rows[i]
			if r.Source == NoSource || change.CreativeID != "" && change.CreativeID != r.Creative.ID ||
				change.OneIn > 0 && r.Source%change.OneIn != number%change.OneIn {
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

// edit changes, deletes or inserts one row, and returns it.
func edit(r Row, change Restatement) (Row, func(rows []Row) []Row) {
	is := func(o Row) bool { return o.Creative == r.Creative && o.Source == r.Source }
	switch change.Kind {
	case "delete":
		return r, func(rows []Row) []Row { return slices.DeleteFunc(rows, is) }
	case "insert":
		r.Measures = Measures{Spend: 1_230_000, Clicks: 3, Impressions: 100, Conversions: 1}
	default:
		r.Add(Measures{Spend: 100_000, Clicks: 1, Conversions: 1})
	}
	if change.Measures != nil {
		r.Measures = *change.Measures
	}
	return r, func(rows []Row) []Row {
		if i := slices.IndexFunc(rows, is); i >= 0 {
			rows[i].Measures = r.Measures
		} else if change.Kind == "insert" {
			rows = append(rows, r)
		}
		return rows
	}
}

// named finds the row that a restatement means; for an insert, the one to be.
func (st *State) named(d clock.Day, change Restatement) (Row, error) {
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

// lay makes the changes to the rows of a day.
func (o *Overlay) lay(rows []Row) []Row {
	if o == nil {
		return rows
	}
	for _, step := range o.steps {
		rows = step(rows)
	}
	slices.SortFunc(rows, func(x, y Row) int { return compareRows(&x, &y) })
	out := rows[:0]
	for i, r := range rows {
		// A creative with a row at a source has none without one.
		if r.Source != NoSource || i+1 == len(rows) || rows[i+1].Creative != r.Creative {
			out = append(out, r)
		}
	}
	return out
}

// compareRows is the report's order.
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
