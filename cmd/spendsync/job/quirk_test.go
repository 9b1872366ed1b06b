package job

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// quirkCase is a variation of the service, and the expected results of two syncs.
type quirkCase struct {
	quirk    string
	page     int      // requested rows per page; 0: 20, so that a day has two pages
	exits    [2]int   // exit codes of the first and the second sync
	unknown  string   // what remains unknown, if the exit codes are not 0
	days     string   // states of days and totals after both syncs; empty: allMatched
	numbers  string   // number of days whose stored rows differ from the service's; empty: none
	settings string   // stored settings that differ from the service's; empty: none
	says     []string // parts of what the first sync reports
}

// allMatched means that every day of the reach is proven, and that the totals of all finished days match.
const allMatched = "complete/matched 32, open/open 1"

// noDay means that no day of the report is proven.
const noDay = "missing/unread 33"

// quirkCases has a case for each quirk. The rules: the smallest wrong unit is refused, old data is never shown as
// current, and an exit code other than 0 means that something is really unknown.
var quirkCases = []quirkCase{
	// Control totals of the report.
	{quirk: "totals-lack-source", unknown: "which of two sums is right",
		exits: [2]int{4, 4}, days: "complete/differs 32, open/open 1",
		says: []string{"report.day-total."}},
	{quirk: "totals-none", days: "complete/none 32, open/open 1"},

	// How the report writes numbers.
	{quirk: "spend-float"},
	{quirk: "numbers-text"},
	{quirk: "credit-negative-clicks", numbers: "other 33"},

	// Missing values of a row.
	{quirk: "source-empty"},
	{quirk: "source-date-missing"},

	// Columns, and the form of rows.
	{quirk: "columns-lack-clicks", unknown: "the report, until a line says that there is no such column",
		exits: [2]int{6, 6}, days: noDay, numbers: "not stored 33",
		says: []string{"the columns lack clicks; a column that the service does not have is left out by the line"}},

	// Days. If the service reaches less far back than the description states, no day is missing yet.
	{quirk: "reach-31", days: "complete/matched 31, open/open 1", numbers: "not stored 1"},
	{quirk: "day-empty", numbers: "not stored 1"},
	// An answer without rows does not prove by itself that the day has none.
	{quirk: "day-rows-missing", unknown: "whether the day had rows",
		exits: [2]int{4, 4}, days: "complete/matched 31, missing/unread 1, open/open 1",
		numbers: "not stored 1"},

	// Pages of the report.
	{quirk: "pagination-none", page: 10000},
	{quirk: "page-cap", page: 1000}, // the control totals of all days fill two pages

	// Fields of a campaign.
	{quirk: "bid-renamed", unknown: "the bid",
		exits: [2]int{4, 4}, settings: "default_bid",
		says: []string{"default_bid missing or not usable in most"}},
	{quirk: "limit-null", settings: "daily_spend_limit"},
	{quirk: "status-other-words", exits: [2]int{4, 4}, unknown: "which of the known states the word stands for",
		settings: "status", says: []string{"not a word that the description names"}},

	// Source settings.
	{quirk: "bids-missing", unknown: "the bids per source",
		exits: [2]int{4, 4}, settings: "rules",
		says: []string{"bid_overrides missing or not usable in most"}},

	// The three reads of the account.
	{quirk: "me-unreadable"}, // no account is pinned; the log reports that
	{quirk: "me-404"},        // no account is pinned; the log reports that, too
	{quirk: "limits-404", unknown: "the budgets",
		exits: [2]int{4, 4}},
	{quirk: "balance-renamed", unknown: "the balance",
		exits: [2]int{4, 4}, says: []string{"account: balance missing or not usable in most"}},
	{quirk: "auto-funding-off"},

	// IDs.
	{quirk: "ids-long"},
	// The key lists none of the report's campaigns, so nothing is published, and the replies are kept.
	{quirk: "other-account", unknown: "whose numbers they are",
		exits: [2]int{3, 3}, days: noDay, numbers: "not stored 33", settings: "campaigns",
		says: []string{"belong to two accounts"}},

	// Lists and where they end.
	{quirk: "list-cap"},
	// Nothing is stored, and the key lists no campaign.
	{quirk: "list-empty", unknown: "whether all campaigns are gone, or the report is another account's",
		exits: [2]int{6, 6}, days: noDay, numbers: "not stored 33", settings: "campaigns",
		says: []string{"the campaigns of the API key: the list is empty, and the report has rows of "}},
	{quirk: "list-short"},
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

// TestQuirks_EachHasACase checks that quirkCases has a case for each quirk of the simulated service.
func TestQuirks_EachHasACase(t *testing.T) {
	cases := map[string]int{}
	for _, c := range quirkCases {
		cases[c.quirk]++
		if (c.exits == [2]int{}) != (c.unknown == "") {
			t.Errorf("%s ends in %d, and what is unknown then is %q", c.quirk, c.exits, c.unknown)
		}
	}
	// These quirks need more than two syncs; TestByCampaign and cmd/spendsync test them.
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
	for _, c := range quirkCases {
		if !schematest.Drawn(c.quirk, 12) {
			continue
		}
		t.Run(c.quirk, func(t *testing.T) {
			w := newQuirkWorld(t, c.quirk)
			if c.page > 0 {
				w.job.Plan.PageSize = c.page
			}
			first := w.ran()
			said := first.Run.Message.V + "\n" + w.log.String()
			second := w.ran()
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
