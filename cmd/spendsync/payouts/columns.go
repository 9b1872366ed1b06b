package payouts

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"

	"spendsync/cmd/internal/cli"
)

// Variable declares the columns of a tracker's export.
const Variable = "SPENDSYNC_TRACKER_COLUMNS"

// columnsCSV has our columns in files of payouts and in exports, with the headings that declare them without the
// variable, as [plain] returns them; and what is declared beside those of an export, with its values. A column of the
// kind currency or flag may refuse the file.
//
//go:embed columns.csv
var columnsCSV string

// column is one of our columns.
type column struct {
	name, target, kind string // target is the column of the engine's view cells
	required           bool   // in a heading
	ours               *regexp.Regexp
}

func columnsOf(of string) (columns []column) {
	for _, line := range linesOf(columnsCSV) {
		if line[0] == of {
			columns = append(columns, column{line[1], line[2], line[3], line[4] != "",
				regexp.MustCompile("^(" + line[5] + ")$")})
		}
	}
	return columns
}

// linesOf returns the lines of data of ours behind their heading.
func linesOf(text string) [][]string {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		panic(err)
	}
	return lines[1:]
}

const codes = `eur|gbp|rub|uah|pln|inr|brl|cad|aud|jpy|cny|try|chf|sek|nok|dkk|czk|mxn|kzt|aed`

var (
	payoutColumns, exportColumns, settings = columnsOf("payouts"), columnsOf("export"), columnsOf("setting")

	// ofState are headings that look like states of conversions.
	ofState = regexp.MustCompile(`^(approved?|confirmed|accepted|held|(on_)?hold|pending|refused|rejected|declined|` +
		`cancell?ed|trash|reversed|chargebacks?)(_(conversions|leads|sales))?$`)
	// ofRevenue are headings that look like revenue.
	ofRevenue = regexp.MustCompile(`^((.*_)?revenue(_.*)?|(total_)?(payouts?|earnings?|income|commissions?))$`)
	// inCurrency ends a heading that names its currency.
	inCurrency = regexp.MustCompile(`([\s_]*[(\[,]?\s*(us\$|[$€£¥₽₹₴])|` +
		`[\s_(\[,]+(in[\s_]+)?(usd|` + codes + `))\s*[)\]]?$`)
	// foreign is another currency than US dollars in a text.
	foreign = regexp.MustCompile(`(?:^|[^a-z])(` + codes + `|(?:ca?|au?|nz|hk|s|r|mx)\$)(?:[^a-z]|$)|([€£¥₽₹₴])`)
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
	return strings.ReplaceAll(strings.TrimRight(inCurrency.ReplaceAllString(squash(name), ""), ":"), " ", "_")
}

// inUSD refuses what is in another currency; nil: it names none.
func inUSD(what, text string) error {
	if m := foreign.FindStringSubmatch(squash(text)); m != nil {
		return fmt.Errorf("%s is in %s: amounts are US dollars: export them in USD", what, strings.ToUpper(m[1]+m[2]))
	}
	return nil
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
			if slices.Contains(want, squash(name)) ||
				want == nil && (isGuard || !isDeclared) && c.ours.MatchString(plain(name)) {
				at = append(at, i)
			}
		}
		switch {
		case len(at) < len(want) || at == nil && c.required:
			h.missing = append(h.missing, strings.TrimSuffix(c.name+"="+strings.Join(want, "+"), "="))
			continue
		case len(at) > max(1, len(want)) && !isGuard:
			h.wrong = fmt.Errorf("%s may each be %s: leave one of them, or declare it in %s", h.list(at), c.name,
				Variable)
		}
		if at != nil {
			h.at[c.name] = at
		}
	}
	return h
}

// check finds what is wrong with the columns together.
func (h *heading) check() {
	for _, name := range h.names {
		// A misspelled column would make a payout one of all campaigns.
		meant := cli.Nearest(plain(name), []string{"campaign", "creative", "source"})
		if !h.isExport && len(name) > 4 && len(meant) > 0 && !h.has(meant[0]) {
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
		names = append(names, `"`+strings.Join(strings.Fields(h.names[i]), " ")+`"`)
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
