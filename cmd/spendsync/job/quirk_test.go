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
	days     string   // states of days and totals after both; empty: allMatched
	numbers  string   // days whose stored rows are not the service's; empty: none
	settings string   // what is stored otherwise than the service holds it; empty: nothing
	says     []string // parts of what the first sync reports
}

// allMatched is every day of the reach proven, those that are over by their totals too.
const allMatched = "complete/matched 32, open/open 1"

// quirkCases says of a quirk what happens. The rule: what is wrong is refused as
// narrowly as it can be, nothing old is shown as current, and an exit code other than 0
// stands for something that is truly unknown.
var quirkCases = []quirkCase{
	// The report's own sums.
	{quirk: "totals-float"},
	{quirk: "totals-lack-source", exits: [2]int{4, 4}, days: "complete/differs 32, open/open 1",
		says: []string{"the service's own total"}},
	{quirk: "totals-per-campaign", days: "complete/none 32, open/open 1"},
	{quirk: "totals-none", days: "complete/none 32, open/open 1"},
	{quirk: "totals-empty", days: "complete/none 32, open/open 1"},
	{quirk: "totals-no-date", days: "complete/none 32, open/open 1"},
	{quirk: "totals-no-clicks", days: "complete/none 32, open/open 1"},
	{quirk: "totals-fail", exits: [2]int{4, 4}, days: "complete/unknown 32, open/open 1",
		says: []string{"Internal server error"}},

	// How the report writes numbers.
	{quirk: "spend-two-digits"},
	{quirk: "spend-float"},
	{quirk: "spend-exponent"},
	{quirk: "numbers-text"},
	{quirk: "spend-text"},
	{quirk: "counts-float"},
	{quirk: "credit-negative-clicks", numbers: "other 33"},
	{quirk: "counts-null", numbers: "other 33"},

	// Names and other texts never stop a number.
	{quirk: "name-surrogate", settings: "name"},
	{quirk: "name-nul", settings: "name"},
	{quirk: "name-control", settings: "name"},
	{quirk: "name-long", settings: "name"},
	{quirk: "title-surrogate", settings: "message title"},
	{quirk: "title-nul", settings: "title"},
	{quirk: "name-number", settings: "name"},
	{quirk: "names-two"},
	{quirk: "name-null"},

	// What else a row says.
	{quirk: "row-without-campaign"},
	{quirk: "row-without-creative"},
	// A row that cannot be stored costs itself: its day is partial, and it is kept aside.
	{quirk: "row-spend-null", exits: [2]int{4, 4}, days: "open/unknown 1, partial/unknown 32",
		numbers: "other 33", says: []string{"cannot be stored, see ops.refused_row"}},
	{quirk: "row-spend-object", exits: [2]int{4, 4}, days: "open/unknown 1, partial/unknown 32",
		numbers: "other 33", says: []string{"cannot be stored, see ops.refused_row"}},
	{quirk: "conversions-fractional", exits: [2]int{4, 4}, days: "open/unknown 1, partial/unknown 32",
		numbers: "other 33", says: []string{"cannot be stored, see ops.refused_row"}},
	{quirk: "source-missing"},
	{quirk: "source-empty"},
	{quirk: "source-date-missing"},
	{quirk: "rows-unsorted"},

	// Columns, and the form of rows.
	{quirk: "columns-more"},
	{quirk: "columns-order"},

	// Days.
	{quirk: "date-datetime"},
	{quirk: "date-midnight"},
	{quirk: "day-empty", numbers: "not stored 1"},
	{quirk: "day-rows-missing", exits: [2]int{4, 4}, days: "complete/matched 31, missing/unread 1, open/open 1",
		numbers: "not stored 1"},
	{quirk: "day-empty-204", exits: [2]int{4, 4}, days: "complete/matched 31, missing/unread 1, open/open 1",
		numbers: "not stored 1"},
	{quirk: "day-empty-404", exits: [2]int{4, 4}, days: "complete/matched 31, missing/unread 1, open/open 1",
		numbers: "not stored 1"},
	{quirk: "today-none", numbers: "not stored 1"},
	{quirk: "range-one-day", exits: [2]int{4, 4}, days: "complete/none 32, open/open 1"},

	// Pages of the report.
	{quirk: "pagination-none", page: 10000},
	{quirk: "pagination-null", page: 10000},
	{quirk: "pagination-text"},
	{quirk: "pagination-more"},
	{quirk: "pagination-one-page"},

	// Fields of a campaign.
	{quirk: "bids-text"},
	{quirk: "delivery-null"},
	{quirk: "delivery-missing"},
	{quirk: "limit-missing", exits: [2]int{4, 4}, settings: "daily_spend_limit"},
	{quirk: "link-missing", exits: [2]int{4, 4}, settings: "link"},
	{quirk: "icon-object"},
	{quirk: "buttons-list"},
	{quirk: "buttons-object"},
	{quirk: "audience-nested"},
	{quirk: "audience-country-list"},
	{quirk: "audience-lists-text"},
	{quirk: "audience-missing", exits: [2]int{4, 4}, settings: "audience"},
	{quirk: "audience-null", settings: "audience"},
	{quirk: "end-date-zero"},
	{quirk: "end-date-empty"},
	{quirk: "times-words", exits: [2]int{4, 4}, settings: "end_at start_at"},
	{quirk: "times-object"},
	{quirk: "times-epoch-text"},
	{quirk: "times-epoch-millis"},
	{quirk: "times-epoch"},
	{quirk: "times-offset"},
	{quirk: "times-blank"},
	{quirk: "times-no-zone", exits: [2]int{4, 4}, settings: "end_at start_at", says: []string{"a time without a zone"}},
	{quirk: "status-object"},
	{quirk: "bid-renamed", exits: [2]int{4, 4}, settings: "default_bid",
		says: []string{"default_bid missing from most"}},
	{quirk: "bids-words", exits: [2]int{4, 4}, settings: "daily_spend_limit default_bid target_cpa",
		says: []string{"not understood"}},
	{quirk: "bids-object"},
	{quirk: "limit-null", settings: "daily_spend_limit"},
	{quirk: "camel-keys"},
	{quirk: "status-uppercase"},
	{quirk: "status-other-words", settings: "status"},
	{quirk: "detail-sparse"},
	{quirk: "list-sparse"},
	{quirk: "keys-flicker"},

	// Times.
	{quirk: "times-millis"},
	{quirk: "end-date-missing"},

	// The audience.
	{quirk: "audience-nulls"},
	{quirk: "audience-numbers-text"},
	{quirk: "audience-flag-outside"},

	// Creatives.
	{quirk: "reasons-objects"},
	{quirk: "reasons-text"},
	{quirk: "reasons-null"},
	{quirk: "pending-version"},

	// Source settings.
	{quirk: "sources-objects"},
	{quirk: "sources-one-list"},
	{quirk: "sources-null"},
	{quirk: "sources-numbers", exits: [2]int{4, 4}, settings: "rules"},
	{quirk: "optimized-sources"},
	{quirk: "not-enforced-sources"},
	{quirk: "mode-words"},

	// The three reads of the account.
	{quirk: "me-unreadable"}, // nothing is pinned; the log says so
	{quirk: "me-number"},
	{quirk: "me-nested"},
	{quirk: "me-404", exits: [2]int{4, 4}},
	{quirk: "me-scope-missing"},
	{quirk: "limits-unreadable", exits: [2]int{4, 4}},
	{quirk: "limits-flat", exits: [2]int{4, 4}},
	{quirk: "limits-remaining"},
	{quirk: "limits-empty"},
	{quirk: "limits-404", exits: [2]int{4, 4}},
	{quirk: "balance-nested"},
	{quirk: "balance-no-auto-funding"},
	{quirk: "auto-funding-flat"},
	{quirk: "auto-funding-off"},
	{quirk: "account-notice"},
	{quirk: "no-expiry-header"},

	// IDs.
	{quirk: "ids-long"},
	{quirk: "ids-both"},
	{quirk: "ids-number-beside"},
	{quirk: "ids-number", exits: [2]int{4, 4}, settings: "campaigns"},
	{quirk: "ids-uuid", exits: [2]int{4, 4}, settings: "campaigns"},

	// Lists and where they end.
	{quirk: "list-no-totals"},
	{quirk: "list-cap"},
	{quirk: "list-has-more"},
	{quirk: "list-next-offset"},
	{quirk: "list-cursor", exits: [2]int{4, 4}, settings: "campaigns"},
	{quirk: "list-total-text"},
	{quirk: "list-total-header"},
	{quirk: "list-cap-total"},
	{quirk: "list-meta-total"},
	{quirk: "list-total-more", exits: [2]int{4, 4}},
	{quirk: "list-shifts"},
	{quirk: "list-moves", exits: [2]int{4, 4}, settings: "campaigns"},
	{quirk: "list-ids"},
	{quirk: "list-map", exits: [2]int{4, 4}, settings: "campaigns"},

	// Envelopes of the advertiser API.
	{quirk: "envelope-bare"},
	{quirk: "envelope-data"},
	{quirk: "envelope-items"},
	{quirk: "envelope-results"},
	{quirk: "envelope-own-name"},
	{quirk: "envelope-nested"},
	{quirk: "envelope-result"},
	{quirk: "envelope-success"},
	{quirk: "envelope-edges"},
	{quirk: "json-api"},

	// Bodies of the report.
	{quirk: "report-success"},
	{quirk: "report-data-null"},

	// New keys, and secrets that are repeated.
	{quirk: "keys-new"},
	{quirk: "secret-in-error", exits: [2]int{4, 4}, days: "complete/none 32, open/open 1"},

	// The wire.
	{quirk: "clock-ahead"},
	{quirk: "clock-behind"},
	{quirk: "clock-none"},
	{quirk: "clock-words"},
	{quirk: "ascii"},
	{quirk: "slashes-escaped"},
	{quirk: "keys-escaped"},
	{quirk: "pretty"},
	{quirk: "type-plain"},
	{quirk: "type-html"},
	{quirk: "type-none"},
	{quirk: "chunked"},
	{quirk: "etag"},
	{quirk: "clock-day-behind", exits: [2]int{2, 2}, days: "missing/unread 33", numbers: "not stored 33",
		settings: "campaigns"},
}

// isPlain says whether nothing shows that a case differs from the service as it is.
func (c quirkCase) isPlain() bool {
	return c.exits == [2]int{} && c.days == "" && c.numbers == "" && c.settings == ""
}

// and is two cases in one: one of them is plain.
func (c quirkCase) and(other quirkCase) quirkCase {
	c.quirk += "+" + other.quirk
	if c.isPlain() {
		c.exits, c.days, c.numbers, c.settings = other.exits, other.days, other.numbers, other.settings
	}
	c.page = max(c.page, other.page)
	c.says = append(slices.Clone(c.says), other.says...)
	return c
}

// paired puts a case of the report and one of the advertiser API into one account where
// one of the two is plain: they have nothing to do with each other, and half as many
// syncs suffice.
func paired(cases []quirkCase) (list []quirkCase) {
	var ofAPI []quirkCase
	for _, c := range cases {
		if i := slices.IndexFunc(adsim.Quirks(), func(q adsim.Quirk) bool {
			return q.Name == c.quirk
		}); !adsim.Quirks()[i].Report {
			ofAPI = append(ofAPI, c)
		} else {
			list = append(list, c)
		}
	}
	for i := range list {
		if at := slices.IndexFunc(ofAPI, func(c quirkCase) bool { return c.isPlain() || list[i].isPlain() }); at >= 0 {
			list[i] = list[i].and(ofAPI[at])
			ofAPI = slices.Delete(ofAPI, at, at+1)
		}
	}
	return append(list, ofAPI...)
}

// TestQuirks_TwoSyncs runs two syncs under each quirk.
func TestQuirks_TwoSyncs(t *testing.T) {
	for i, c := range paired(quirkCases) {
		if testing.Short() && i%4 > 0 {
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
