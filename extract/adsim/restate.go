package adsim

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Restatement says how a day's rows change. Kind is one of
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

type rowKey struct {
	creative string
	source   int32
}

// overlay is what was asked of one day. It is never changed once it is in a state.
type overlay struct {
	seq     int
	emptied bool
	edits   map[rowKey]rowEdit
	scales  []scale
}

type rowEdit struct {
	seq      int
	kind     string // change, delete, insert
	creative *creative
	Measures
}

type scale struct {
	seq                int
	percent            int64
	campaign, creative string
	source             int32 // noSource: any
	oneIn              int32 // 0: any
}

// holds says whether the source is one of those that change.
func (sc *scale) holds(source int32) bool {
	if sc.oneIn > 0 {
		return source != noSource && source%sc.oneIn == int32(sc.seq)%sc.oneIn
	}
	return sc.source == noSource || sc.source == source
}

// restate applies what was asked of a row, in the order in which it was asked.
func (sd *spendDay) restate(r *row) {
	since := 0
	if e, ok := sd.edits[rowKey{r.creative.id, r.source}]; ok {
		r.Measures, since = e.Measures, e.seq
	}
	for _, sc := range sd.scales {
		if sc.seq < since || sc.campaign != "" && sc.campaign != r.campaign.id ||
			sc.creative != "" && sc.creative != r.creative.id || !sc.holds(r.source) {
			continue
		}
		r.Spend = r.Spend * sc.percent / 100
		r.Clicks = r.Clicks * sc.percent / 100
		r.Impressions = r.Impressions * sc.percent / 100
		r.Conversions = r.Conversions * sc.percent / 100
	}
}

func (o *overlay) multiply(a *account, change Restatement) error {
	if change.Percent < 0 {
		return fmt.Errorf("percent %d is negative", change.Percent)
	}
	if change.OneIn < 0 || change.OneIn > 0 && change.SourceID != "" {
		return fmt.Errorf("one_in %d is negative, or goes with a source", change.OneIn)
	}
	sc := scale{seq: o.seq, percent: change.Percent, campaign: change.CampaignID, creative: change.CreativeID,
		source: noSource, oneIn: change.OneIn}
	if change.SourceID != "" {
		src, ok := a.sources.index(change.SourceID)
		if !ok {
			return fmt.Errorf("no source %q", change.SourceID)
		}
		sc.source = src
	}
	o.scales = append(o.scales, sc)
	return nil
}

// editRow finds the row that is meant and notes what becomes of it.
func (o *overlay) editRow(a *account, st *state, d day, change Restatement) (row, error) {
	sd := st.spendDay(d, scope{})
	r, err := sd.named(a, change)
	if err != nil {
		return row{}, err
	}
	key := rowKey{r.creative.id, r.source}
	old, edited := o.edits[key]
	e := rowEdit{seq: o.seq, kind: change.Kind, creative: r.creative, Measures: r.Measures}
	switch change.Kind {
	case "delete":
		if edited && old.kind == "insert" {
			delete(o.edits, key)
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
	o.edits[key] = e
	if e.kind != "delete" {
		r.Measures = e.Measures
	}
	return r, nil
}

// named finds the row that a restatement means; for an insert, the one to be.
func (sd *spendDay) named(a *account, change Restatement) (row, error) {
	inserting := change.Kind == "insert"
	var buf [1]row
	if change.CreativeID == "" && change.SourceID == "" {
		for i := max(0, change.Row); i < sd.total; i++ {
			if sd.appendRows(buf[:0], i, i+1)[0].source == noSource {
				continue
			}
			r := buf[0]
			if !inserting {
				return r, nil
			}
			for _, src := range sd.sources.live.src {
				if _, taken := sd.find(r.creative.id, src); !taken {
					return row{day: sd.day, source: src, campaign: r.campaign, creative: r.creative}, nil
				}
			}
		}
		return row{}, fmt.Errorf("no row with a source at place %d or after", change.Row)
	}
	src, ok := sd.sources.index(change.SourceID)
	if !ok {
		return row{}, fmt.Errorf("no source %q", change.SourceID)
	}
	place, there := sd.find(change.CreativeID, src)
	switch {
	case inserting && there:
		return row{}, fmt.Errorf("%s %s is there already", change.CreativeID, change.SourceID)
	case inserting:
		cr := a.creativeOn(sd.day, change.CreativeID)
		if cr == nil {
			return row{}, fmt.Errorf("no creative %q on that day", change.CreativeID)
		}
		return row{day: sd.day, source: src, campaign: cr.campaign, creative: cr}, nil
	case !there:
		return row{}, fmt.Errorf("no row %s %s", change.CreativeID, change.SourceID)
	}
	return sd.appendRows(buf[:0], place, place+1)[0], nil
}

// find tells the place of a row in the day, or where it would be.
func (sd *spendDay) find(creativeID string, src int32) (place int, there bool) {
	var buf [1]row
	place = sort.Search(sd.total, func(i int) bool {
		r := &sd.appendRows(buf[:0], i, i+1)[0]
		if c := strings.Compare(r.creative.id, creativeID); c != 0 {
			return c > 0
		}
		return r.source >= src
	})
	if place < sd.total {
		r := &sd.appendRows(buf[:0], place, place+1)[0]
		there = r.creative.id == creativeID && r.source == src
	}
	return place, there
}

// layPieces puts the computed rows and the edits in order.
func (sd *spendDay) layPieces(sc scope) {
	n := sd.starts[len(sd.entries)]
	sd.pieces, sd.total = []piece{{n: n}}, n
	var cuts []piece // base is the place; n is 1 for a row that goes
	for key, e := range sd.edits {
		if !sc.holds(e.creative) {
			continue
		}
		place, there := sd.find(key.creative, key.source)
		switch {
		case e.kind == "delete" && there:
			cuts = append(cuts, piece{base: place, n: 1})
		case e.kind == "insert" && !there:
			r := &row{day: sd.day, source: key.source, campaign: e.creative.campaign, creative: e.creative,
				Measures: e.Measures}
			cut := piece{base: place, inserted: r}
			if bare := place - 1; bare >= 0 {
				var buf [1]row
				if p := sd.appendBase(buf[:0], bare, bare+1)[0]; p.creative == e.creative && p.source == noSource {
					cuts = append(cuts, piece{base: bare, n: 1}) // it is delivered now
				}
			}
			cuts = append(cuts, cut)
		}
	}
	if len(cuts) == 0 {
		return
	}
	slices.SortStableFunc(cuts, func(x, y piece) int {
		switch {
		case x.base != y.base:
			return x.base - y.base
		case x.inserted != nil && y.inserted != nil:
			return compareRows(x.inserted, y.inserted)
		}
		return x.n - y.n // what is inserted before a place comes before what goes from it
	})
	var out []piece
	at, base := 0, 0
	for _, c := range cuts {
		if c.base > base {
			out = append(out, piece{start: at, base: base, n: c.base - base})
			at += c.base - base
			base = c.base
		}
		if c.inserted != nil {
			out = append(out, piece{start: at, n: 1, inserted: c.inserted})
			at++
		} else {
			base = max(base, c.base+1)
		}
	}
	if n > base {
		out = append(out, piece{start: at, base: base, n: n - base})
		at += n - base
	}
	sd.pieces, sd.total = out, at
}

// compareRows is the report's order.
func compareRows(x, y *row) int {
	if x.day != y.day {
		return int(x.day - y.day)
	}
	if x.campaign != y.campaign && x.campaign != nil && y.campaign != nil {
		if c := strings.Compare(x.campaign.id, y.campaign.id); c != 0 {
			return c
		}
	}
	if x.creative != y.creative && x.creative != nil && y.creative != nil {
		if c := strings.Compare(x.creative.id, y.creative.id); c != 0 {
			return c
		}
	}
	return int(x.source - y.source)
}
