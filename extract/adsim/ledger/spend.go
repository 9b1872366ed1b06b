package ledger

import (
	"sort"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// Measures are the numbers of a row. Spend is in millionths of a US dollar.
type Measures struct {
	Spend       int64 `json:"spend"`
	Clicks      int64 `json:"clicks"`
	Impressions int64 `json:"impressions"`
	Conversions int64 `json:"conversions"`
}

func (m *Measures) Add(o Measures) {
	m.Spend += o.Spend
	m.Clicks += o.Clicks
	m.Impressions += o.Impressions
	m.Conversions += o.Conversions
}

// Row is one line of the report before it is written. Dimensions that were not
// asked for are nil, and day is 0.
type Row struct {
	Day      clock.Day
	Source   int32 // noSource for a creative that was not delivered
	Campaign *market.Campaign
	Creative *market.Creative
	Measures
}

// Other makes a copy of a row differ from it.
func (r *Row) Other() {
	r.Spend += 1000
	r.Clicks++
}

const NoSource = int32(-1)

// Day is the rows of one day as of one instant, in order. It holds a line a
// creative, not a line a row: a row is computed from its place.
//
// While the day is going on, a part of its rows is there, and a part of their
// numbers: these rows are computed once. The rows of a creative come in blocks of 64,
// and each block fills at the same pace in an order of its own; a row that is there
// stays.
type Day struct {
	day     clock.Day
	sources *market.Sources
	entries []Entry
	starts  []int  // place of each entry's first row; one more for the end
	share   uint32 // of the day's traffic that has arrived, in 65536ths
	filled  int    // rows of a block of 64 that are there
	began   int64  // Unix seconds
	known   int64  // conversions and credits after this instant are not in yet
	edits   map[RowKey]RowEdit
	scales  []scale
	rows    []Row // of a day with edits
	total   int
}

// Entry is one creative on one day.
type Entry struct {
	Creative    *market.Creative
	universe    *market.Universe
	key         uint64
	rows        int // when the day is over
	seen        int // there now; 0: not delivered, which is one row without a source
	bid         int64
	ClickRate   uint64
	ConvertRate uint64
	follows     bool    // its campaign follows its settings
	list        []Row   // its rows, of one that follows or of an open day; else each is computed when it is asked for
	gross       []int64 // their cost before credits, of one that follows
}

// Scope narrows a day to a campaign, to a creative, and to delivered creatives.
type Scope struct {
	campaign, creative string
	Delivered          bool
}

// holds reports whether a creative is not narrowed away.
func (sc *Scope) holds(cr *market.Creative) bool {
	return (sc.campaign == "" || sc.campaign == cr.Campaign.ID) && (sc.creative == "" || sc.creative == cr.ID)
}

// spendDay prepares a day as of the state. Its cost does not depend on the rows.
func (st *State) spendDay(d clock.Day, sc Scope) *Day {
	sd := &Day{
		day:     d,
		sources: st.Account.Sources,
		began:   d.Start(st.Account.Zone).Unix(),
	}
	end := (d + 1).Start(st.Account.Zone)
	sd.share = clock.ArrivedShare(d, st.AsOf, st.Account.Zone)
	sd.filled = filledBy(sd.share)
	sd.known = st.AsOf.Unix()
	if st.Frozen {
		limit := st.FrozenAt
		if end.After(limit) {
			limit = end
		}
		sd.known = min(sd.known, limit.Unix())
	}
	if d > st.Today {
		return sd
	}
	over := st.Overlays[d]
	if over != nil {
		sd.edits, sd.scales = over.Edits, over.Scales
	}
	if over != nil && over.Emptied {
		sd.starts = []int{0}
	} else {
		st.fillEntries(sd, sc)
	}
	sd.layEdits(sc)
	return sd
}

// weekdays is the traffic by weekday from Sunday, in percent.
var weekdays = [7]uint64{86, 108, 107, 104, 103, 97, 82}

// isThere reports whether the j-th row of an entry is there when filled rows of each block are.
func (e *Entry) isThere(j, filled int) bool {
	h := chance.Mix(e.key ^ uint64(j/64)*0x9e3779b97f4a7c15)
	return (int(h>>8&63)+int(h&63|1)*(j%64))&63 < filled
}

// appendBase appends the computed rows from..to.
func (sd *Day) appendBase(dst []Row, from, to int) []Row {
	i := sort.SearchInts(sd.starts, from+1) - 1
	for ; from < to; i++ {
		e := &sd.entries[i]
		first, last := from-sd.starts[i], min(to, sd.starts[i+1])-sd.starts[i]
		from = sd.starts[i+1]
		switch {
		case e.seen == 0:
			dst = append(dst, Row{Day: sd.day, Source: NoSource, Campaign: e.Creative.Campaign, Creative: e.Creative})
		case e.list != nil:
			dst = append(dst, e.list[first:last]...)
		default:
			for j := first; j < last; j++ {
				dst = append(dst, Row{Day: sd.day, Campaign: e.Creative.Campaign, Creative: e.Creative})
				sd.compute(&dst[len(dst)-1], e, j)
			}
		}
	}
	return dst
}

// compute fills in source and measures of the j-th row of an entry.
func (sd *Day) compute(r *Row, e *Entry, j int) {
	h := chance.Mix(e.key + uint64(j)*0x9e3779b97f4a7c15)
	src := e.universe.Pick(j, e.rows, h)
	r.Source = src
	h = chance.Mix(h)

	impressions, clicks := sd.counts(e, src, h)
	shown, clicked := impressions, clicks
	if sd.share < 1<<16 {
		shown = max(1, impressions*uint64(sd.share)>>16)
		clicked = min(shown, (clicks*uint64(sd.share)+h>>44&0xffff)>>16)
	}
	r.Impressions = int64(shown)
	r.Clicks = int64(clicked) - min(int64(clicked), sd.credit(h, clicks))
	r.Spend = r.Clicks * e.price(src)
	r.Conversions = sd.conversions(e, src, h, clicks, r.Clicks)
	if sd.edits != nil || sd.scales != nil {
		sd.restate(r)
	}
}

// counts returns the measures of a row at the end of the day.
func (sd *Day) counts(e *Entry, src int32, h uint64) (impressions, clicks uint64) {
	noise := (h & 1023) * (h >> 10 & 1023) >> 10 // 256 on average
	impressions = 1 + 30*uint64(sd.sources.Visitors[src])*noise>>16
	return impressions, (impressions*e.ClickRate + h>>20&0xffff) >> 16
}

// credit is how many clicks are taken back by now.
func (sd *Day) credit(h, clicks uint64) int64 {
	if h>>54 == 0 && clicks >= 2 && sd.known >= sd.began+86400*int64(2+h>>36&3) {
		return int64(1 + clicks/4)
	}
	return 0
}

// conversions is how many have arrived, of the day's clicks and not more than were
// clicked by now.
func (sd *Day) conversions(e *Entry, src int32, h, clicks uint64, clicked int64) int64 {
	if clicks == 0 || sd.sources.Worth[src] == 0 {
		return 0
	}
	full := (clicks*e.ConvertRate*uint64(sd.sources.Worth[src])>>8 + h>>38&0xffff) >> 16
	return min(sd.converted(h, int64(min(full, clicks))), clicked)
}

// price is what a click costs on a source: mostly below the campaign's bid, and
// steady for a campaign and source until the bid changes.
func (e *Entry) price(src int32) int64 {
	c := e.Creative.Campaign
	h := c.SourceHash(src)
	bid := e.bid
	if c.Overrides > 0 && h%c.Overrides == 1 {
		bid = c.OverrideBid(bid, h)
	}
	return priceOf(bid, h)
}

// priceOf is what a click costs at a bid, by the hash of campaign and source.
func priceOf(bid int64, h uint64) int64 {
	p := bid * int64(60+h>>32%41) / 100
	if h>>48&7 != 0 {
		p -= p % 100
	} else {
		p += int64(h >> 52 & 127)
	}
	return p
}

// delays are the minutes between a click and its conversion; each is equally likely, and varies up
// to a quarter longer.
var delays = [16]int64{5, 15, 40, 90, 180, 360, 600, 900, 1300, 2000, 3000, 4500, 7000, 11000, 18000, 27000}

// converted is how many of a row's conversions have arrived. They come in up to
// eight lots, each clicked some time of the day and some delay late.
func (sd *Day) converted(h uint64, full int64) int64 {
	const last = 86400 + 27000*60*5/4
	if full == 0 || sd.known >= sd.began+last {
		return full
	}
	lots := min(full, 8)
	n := int64(0)
	for i := range lots {
		h = chance.Mix(h)
		wait := delays[h&15]
		ready := sd.began + int64(h>>8%80000) + wait*60 + wait*15*int64(h>>32&255)>>8
		if ready <= sd.known {
			n += full / lots
			if i < full%lots {
				n++
			}
		}
	}
	return n
}

// appendRows appends the rows from..to of the day.
func (sd *Day) appendRows(dst []Row, from, to int) []Row {
	if sd.rows != nil {
		return append(dst, sd.rows[from:to]...)
	}
	return sd.appendBase(dst, from, to)
}

// manySlots is from how many on the traffic of all campaigns together is steady.
const manySlots = 200
