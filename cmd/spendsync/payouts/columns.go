package payouts

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

// Variable is the environment variable that declares the columns of a tracker's export.
const Variable = "SPENDSYNC_TRACKER_COLUMNS"

var (
	// anItem matches one item NAME=HEADING of the variable. A heading with a comma must be in double quotes; a quote
	// within it is doubled.
	anItem = regexp.MustCompile(`^\s*(\w+)\s*=\s*(?:"((?:[^"]|"")*)"\s*|([^,"]*))(?:,|$)`)
	// settings has the items that declare how a file is read. Each item has a pattern of its possible values. All other
	// items declare a column.
	settings = map[string]*regexp.Regexp{"encoding": regexp.MustCompile(`^[\w-]+$`),
		"decimal": regexp.MustCompile(`^(point|comma)$`), "dates": regexp.MustCompile(`^(mm/dd|dd/mm)/yyyy$`)}
)

// declaration has the items of SPENDSYNC_TRACKER_COLUMNS. The key of an item is one of our columns or a setting, for
// example decimal. The value is the list of the export's headings for this column, or the value of the setting.
type declaration map[string][]string

// parseDeclaration parses SPENDSYNC_TRACKER_COLUMNS. Only counts and revenue may be declared several times: their
// columns are added up.
func parseDeclaration(text string) (declaration, error) {
	kinds, names := map[string]string{}, []string(nil) // the columns of an export
	ours, _ := csv.NewReader(strings.NewReader(embedded("columns.csv"))).ReadAll()
	for _, line := range ours {
		if line[0] == "export" {
			kinds[line[1]], names = line[3], append(names, line[1])
		}
	}
	d := declaration{}
	for text = strings.TrimSpace(text); text != ""; {
		is := anItem.FindStringSubmatch(text)
		if is == nil {
			return nil, fmt.Errorf(`%s: %s: not of the form NAME=HEADING; a heading with a comma is in double quotes, `+
				`for example revenue="Revenue, $"`, Variable, text)
		}
		text = text[len(is[0]):]
		item := strings.TrimSpace(strings.TrimSuffix(is[0], ","))
		name, value := strings.ToLower(is[1]), squash(strings.ReplaceAll(is[2], `""`, `"`)+is[3])
		allowed := settings[name]
		_, unknown := htmlindex.Get(value)
		switch {
		case value == "" || kinds[name] == "" && (allowed == nil || !allowed.MatchString(value)),
			name == "encoding" && unknown != nil:
			return nil, fmt.Errorf("%s: %s: not one of %s, encoding=windows-1251, decimal=point, decimal=comma, "+
				"dates=MM/DD/YYYY, dates=DD/MM/YYYY with a heading", Variable, item, strings.Join(names, ", "))
		case d[name] != nil && (allowed != nil || kinds[name] == "text"):
			return nil, fmt.Errorf("%s: %s: declared twice; only counts and revenue are added up", Variable, item)
		}
		d[name] = append(d[name], value)
	}
	return d, nil
}

// setting returns the value of a setting, or "" if the setting is not declared.
func (d declaration) setting(name string) string { return strings.Join(d[name], "") }

// squash returns a text in lower case, with exactly one blank between its words.
func squash(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(text, "\u00a0", " ")), " "))
}
