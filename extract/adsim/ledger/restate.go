package ledger

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// Restatement changes the rows of a day. Kind is one of
//
//	multiply  all measures of all rows (or of CampaignID, CreativeID, SourceID
//	          alone) times Percent/100, rounded down; with OneIn, those of one
//	          source in OneIn, which is another one the next time
//	change    one row gets Measures; without them one click and its conversion more
//	delete    one row vanishes
//	insert    a row appears, with Measures or with some
//	empty     the day has no rows at all
//	restore   the day is as if it had never been restated
//
// The row is named by CreativeID and SourceID. Without them it is the first row
// with a source from place Row on, in the report's order; an inserted row then
// belongs to that row's creative and to a source that it does not have yet.
type Restatement struct {
	Kind       string    `json:"kind"`
	CampaignID string    `json:"campaign_id"`
	CreativeID string    `json:"creative_id"`
	SourceID   string    `json:"source_id"`
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
	seq                int
	percent            int64
	campaign, creative string
	source             int32 // noSource: any
	oneIn              int32 // 0: any
}

// holds reports whether the source is one of those that change.
func (sc *scale) holds(source int32) bool {
	if sc.oneIn > 0 {
		return source != NoSource && source%sc.oneIn == int32(sc.seq)%sc.oneIn
	}
	return sc.source == NoSource || sc.source == source
}

// restate applies the restatements of a row, in the order of their requests.
func (sd *Day) restate(r *Row) {
	since := 0
	if e, ok := sd.edits[RowKey{r.Creative.ID, r.Source}]; ok {
		r.Measures, since = e.Measures, e.seq
	}
	for _, sc := range sd.scales {
		if sc.seq < since || sc.campaign != "" && sc.campaign != r.Campaign.ID ||
			sc.creative != "" && sc.creative != r.Creative.ID || !sc.holds(r.Source) {
			continue
		}
		r.Spend = r.Spend * sc.percent / 100
		r.Clicks = r.Clicks * sc.percent / 100
		r.Impressions = r.Impressions * sc.percent / 100
		r.Conversions = r.Conversions * sc.percent / 100
	}
}

func (o *Overlay) Multiply(a *market.Account, change Restatement) error {
	if change.Percent < 0 {
		return fmt.Errorf("percent %d is negative", change.Percent)
	}
	if change.OneIn < 0 || change.OneIn > 0 && change.SourceID != "" {
		return fmt.Errorf("one_in %d is negative, or goes with a source", change.OneIn)
	}
	sc := scale{seq: o.Seq, percent: change.Percent, campaign: change.CampaignID, creative: change.CreativeID,
		source: NoSource, oneIn: change.OneIn}
	if change.SourceID != "" {
		src, ok := a.Sources.Index(change.SourceID)
		if !ok {
			return fmt.Errorf("no source %q", change.SourceID)
		}
		sc.source = src
	}
	o.Scales = append(o.Scales, sc)
	return nil
}

// EditRow finds the row that is meant and notes what becomes of it.
func (o *Overlay) EditRow(a *market.Account, st *State, d clock.Day, change Restatement) (Row, error) {
	sd := st.spendDay(d, Scope{})
	r, err := sd.named(a, change)
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
func (sd *Day) named(a *market.Account, change Restatement) (Row, error) {
	inserting := change.Kind == "insert"
	var buf [1]Row
	if change.CreativeID == "" && change.SourceID == "" {
		for i := max(0, change.Row); i < sd.total; i++ {
			if sd.appendRows(buf[:0], i, i+1)[0].Source == NoSource {
				continue
			}
			r := buf[0]
			if !inserting {
				return r, nil
			}
			for _, src := range sd.sources.Live.Src {
				if _, taken := sd.find(r.Creative.ID, src); !taken {
					return Row{Day: sd.day, Source: src, Campaign: r.Campaign, Creative: r.Creative}, nil
				}
			}
		}
		return Row{}, fmt.Errorf("no row with a source at place %d or after", change.Row)
	}
	src, ok := sd.sources.Index(change.SourceID)
	if !ok {
		return Row{}, fmt.Errorf("no source %q", change.SourceID)
	}
	place, there := sd.find(change.CreativeID, src)
	switch {
	case inserting && there:
		return Row{}, fmt.Errorf("%s %s is there already", change.CreativeID, change.SourceID)
	case inserting:
		cr := a.CreativeOn(sd.day, change.CreativeID)
		if cr == nil {
			return Row{}, fmt.Errorf("no creative %q on that day", change.CreativeID)
		}
		return Row{Day: sd.day, Source: src, Campaign: cr.Campaign, Creative: cr}, nil
	case !there:
		return Row{}, fmt.Errorf("no row %s %s", change.CreativeID, change.SourceID)
	}
	return sd.appendRows(buf[:0], place, place+1)[0], nil
}

// find returns the index of a row in the day, or the index at which to insert it.
func (sd *Day) find(creativeID string, src int32) (place int, there bool) {
	var buf [1]Row
	place = sort.Search(sd.total, func(i int) bool {
		r := &sd.appendRows(buf[:0], i, i+1)[0]
		if c := strings.Compare(r.Creative.ID, creativeID); c != 0 {
			return c > 0
		}
		return r.Source >= src
	})
	if place < sd.total {
		r := &sd.appendRows(buf[:0], place, place+1)[0]
		there = r.Creative.ID == creativeID && r.Source == src
	}
	return place, there
}

// layEdits computes the rows of a day of which single ones were restated, and makes the changes to them.
func (sd *Day) layEdits(sc Scope) {
	sd.total = sd.starts[len(sd.entries)]
	if len(sd.edits) == 0 {
		return
	}
	rows := sd.appendBase(nil, 0, sd.total)
	for key, e := range sd.edits {
		if !sc.holds(e.creative) || e.kind != "insert" {
			continue
		}
		r := Row{Day: sd.day, Source: key.source, Campaign: e.creative.Campaign, Creative: e.creative,
			Measures: e.Measures}
		sd.restate(&r)
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(x, y Row) int { return compareRows(&x, &y) })
	sd.rows = rows[:0]
	for i, r := range rows {
		gone := sd.edits[RowKey{r.Creative.ID, r.Source}].kind == "delete" ||
			r.Source == NoSource && i+1 < len(rows) && rows[i+1].Creative == r.Creative // it is delivered now
		if !gone {
			sd.rows = append(sd.rows, r)
		}
	}
	sd.total = len(sd.rows)
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
