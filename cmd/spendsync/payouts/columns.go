package payouts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"

	"spendsync/cmd/internal/nearest"
)

// Variable declares the columns of a tracker's export.
const Variable = "SPENDSYNC_TRACKER_COLUMNS"

const (
	codes      = `eur|gbp|rub|uah|pln|inr|brl|cad|aud|jpy|cny|try|chf|sek|nok|dkk|czk|mxn|kzt|aed`
	currencies = `currency|валюта|währung|devise|moneda|valuta`
	inUSD      = "amounts are US dollars: export them in USD"
)

// column is one of our columns.
type column struct {
	name     string
	target   string         // column of the engine's view cells
	kind     string         // of its cells: text, count or money; or currency or flag, which may refuse the file
	required bool           // in a heading
	ours     *regexp.Regexp // headings that declare it without the variable, as [plain] returns them
}

func columnOf(name, target, kind string, required bool, ours string) column {
	return column{name, target, kind, required, regexp.MustCompile(`^(` + ours + `)$`)}
}

var (
	ofCurrency = columnOf("currency", "currency", "currency", false, `(.*_)?(`+currencies+`)(_code)?`)

	payoutColumns = []column{
		columnOf("from", "day", "text", true, `from|from_date`),
		columnOf("to", "until", "text", false, `to|to_date`),
		columnOf("campaign", "campaign", "text", false, `campaign|campaign_id`),
		columnOf("creative", "creative", "text", false, `creative|creative_id`),
		columnOf("source", "source", "text", false, `source|source_id`),
		columnOf("payout", "amount", "money", true, `payout`),
		ofCurrency,
	}
	exportColumns = []column{
		columnOf("day", "day", "text", true, `day|date|report_date`),
		columnOf("campaign", "campaign", "text", true, `campaign|campaign_id`),
		columnOf("source", "source", "text", true, `source|source_id`),
		columnOf("state", "state", "text", false, `state|status`),
		columnOf("clicks", "clicks", "count", false, `clicks|visits`),
		columnOf("conversions", "conversions", "count", false, `conversions`),
		columnOf("approved", "approved", "count", false, `approved|approved_conversions|confirmed`),
		columnOf("held", "held", "count", false, `held|hold|pending|pending_conversions`),
		columnOf("refused", "refused", "count", false, `refused|rejected|declined|(rejected|cancelled)_conversions`),
		columnOf("revenue", "amount", "money", false, `revenue|sale_revenue|approved_revenue`),
		ofCurrency,
		columnOf("incomplete", "cut", "flag", false,
			`(is_|has_)?(incomplete|truncated|partial|more)(_(results?|rows|data))?`),
	}
	// settings are declared beside the columns of an export; ours are their values.
	settings = []column{
		columnOf("encoding", "", "text", false, `[\w-]+`),
		columnOf("decimal", "", "text", false, `point|comma`),
		columnOf("dates", "", "text", false, `mm/dd/yyyy|dd/mm/yyyy`),
	}
	// ofState are headings that look like states of conversions.
	ofState = regexp.MustCompile(`^(approved?|confirmed|accepted|held|(on_)?hold|pending|refused|rejected|declined|` +
		`cancell?ed|trash|reversed|chargebacks?)(_(conversions|leads|sales))?$`)
	// ofRevenue are headings that look like revenue.
	ofRevenue = regexp.MustCompile(`^((.*_)?revenue(_.*)?|(total_)?(payouts?|earnings?|income|commissions?))$`)
	// inCurrency ends a heading that names its currency.
	inCurrency = regexp.MustCompile(`([\s_]*[(\[,]?\s*(us\$|[$€£¥₽₹₴])|[\s_(\[,]+(in[\s_]+)?(usd|` + codes + `))\s*[)\]]?$`)
	// foreign is another currency than US dollars in a text.
	foreign = regexp.MustCompile(`(?:^|[^a-z])(` + codes + `|(?:ca?|au?|nz|hk|s|r|mx)\$)(?:[^a-z]|$)|([€£¥₽₹₴])`)
	// aboveHeading is a line above the heading that names another currency.
	aboveHeading = regexp.MustCompile(`(?:^|\W)(?:` + currencies + `)\W{0,3}(` + codes + `)(?:\W|$)`)
	// anItem is an item NAME=HEADING. A heading with a comma is in double quotes, a quote in it is doubled.
	anItem = regexp.MustCompile(`^\s*(\w+)\s*=\s*(?:"((?:[^"]|"")*)"\s*|([^,"]*))(?:,|$)`)
)

// declaration is what SPENDSYNC_TRACKER_COLUMNS declares, by name: headings of an export, and the values of settings.
type declaration map[string][]string

// parseDeclaration reads the variable. Counts and revenue may be declared several times: their columns are added up.
func parseDeclaration(text string) (declaration, error) {
	d := declaration{}
	for text = strings.TrimSpace(text); text != ""; {
		is := anItem.FindStringSubmatch(text)
		if is == nil {
			return nil, fmt.Errorf(`%s: %s: not of the form NAME=HEADING; a heading with a comma is in double quotes, `+
				`for example revenue="Revenue, $"`, Variable, text)
		}
		text = text[len(is[0]):]
		name, value := strings.ToLower(is[1]), squash(strings.ReplaceAll(is[2], `""`, `"`)+is[3])
		of := func(c column) bool { return c.name == name }
		i, j := slices.IndexFunc(exportColumns, of), slices.IndexFunc(settings, of)
		_, unknown := htmlindex.Get(value)
		switch {
		case value == "" || i < 0 && (j < 0 || !settings[j].ours.MatchString(value)),
			name == "encoding" && unknown != nil:
			return nil, fmt.Errorf("%s: %s=%s: not one of %s, encoding=windows-1251, decimal=point, decimal=comma, "+
				"dates=MM/DD/YYYY, dates=DD/MM/YYYY with a heading", Variable, name, value, namesOf(exportColumns))
		case d[name] != nil && (i < 0 || exportColumns[i].kind == "text"):
			return nil, fmt.Errorf("%s: %s=%s: declared twice; only counts and revenue are added up", Variable, name,
				value)
		}
		d[name] = append(d[name], value)
	}
	return d, nil
}

// setting returns the value of a setting; empty: it is not declared.
func (d declaration) setting(name string) string { return strings.Join(d[name], "") }

func namesOf(columns []column) string {
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// squash returns a text in lower case, with single blanks between its words.
func squash(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(text, "\u00a0", " ")), " "))
}

// plain returns a heading as ours are written: without a currency, with _ between its words.
func plain(name string) string {
	return strings.ReplaceAll(inCurrency.ReplaceAllString(squash(name), ""), " ", "_")
}

// heading is a line that may be the heading of a table.
type heading struct {
	names    []string
	isExport bool
	columns  []column
	at       map[string][]int // our columns in names
	missing  []string         // what the line lacks to be the heading
	wrong    error            // what cannot be read as declared
}

// headingOf finds the declared columns in a line: those of payouts or, if it lacks one of them, of an export.
func (d declaration) headingOf(names []string) *heading {
	h := find(payoutColumns, names, nil)
	if export := find(exportColumns, names, d); len(h.missing) > 0 && len(export.at) >= len(h.at) {
		h, export.isExport = export, true
		if len(h.missing) == 0 && !h.has("clicks", "conversions", "approved", "revenue") {
			h.missing = []string{"one of clicks, conversions, approved and revenue"}
		}
	}
	if len(h.missing) == 0 && h.wrong == nil {
		h.check()
	}
	return h
}

// find finds columns in a line by the declared headings, or by ours if none is declared. Columns that may refuse the
// file are always found.
func find(columns []column, names []string, d declaration) *heading {
	h := &heading{columns: columns, names: slices.Clone(names), at: map[string][]int{}}
	isDeclared := slices.ContainsFunc(columns, func(c column) bool { return d[c.name] != nil })
	for _, c := range columns {
		want, isGuard := d[c.name], c.kind == "currency" || c.kind == "flag"
		var at []int
		for i, name := range names {
			if slices.Contains(want, squash(name)) || want == nil && (!isDeclared || isGuard) &&
				c.ours.MatchString(plain(name)) {
				at = append(at, i)
			}
		}
		switch several := len(at) > max(1, len(want)); {
		case len(at) < len(want) || len(at) == 0 && c.required:
			h.missing = append(h.missing, strings.TrimSuffix(c.name+"="+strings.Join(want, "+"), "="))
			continue
		case len(at) == 0 || several && want == nil && c.kind == "count" && c.name != "clicks": // see [ofState]
			continue
		case several && !isGuard:
			h.wrong = fmt.Errorf("%s may each be %s: leave one of them, or declare it in %s", h.list(at), c.name,
				Variable)
		}
		h.at[c.name] = at
	}
	return h
}

// check finds what is wrong with the columns together.
func (h *heading) check() {
	for i, name := range h.names {
		currency := ""
		if m := foreign.FindStringSubmatch(squash(name)); m != nil {
			currency = strings.ToUpper(m[1] + m[2])
		}
		isAmount := slices.Contains(h.at["revenue"], i) || slices.Contains(h.at["payout"], i)
		// A misspelled column would make a payout one of all campaigns.
		meant := nearest.Of(plain(name), []string{"campaign", "creative", "source"})
		switch {
		case isAmount && currency != "":
			h.wrong = fmt.Errorf("%q is in %s: %s", name, currency, inUSD)
		case !h.isExport && len(name) > 4 && len(meant) > 0 && !h.has(meant[0]):
			h.wrong = fmt.Errorf("the column %q is none of %s; did you mean %s?", name, namesOf(h.columns), meant[0])
		}
	}
	if h.has("state") && (!h.has("conversions") || h.has("approved", "held", "refused")) {
		h.wrong = fmt.Errorf("a state has a row or a column: %s goes with a column conversions that counts those of "+
			"the row's state, and with no column of one state", h.list(h.at["state"]))
	}
}

// list names columns.
func (h *heading) list(at []int) string {
	var names []string
	for _, i := range at {
		names = append(names, fmt.Sprintf("%q", h.names[i]))
	}
	return strings.Join(names, " and ")
}

// has reports whether one of our columns is there.
func (h *heading) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(h.at[name]) > 0 })
}

// declared returns our columns with their headings in the file, as the variable has them, and the columns that look
// like states of conversions and that nobody declared.
func (h *heading) declared() (items, undeclared []string) {
	isDeclared := map[int]bool{}
	for _, c := range h.columns {
		for _, i := range h.at[c.name] {
			isDeclared[i], items = true, append(items, item(c.name, h.names[i]))
		}
	}
	for i, name := range h.names {
		if h.isExport && !isDeclared[i] && (ofState.MatchString(plain(name)) ||
			!h.has("revenue") && ofRevenue.MatchString(plain(name))) {
			undeclared = append(undeclared, name)
		}
	}
	return items, undeclared
}

// item returns an item of the variable.
func item(name, heading string) string {
	if heading = strings.Join(strings.Fields(heading), " "); strings.ContainsAny(heading, `,"`) {
		heading = `"` + strings.ReplaceAll(heading, `"`, `""`) + `"`
	}
	return name + "=" + heading
}
