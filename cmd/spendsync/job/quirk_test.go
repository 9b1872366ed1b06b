package job_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"spendsync/extract/adsim"
)

// quirkCase is a variation of the service, and what two syncs make of it.
type quirkCase struct {
	quirk    string
	page     int      // rows asked for a page; 0: 20, so that a day has two
	exits    [2]int   // of the first and the second sync
	unknown  string   // what remains unknown, where they are not 0
	days     string   // states of days and totals after both; empty: allMatched
	numbers  string   // days whose stored rows are not the service's; empty: none
	settings string   // what is stored otherwise than the service holds it; empty: nothing
	says     []string // parts of what the first sync reports
}

// allMatched is every day of the reach proven, those that are over by their totals too.
const allMatched = "complete/matched 32, open/open 1"

// noDay is that nothing of the report is proven.
const noDay = "missing/unread 33"

// quirkCases says of a quirk what happens. The rule: what is wrong is refused as
// narrowly as it can be, nothing old is shown as current, and an exit code other than 0
// stands for something that is truly unknown.
var quirkCases = []quirkCase{
	// The report's own sums.
	{quirk: "totals-lack-source", unknown: "which of two sums is right",
		exits: [2]int{4, 4}, days: "complete/differs 32, open/open 1",
		says: []string{"report.day-total."}},
	{quirk: "totals-none", days: "complete/none 32, open/open 1"},

	// How the report writes numbers.
	{quirk: "spend-float"},
	{quirk: "numbers-text"},
	{quirk: "credit-negative-clicks", numbers: "other 33"},

	// They have a column, and conversions is unknown there: it is reported until three runs have seen it.
	{quirk: "source-empty"},
	{quirk: "source-date-missing"},

	// Columns, and the form of rows.
	// Whether there were none is not known.
	{quirk: "columns-lack-clicks", unknown: "whether there were none: it is said once",
		exits: [2]int{4, 0}, numbers: "other 33",
		says: []string{"the report gives no clicks"}},

	// Days.
	// A service that reaches less far back than the description states lacks nothing yet.
	{quirk: "reach-31", days: "complete/matched 31, open/open 1", numbers: "not stored 1"},
	{quirk: "day-empty", numbers: "not stored 1"},
	// An answer without rows is proven by its total of 0 rows alone.
	{quirk: "day-rows-missing", unknown: "whether the day had rows",
		exits: [2]int{4, 4}, days: "complete/matched 31, missing/unread 1, open/open 1",
		numbers: "not stored 1"},

	// Pages of the report.
	{quirk: "pagination-none", page: 10000},
	{quirk: "page-cap", page: 1000}, // the totals of all days fill two pages

	// Fields of a campaign.
	{quirk: "bid-renamed", unknown: "the bid",
		exits: [2]int{4, 4}, settings: "default_bid",
		says: []string{"default_bid missing from most"}},
	{quirk: "limit-null", settings: "daily_spend_limit"},
	{quirk: "status-other-words", exits: [2]int{4, 4}, unknown: "which of the known states the word stands for",
		settings: "status", says: []string{"RUNNING", "not a word that the description names"}},

	// Source settings.
	{quirk: "bids-missing", unknown: "the bids per source",
		exits: [2]int{4, 4}, settings: "rules",
		says: []string{"bid_overrides missing from most"}},

	// The three reads of the account.
	{quirk: "me-unreadable"}, // nothing is pinned; the log says so
	{quirk: "me-404"},        // as above
	{quirk: "limits-404", unknown: "the budgets",
		exits: [2]int{4, 4}},
	{quirk: "balance-renamed", unknown: "the balance",
		exits: [2]int{4, 4}, says: []string{"account: balance missing from most"}},
	{quirk: "auto-funding-off"},

	// IDs.
	{quirk: "ids-long"},
	// The campaigns of the report are none of those that the key lists: nothing is published, and the replies are kept.
	{quirk: "other-account", unknown: "whose numbers they are",
		exits: [2]int{3, 3}, days: noDay, numbers: "not stored 33", settings: "campaigns",
		says: []string{"belong to two accounts"}},

	// Lists and where they end.
	{quirk: "list-cap"},
	// Nothing is stored, and the key lists none of the report's campaigns.
	{quirk: "list-empty", unknown: "whether all campaigns are gone, or the report is another account's",
		exits: [2]int{3, 3}, days: noDay, numbers: "not stored 33", settings: "campaigns",
		says: []string{"the account that the API key acts on has 0 campaigns: "}},
	{quirk: "list-moves", unknown: "whether the list was whole",
		exits: [2]int{4, 4}, settings: "campaigns"},

	// Envelopes of the advertiser API.
	{quirk: "envelope-bare"},
	{quirk: "envelope-data"},
	{quirk: "list-two-arrays", unknown: "which array is the list: the message has the line that names it",
		exits: [2]int{6, 6}, days: noDay, numbers: "not stored 33", settings: "campaigns",
		says: []string{"lists.campaigns: entries, or others"}},
	{quirk: "no-route"},

	// Bodies of the report.
	// An error that asks to try again later is temporary at any status.
	{quirk: "report-error-200", unknown: "the report",
		exits: [2]int{5, 5}, days: noDay, numbers: "not stored 33",
		says: []string{`the reply says "The report is being prepared.`}},

	// New keys.
	{quirk: "keys-new"},

	// The wire.
	{quirk: "clock-none"},
	{quirk: "clock-day-ahead", unknown: "which day is open",
		exits: [2]int{2, 2}, days: noDay, numbers: "not stored 33", settings: "campaigns",
		says: []string{"this machine's clock is 48h0m0s behind the service's"}},
	{quirk: "bom"},
}

// isPlain reports whether a case gives the same result as the service without variations.
func (c quirkCase) isPlain() bool {
	return c.exits == [2]int{} && c.days == "" && c.numbers == "" && c.settings == ""
}

// and is two cases in one: what they show differs, see goesWith.
func (c quirkCase) and(other quirkCase) quirkCase {
	c.quirk += "+" + other.quirk
	c.exits = [2]int{max(c.exits[0], other.exits[0]), max(c.exits[1], other.exits[1])}
	c.days, c.numbers = cmp.Or(c.days, other.days), cmp.Or(c.numbers, other.numbers)
	c.settings = cmp.Or(c.settings, other.settings)
	c.page = max(c.page, other.page)
	c.says = append(slices.Clone(c.says), other.says...)
	return c
}

// maxQuirks is how many cases share an account at most.
const maxQuirks = 6

// accounts puts cases together that show different things, so that fewer syncs suffice.
func accounts(cases []quirkCase) (list []quirkCase) {
	var rest []quirkCase
	for _, plain := range []bool{false, true} {
		for _, c := range cases {
			if c.isPlain() == plain {
				rest = append(rest, c)
			}
		}
	}
	for len(rest) > 0 {
		together := []quirkCase{rest[0]}
		rest = slices.DeleteFunc(rest[1:], func(c quirkCase) bool {
			fits := len(together) < maxQuirks && !slices.ContainsFunc(together, func(other quirkCase) bool {
				return !c.goesWith(other)
			})
			if fits {
				together = append(together, c)
			}
			return fits
		})
		account := together[0]
		for _, c := range together[1:] {
			account = account.and(c)
		}
		list = append(list, account)
	}
	return list
}

// goesWith reports whether c shows in an account what it shows alone, with the other case there.
func (c quirkCase) goesWith(other quirkCase) bool {
	if c.hides(other) || other.hides(c) {
		return false
	}
	if !c.isPlain() && !other.isPlain() {
		return c.showsOnlyDays() && other.showsOnlySettings() || c.showsOnlySettings() && other.showsOnlyDays()
	}
	if isOfReport(c.quirk) != isOfReport(other.quirk) {
		return true
	}
	return c.isPlain() && other.isPlain() && kindOf(c.quirk) != kindOf(other.quirk)
}

// showsOnlyDays reports whether a case of the report shows in nothing but the stored days.
func (c quirkCase) showsOnlyDays() bool {
	return isOfReport(c.quirk) && c.settings == "" && c.exits == [2]int{}
}

// showsOnlySettings reports whether a case of the API shows in the settings and the exit codes.
func (c quirkCase) showsOnlySettings() bool {
	return !isOfReport(c.quirk) && c.days == "" && c.numbers == ""
}

// hides reports whether nothing is read in an account with c that would show the other case.
func (c quirkCase) hides(other quirkCase) bool {
	if isOfReport(other.quirk) {
		return c.days == noDay
	}
	return c.settings == "campaigns"
}

// kindOf is what a quirk changes, by the first word of its name: two of one kind would undo
// or change each other.
func kindOf(quirk string) string {
	switch kind, _, _ := strings.Cut(quirk, "-"); kind {
	case "totals", "spend", "numbers", "counts", "credit":
		return "numbers"
	case "envelope", "json", "list", "ids", "detail":
		return "listing"
	case "times", "end":
		return "times"
	case "page":
		return "pagination"
	case "sources", "bids", "mode", "optimized", "not":
		return "sources"
	case "limits", "me", "balance", "auto", "account":
		return "account"
	default:
		return kind
	}
}

// isOfReport reports whether a quirk is one of the report.
func isOfReport(name string) bool {
	return slices.ContainsFunc(adsim.Quirks(), func(q adsim.Quirk) bool { return q.Name == name && q.Report })
}

// TestQuirks_EachHasACase holds the table below to what the simulated service knows.
func TestQuirks_EachHasACase(t *testing.T) {
	cases := map[string]int{}
	for _, c := range quirkCases {
		cases[c.quirk]++
		if (c.exits == [2]int{}) != (c.unknown == "") {
			t.Errorf("%s ends in %d, and what is unknown then is %q", c.quirk, c.exits, c.unknown)
		}
	}
	// These prove nothing by themselves; TestByCampaign and cmd/spendsync have their cases.
	elsewhere := strings.Fields("pages-unordered today-restated total-with-spend")
	for _, q := range adsim.Quirks() {
		if cases[q.Name] != 1 && !slices.Contains(elsewhere, q.Name) {
			t.Errorf("%s has %d cases, want 1", q.Name, cases[q.Name])
		}
		delete(cases, q.Name)
	}
	for name := range cases {
		t.Errorf("%s is a case of a quirk that the service does not know", name)
	}
}

// TestQuirks_TwoSyncs runs two syncs under each quirk.
func TestQuirks_TwoSyncs(t *testing.T) {
	for i, c := range accounts(quirkCases) {
		if !tried(i) {
			continue
		}
		t.Run(c.quirk, func(t *testing.T) {
			t.Parallel()
			w := newQuirkWorld(t, strings.Split(c.quirk, "+")...)
			if c.page > 0 {
				w.page = c.page
			}
			first := w.sync()
			said := first.Run.Message.V + "\n" + w.log.String()
			second := w.sync()
			if got := [2]int{int(first.Run.ExitCode), int(second.Run.ExitCode)}; got != c.exits {
				t.Errorf("exits %d, want %d: %s\nthen %s", got, c.exits, first.Run.Message.V, second.Run.Message.V)
			}
			if got, want := days(second), cmp.Or(c.days, allMatched); got != want {
				t.Errorf("days: %s, want %s", got, want)
			}
			if got := w.numbers(); got != c.numbers {
				t.Errorf("days with other numbers: %q, want %q", got, c.numbers)
			}
			if got := w.settings(); got != c.settings {
				t.Errorf("other settings: %q, want %q", got, c.settings)
			}
			for _, part := range c.says {
				if !strings.Contains(said, part) {
					t.Errorf("it does not say %q: %s", part, said)
				}
			}
		})
	}
}
