package ledger

import (
	"fmt"
	"slices"
	"strings"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
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

type RowKey struct {
	creative string
	source   int32
}

// Overlay is the set of restatements of one day. Once it is in a state it is immutable.
type Overlay struct {
	Seq     int
	Emptied bool
	Edits   map[RowKey]RowEdit
	Scales  []scale
}

type RowEdit struct {
	seq      int
	kind     string // change, delete, insert
	creative *market.Creative
	Measures
}

type scale struct {
	seq      int
	percent  int64
	creative string // empty: any
	oneIn    int32  // 0: any source
}

// holds reports whether a row is one of those that change.
func (sc *scale) holds(r *Row) bool {
	return (sc.creative == "" || sc.creative == r.Creative.ID) &&
		(sc.oneIn == 0 || r.Source != NoSource && r.Source%sc.oneIn == int32(sc.seq)%sc.oneIn)
}

// restate applies the restatements of a row, in the order of their requests.
func (o *Overlay) restate(r *Row) {
	since := 0
	if e, ok := o.Edits[RowKey{r.Creative.ID, r.Source}]; ok {
		r.Measures, since = e.Measures, e.seq
	}
	for _, sc := range o.Scales {
		if sc.seq < since || !sc.holds(r) {
			continue
		}
		r.Spend = r.Spend * sc.percent / 100
		r.Clicks = r.Clicks * sc.percent / 100
		r.Impressions = r.Impressions * sc.percent / 100
		r.Conversions = r.Conversions * sc.percent / 100
	}
}

func (o *Overlay) Multiply(change Restatement) error {
	if change.Percent < 0 || change.OneIn < 0 {
		return fmt.Errorf("percent %d or one_in %d is negative", change.Percent, change.OneIn)
	}
	o.Scales = append(o.Scales, scale{o.Seq, change.Percent, change.CreativeID, change.OneIn})
	return nil
}

// EditRow finds the row that is meant and notes what becomes of it.
func (o *Overlay) EditRow(st *State, d clock.Day, change Restatement) (Row, error) {
	r, err := st.named(d, change)
	if err != nil {
		return Row{}, err
	}
	key := RowKey{r.Creative.ID, r.Source}
	old, edited := o.Edits[key]
	e := RowEdit{seq: o.Seq, kind: change.Kind, creative: r.Creative, Measures: r.Measures}
	switch change.Kind {
	case "delete":
		if edited && old.kind == "insert" {
			delete(o.Edits, key)
			return r, nil
		}
	case "change":
		e.Clicks++
		e.Conversions++
		e.Spend += 100_000
		if change.Measures != nil {
			e.Measures = *change.Measures
		}
		if edited && old.kind == "insert" {
			e.kind = "insert"
		}
	case "insert":
		e.Measures = Measures{Spend: 1_230_000, Clicks: 3, Impressions: 100, Conversions: 1}
		if change.Measures != nil {
			e.Measures = *change.Measures
		}
		if edited && old.kind == "delete" {
			e.kind = "change"
		}
	}
	o.Edits[key] = e
	if e.kind != "delete" {
		r.Measures = e.Measures
	}
	return r, nil
}

// named finds the row that a restatement means; for an insert, the one to be.
func (st *State) named(d clock.Day, change Restatement) (Row, error) {
	var rows []Row
	taken := map[RowKey]bool{}
	for r := range st.Rows(d, Scope{}) {
		rows = append(rows, *r)
		taken[RowKey{r.Creative.ID, r.Source}] = true
	}
	for _, r := range rows[min(max(0, change.Row), len(rows)):] {
		switch {
		case r.Source == NoSource:
			continue
		case change.Kind != "insert":
			return r, nil
		}
		for _, src := range st.Account.Sources.Live.Src {
			if !taken[RowKey{r.Creative.ID, src}] {
				return Row{Day: d, Source: src, Campaign: r.Campaign, Creative: r.Creative}, nil
			}
		}
	}
	return Row{}, fmt.Errorf("no row with a source at place %d or after", change.Row)
}

// lay makes the changes to the rows of a day.
func (o *Overlay) lay(rows []Row, d clock.Day) []Row {
	for key, e := range o.Edits {
		if e.kind == "insert" {
			rows = append(rows, Row{Day: d, Source: key.source, Campaign: e.creative.Campaign, Creative: e.creative})
		}
	}
	for i := range rows {
		if rows[i].Source != NoSource {
			o.restate(&rows[i])
		}
	}
	if len(o.Edits) == 0 {
		return rows
	}
	slices.SortFunc(rows, func(x, y Row) int { return compareRows(&x, &y) })
	out := rows[:0]
	for i, r := range rows {
		gone := o.Edits[RowKey{r.Creative.ID, r.Source}].kind == "delete" ||
			r.Source == NoSource && i+1 < len(rows) && rows[i+1].Creative == r.Creative // it is delivered now
		if !gone {
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
