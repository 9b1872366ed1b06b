package page

import (
	"strconv"
	"strings"
	"time"

	"spendsync/schema"
)

// Page is all that a page shows.
type Page struct {
	Accounts   []Account
	Thresholds []Threshold
	Version    string // of the binary that drew it
	Schema     int    // version of the warehouse's tables
}

// Threshold is a number that decides an answer.
type Threshold struct {
	Name, Unit, Meaning string
	Value               Number
}

// Number is a number of an answer: its digits as the warehouse gave them, and the
// same for drawing. The zero value is unknown, which is not 0.
type Number struct {
	Text  string
	V     float64
	Known bool
}

// ParseNumber takes a number as an answer spells it. What is not a number is unknown.
// A ratio is cut to 12 digits: the engine adds in no fixed order, and the last
// digits of a double are the order's. Amounts have six decimals at most and keep
// every digit.
func ParseNumber(s schema.Null[string]) Number {
	if !s.Valid {
		return Number{}
	}
	v, err := strconv.ParseFloat(s.V, 64)
	if err != nil || v != v || v-v != 0 {
		return Number{}
	}
	n := Number{Text: s.V, V: v, Known: true}
	if _, decimals, _ := strings.Cut(s.V, "."); len(decimals) > 6 || strings.ContainsAny(s.V, "eE") {
		n.Text = strconv.FormatFloat(v, 'g', 12, 64)
		n.V, _ = strconv.ParseFloat(n.Text, 64)
	}
	return n
}

// N is a number that a program made.
func N(v float64) Number {
	return Number{Text: strconv.FormatFloat(v, 'f', -1, 64), V: v, Known: true}
}

// Account is one account's part of the page. A section without rows states the reason.
type Account struct {
	Name      string
	Fresh     Freshness
	Headline  Headline
	Breaks    Breaks
	Campaigns Campaigns
	Coverage  Coverage
	Spend     Spend
	Pacing    Pacing
	Sources   Sources
	Fatigue   Fatigue
	Bids      Bids
	Runway    Runway
	Restated  Restated
	Timeline  Timeline
	Health    Health
}

// Freshness is the time as of which the numbers hold.
type Freshness struct {
	AsOf      time.Time // the newest proven read of the report; zero: none
	LastWhole schema.Null[schema.Date]
	RunID     string
	Version   string // of the binary that published
}

// Headline is the strip on top.
type Headline struct {
	Spend, MeanSpend  Number // of the last whole day; of the days of the recent window
	MeanDays          int    // number of days in the mean
	CPA, AllowedCPA   Number // of the recent window, conversions to come counted in; what the targets allow
	CPAConversions    Number
	DaysLeft, Balance Number
	StopBalance       Number
	Gaps, Lost        int // days missing or partial; days lost
}

// Breaks are what broke lately. Nothing is concluded from what rests on it.
type Breaks struct{ Rows []Break }

// Break is one campaign's break.
type Break struct {
	Campaign           Named
	Kind               string // conversions_stopped, spend_jumped, spend_fell, ctr_collapsed, delivery_stopped
	Since              schema.Date
	Observed, Expected Number // of what the kind is about
	Delivery, Do       string
	Daily              Number // US dollars that the campaign spent a day over the window
}

// Campaigns compares what campaigns earn: first the losing ones, then the ones with the highest
// spend.
type Campaigns struct {
	Rows                           []Payer
	More                           int
	From, To                       schema.Date // the window
	Days                           Number      // of the window that are known whole
	Spend, Conversions, CPA        Number      // of all campaigns
	Profit                         Number      // of all campaigns, by the operator's own payouts
	Paid                           bool        // there are payouts: some campaign's profit is known
	Loses, Unclear, Aimless, Broke int         // campaigns by verdict, those without a row among them
	Paying                         int
	Why                            string
}

// Payer is one campaign over the window, with the range that chance leaves its CPA.
type Payer struct {
	Campaign                             Named
	Status, Verdict, ChangeVerdict       string
	Spend, Conversions, CPA, Best, Worst Number
	Target, Ratio, Excess                Number
	Change, CPARecent, CPABefore         Number // of the CPA at equal age, and the two compared values
	Profit                               Number // by the operator's own payouts
}

// Coverage is how well each day is known, oldest first, without a hole.
type Coverage struct {
	Days    []Day
	Earlier int // days before the first one shown
	Why     string
}

// Day is one day of the calendar.
type Day struct {
	Date   schema.Date
	State  string
	Spend  Number
	Rows   Number
	ReadAt time.Time // zero: never
	Left   Number    // days in which it can still be asked for
	Do     string
}

// Spend is what the days cost.
type Spend struct {
	Campaigns []Named // largest first
	Rest      int     // campaigns that share the last part
	Days      []SpendDay
	Why       string
}

// Named is something of the account with the name that it goes by.
type Named struct{ ID, Name string }

// SpendDay is one column: a part for each of the campaigns and one for the rest.
type SpendDay struct {
	Date                          schema.Date
	State                         string
	Parts                         []Number
	Total                         Number
	Limit                         Number // sum of the limits; unknown while a spending campaign has none
	Unlimited                     Number // campaigns that spent and had no limit
	Assumed                       bool   // a limit was first seen after the day
	Bids, Limits, Statuses, Other int    // changes of settings first seen that day
	Conversions                   Number // so far
	Arrived                       Number // share of the final conversions
	Allowed                       Number // US dollars that the targets allow for them; unknown without all targets
	Revenue                       Number // so far, by the account's payouts; unknown without them
}

// Pacing is how far the day's spend has come against the limits.
type Pacing struct {
	Rows  []Pace
	More  int
	Today Today
	Why   string
}

// Today is the open day, all campaigns together. Its date is absent if no day is open.
type Today struct {
	Date           schema.Null[schema.Date]
	AsOf           time.Time
	Spend, Elapsed Number // so far; elapsed share of the day
	Projected      Number // by its end, as the account's days go
	Conversions    Number // so far; most are still to come
	UsualByNow     Number // US dollars that the days of the last weeks had spent by this hour
	Hours          []Hour // those that are known, in order
}

// Hour is one hour of the open day.
type Hour struct {
	Hour         int
	Spend, Usual Number
}

// Pace is one campaign's day.
type Pace struct {
	Campaign                                       Named
	Date                                           schema.Date
	Spend, Limit, Used, Elapsed, Projected, ToLast Number
	State, Delivery, Advice                        string
}

// Sources are what sources cost and bring, those to act on first.
type Sources struct {
	Rows      []Source
	More      int
	From, To  schema.Date // the window
	Block     Number      // candidates in all that lose
	CrowdsOut Number      // candidates that take the place of better sources of a campaign at its daily limit
	Scale     Number      // candidates whose bid is the account's own
	Optimized Number      // candidates whose bid the service moves by itself
	Days      Number      // known whole in the window
	Excess    Number      // US dollars that those that lose cost beyond the worth of their conversions
	Losing    Number      // US dollars a day that going on with those is expected to lose
	Crowding  Number      // US dollars a day that the better sources would bring more
	Why       string
}

// Source is one source of a campaign over the window.
type Source struct {
	Campaign                   Named
	Source                     string
	Spend, Clicks, Conversions Number
	CPA, Best, Worst, Target   Number
	Daily                      Number // US dollars a day that going on is expected to cost; below 0: to earn
	TargetOrigin               string
	Verdict                    string // block, crowds_out, scale, optimized or nothing
}

// Fatigue are creatives whose CTR falls, the worst first.
type Fatigue struct {
	Rows []Tired
	More int
	Why  string
}

// Push is a creative as a phone shows it. Its pictures are not stored: the service names only their addresses.
type Push struct {
	Message, Link  string
	Button, Second string // texts of the buttons
	Icon, Image    string // their IDs or addresses; empty: it has none
}

// Tired is one creative with its CTR over time.
type Tired struct {
	Push                                           Push
	Campaign, Creative                             Named
	State                                          string
	Age, CTR, Peak, Decline, Z, Impressions, Spend Number
	Beside                                         Number  // decline relative to the campaign's other creatives
	Siblings                                       bool    // the campaign had other creatives
	Together                                       bool    // its CTR fell as far as a tired one's, with the others'
	Days                                           []Point // recent CTR by day, oldest first
}

// Point is a value of a day.
type Point struct {
	Date  schema.Date
	Value Number
}

// Bids are bids against what a click cost.
type Bids struct {
	Rows      []Bid
	More      int
	Less      Number // bids that are to be lowered
	LessSpend Number // US dollars that their sources cost over the window
	Optimized Number // sources whose bid the service moves by itself
	Days      Number // known whole in the window
	Why       string
}

// Bid is the bid at one source of a campaign, and the cost of its clicks.
type Bid struct {
	Campaign                    Named
	Source                      string
	Origin                      string // whose bid holds now: source or campaign
	Bid, Now                    Number // mean over the window, weighted by clicks; now
	CPC, Ratio, BreakEven, Best Number // what a click cost, by the bid, is worth; the bid that is expected to earn most
	Clicks, Conversions, Spend  Number
	Advice                      string // service_bids, bid_less, keep, too_little_data, unknown
	Stale                       bool
	ReadAt                      time.Time
}

// Runway is how long the money lasts.
type Runway struct {
	AsOf                                    time.Time
	Balance, Stop, Warning                  Number
	Mean, Full                              Number // US dollars a day: own recent mean; all limits used up
	Expected                                Number // US dollars a day of the campaigns that are active now
	AutoFunded                              bool   // the service charges the card by itself
	Warns                                   bool   // the balance is below the one at which the service warns
	Do                                      string
	MeanDays                                Number // number of days in the mean
	DaysAtMean, DaysAtFull, ServiceDaysLeft Number
	StopsOn                                 schema.Null[schema.Date]
	Unlimited                               Number
	Why                                     string
}

// Restated is what the service changed of finished days.
type Restated struct {
	Ages    []string // headings of the columns: days since the day
	Days    []RestatedDay
	Changed int // days that were ever seen to change
	Why     string
	// SettledAge is the age in days from which numbers no longer change. FirstAge is the youngest
	// known age; FirstSpend and FirstConversions are the shares of the final numbers at that age,
	// and Followed is the number of days in those shares.
	SettledAge, FirstAge, FirstSpend, FirstConversions, Followed Number
	Factors                                                      []Factor // by age, youngest first
	Share                                                        Number   // of the final numbers that counts as settled
}

// Factor is what a day's conversions of an age are to be multiplied by.
type Factor struct {
	Age, Share, Times, Days Number // share of the final numbers; its inverse; number of days in it
}

// RestatedDay is one row of the heat map: a cell for each age.
type RestatedDay struct {
	Date  schema.Date
	Cells []RestatedCell
}

// RestatedCell is the change seen at an age: as a share of the earlier value, and in US dollars,
// conversions and rows.
type RestatedCell struct {
	Seen                                bool // a change was seen
	Unknown                             bool // not that old yet, or not read at that age
	Spend, Conversions                  Number
	SpendDelta, ConversionsDelta, Lines Number
}

// Timeline is who changed what, a lane for each campaign.
type Timeline struct {
	From, To schema.Date
	Lanes    []Lane
	More     int // campaigns with changes that have no lane
	Changes  []Change
	MoreRows int
	// Unconfirmed is the number of entities that the last sync could not read in full.
	Unconfirmed Number
	Why         string
}

// Lane is one campaign's line.
type Lane struct {
	Campaign Named
	Spans    []Span
	Marks    []Mark
}

// Mark is the set of changes of a campaign found by one read.
type Mark struct {
	SeenAt                    time.Time
	Bid, Limit, Status, Other bool
	Changes                   int
}

// Span is a stretch of days in one state. To is the last of them.
type Span struct {
	From, To schema.Date
	Status   string // empty: unknown
	Assumed  bool   // the settings were first seen later
}

// Change is one change of settings.
type Change struct {
	SeenAt    time.Time
	NotBefore time.Time // zero: unknown
	Campaign  Named
	Entity    string
	EntityID  string
	Kind      string // of the change: changed, first_seen, ...
	Columns   string
	Text      string // old and new values, if known
}

// Health is how the sync does.
type Health struct {
	Runs   []Run // oldest first
	More   int
	Checks []Check
	Passed int
	Why    string
}

// Run is one run of the sync.
type Run struct {
	ID, Command, Outcome, Message                             string
	Started                                                   time.Time
	Seconds                                                   Number
	ExitCode                                                  int
	Planned, Proven, Changed, Restated, Requests, Retries, Ms Number
}

// Check is one check of the data.
type Check struct {
	Name, Severity, Do string
	Passed             bool
	Known              bool
	Value, Threshold   Number
	Unit               string
}
