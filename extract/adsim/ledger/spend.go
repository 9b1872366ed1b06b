package ledger

import (
	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// Measures are the numbers of a row. Spend is in millionths of a US dollar.
type Measures struct {
	Spend       int64
	Clicks      int64
	Impressions int64
	Conversions int64
}

func (m *Measures) Add(o Measures) {
	m.Spend += o.Spend
	m.Clicks += o.Clicks
	m.Impressions += o.Impressions
	m.Conversions += o.Conversions
}

// Row is one row of the report. If the query does not group by a dimension, the dimension is not set: Campaign and
// Creative are nil, Day is 0, Source is NoSource.
type Row struct {
	Day      clock.Day
	Source   int32 // also NoSource if the creative was not delivered on the day
	Campaign *market.Campaign
	Creative *market.Creative
	Measures
}

// NoSource is the value of Row.Source in a row that has no source.
const NoSource = int32(-1)

// day is a calendar day as the report shows it at the State's instant.
type day struct {
	*State
	day    clock.Day
	began  int64 // Unix seconds
	cutoff int64 // conversions and credits after this time (Unix seconds) do not count yet
}

func (st *State) dayOf(d clock.Day) *day {
	zone := st.Account.Zone
	sd := &day{State: st, day: d, began: d.Start(zone).Unix(), cutoff: st.AsOf.Unix()}
	if st.Frozen {
		sd.cutoff = min(sd.cutoff, (d + 1).Start(zone).Unix())
	}
	return sd
}

// Entry is one creative on one day, with its rows.
type Entry struct {
	Creative    *market.Creative
	universe    *market.Universe
	key         uint64
	weight      uint64 // proportional to the creative's share of the day's traffic; 0 if no delivery is generated
	rows        int    // number of rows when the day is over
	ClickRate   uint64
	ConvertRate uint64
	// list contains the rows that have a source, sorted by source. It is nil if nothing was delivered: then the report
	// has one row for the creative, without a source.
	list  []Row
	gross []int64 // cost of each row before credits
}

// Scope filters the rows of a day by campaign, by creative, and by delivery. The zero Scope lets all rows pass.
type Scope struct {
	campaign, creative string
	Delivered          bool
}

// holds reports whether a row passes the filter.
func (sc *Scope) holds(r *Row) bool {
	return (sc.campaign == "" || sc.campaign == r.Campaign.ID) && (sc.creative == "" || sc.creative == r.Creative.ID) &&
		(!sc.Delivered || r.Source != NoSource)
}

// rowsOf returns the rows of a day, in the report's order.
func (st *State) rowsOf(d clock.Day) []Row {
	return st.Caches.days.Get(dayKey{d, st.keyFor(d)}, func() (rows []Row) {
		if d > st.Today {
			return nil
		}
		for _, e := range st.entriesOf(d) {
			rows = append(rows, e.list...)
			if e.list == nil {
				rows = append(rows, Row{Day: d, Source: NoSource, Campaign: e.Creative.Campaign, Creative: e.Creative})
			}
		}
		return st.Overlays[d].apply(rows)
	})
}

// weekdays is the relative traffic by weekday in percent, Sunday first.
var weekdays = [7]uint64{86, 108, 107, 104, 103, 97, 82}

// exists reports whether row j of an entry exists already. The rows of an entry form blocks of 64. The second parameter
// is the number of rows of each block that exist so far. Hashes decide the order in which the rows of a block appear
// during the day.
func (e *Entry) exists(j, filled int) bool {
	h := chance.Mix(e.key ^ uint64(j/64)*0x9e3779b97f4a7c15)
	return (int(h>>8&63)+int(h&63|1)*(j%64))&63 < filled
}

// counts returns the impressions and clicks that a row has at the end of the day.
func (sd *day) counts(e *Entry, src int32, h uint64) (impressions, clicks uint64) {
	noise := (h & 1023) * (h >> 10 & 1023) >> 10 // 256 on average
	impressions = 1 + 30*uint64(sd.Account.Sources.Visitors[src])*noise>>16
	return impressions, (impressions*e.ClickRate + h>>20&0xffff) >> 16
}

// credit returns how many clicks of a row have been credited back so far.
func (sd *day) credit(h, clicks uint64) int64 {
	if h>>54 == 0 && clicks >= 2 && sd.cutoff >= sd.began+86400*int64(2+h>>36&3) {
		return int64(1 + clicks/4)
	}
	return 0
}

// conversions returns how many conversions of a row have arrived so far. The last two arguments are the row's numbers
// of clicks: at the end of the day, and so far. There are never more conversions than clicks so far.
func (sd *day) conversions(e *Entry, src int32, h, clicks uint64, clicked int64) int64 {
	if clicks == 0 || sd.Account.Sources.Worth[src] == 0 {
		return 0
	}
	full := (clicks*e.ConvertRate*uint64(sd.Account.Sources.Worth[src])>>8 + h>>38&0xffff) >> 16
	return min(sd.converted(h, int64(min(full, clicks))), clicked)
}

// priceOf returns the price of a click: 60 to 100 percent of the bid, depending on the hash h of campaign and source.
func priceOf(bid int64, h uint64) int64 {
	p := bid * int64(60+h>>32%41) / 100
	if h>>48&7 != 0 {
		p -= p % 100
	} else {
		p += int64(h >> 52 & 127)
	}
	return p
}

// delays are the possible minutes between a click and its conversion, all equally likely. The real delay is up to a
// quarter longer.
var delays = [16]int64{5, 15, 40, 90, 180, 360, 600, 900, 1300, 2000, 3000, 4500, 7000, 11000, 18000, 27000}

// converted returns how many of a row's conversions have arrived so far. The second argument is the final number of
// conversions. Conversions arrive in up to eight groups. Each group has its own click time and its own delay.
func (sd *day) converted(h uint64, full int64) int64 {
	const last = 86400 + 27000*60*5/4
	if full == 0 || sd.cutoff >= sd.began+last {
		return full
	}
	lots := min(full, 8)
	n := int64(0)
	for i := range lots {
		h = chance.Mix(h)
		wait := delays[h&15]
		ready := sd.began + int64(h>>8%80000) + wait*60 + wait*15*int64(h>>32&255)>>8
		if ready <= sd.cutoff {
			n += full / lots
			if i < full%lots {
				n++
			}
		}
	}
	return n
}

// manySlots is the smallest number of slots that makes an account large. The total traffic of a large account varies
// little from day to day, so that [Caches.sampleTraffic], the traffic of one day, is used for every day.
const manySlots = 200
