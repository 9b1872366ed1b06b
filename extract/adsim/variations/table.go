package variations

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"spendsync/extract/adsim/jsontext"
)

//go:embed table.txt
var table string

// behaviors are the variations that take more than a form, by name.
type behaviors = map[string]Quirk

// catalogue lists all quirks, in the order in which they apply.
var catalogue = sync.OnceValue(func() []*Quirk {
	var list []*Quirk
	var where string
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		left, right, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(left, "= "):
			where = left[2:]
		case left[0] == '\t':
			q := list[len(list)-1]
			if c := changeOf(strings.Fields(left), right); q.change == nil {
				q.change = c
			} else {
				q.change = all(q.change, c)
			}
		default:
			q := behavior(left)
			q.Name, q.Doc, q.Report, q.API = left, right, where != "API", where != "report"
			list = append(list, &q)
		}
	}
	return list
})

var groups = []behaviors{
	totalQuirks, numberQuirks, nameQuirks, rowQuirks, columnQuirks, dayQuirks, pageQuirks, fieldQuirks, timeQuirks,
	audienceQuirks, creativeQuirks, sourceQuirks, accountQuirks, idQuirks, listQuirks, envelopeQuirks, reportBodyQuirks,
	bothQuirks, wireQuirks, moodQuirks,
}

// behavior returns the functions of a variation; it has none if forms describe it.
func behavior(name string) Quirk {
	for _, of := range groups {
		if q, ok := of[name]; ok {
			return q
		}
	}
	return Quirk{}
}

// places are the kinds of replies that the table names. In the report, the members of a place are those of its rows,
// in the API those of its entities.
var places = map[string][]place{
	"days": ofDays, "totals": ofTotals, "texts": ofTexts, "rows": ofRows, "report": ofReport, "body": ofReport,
	"campaigns": ofCampaigns, "campaign": {atCampaign}, "campaign-list": {atCampaigns}, "creatives": ofCreatives,
	"entities": ofBoth, "sources": ofSources, "me": ofMe, "limits": ofLimits, "balance": ofBalance,
}

// changeOf is the change of a line of the table: a place, the keys of its members, and their form. It panics if the
// table is wrong.
func changeOf(place []string, how string) change {
	verb, arg, _ := strings.Cut(how, " ")
	keys := strings.Join(place[1:], " ")
	switch place[0] {
	case "times":
		return formatted(arg, map[string]*time.Location{"utc": time.UTC, "winter": chicagoWinter}[verb])
	case "deep": // at any depth of a reply of the API
		return deep(keys, formOf(verb, arg))
	case "paid":
		return onePaid(keys, formOf(verb, arg))
	case "pagination":
		return pagination(func(g, _ *node) { formOf(verb, arg)(g, keys) })
	}
	of, ok := places[place[0]]
	switch f := formOf(verb, arg); {
	case !ok:
		panic("variations: unknown place " + place[0])
	case keys == "":
		return inPlaces(of, func(_ *exchange, body *node) *node {
			around := with("", body)
			f(around, "")
			return around.Get("")
		})
	case place[0] == "body":
		return body(of, func(body *node) { f(body, keys) })
	default:
		return in(of, keys, f)
	}
}

// formOf returns a form of the table by its verb and its argument.
func formOf(verb, arg string) form {
	switch verb {
	case "drop":
		return drop
	case "null": // "put null" adds missing members, too
		return value(func(*node) *node { return leaf("null") })
	case "put":
		return put(arg)
	case "rename":
		return renamed(arg)
	case "text":
		return value(quoted)
	case "number":
		return asID
	case "upper":
		return words(strings.ToUpper)
	case "lower":
		return words(strings.ToLower)
	case "words": // FROM=TO ...
		return words(func(s string) string {
			for pair := range strings.FieldsSeq(arg) {
				if from, to, _ := strings.Cut(pair, "="); from == s {
					return to
				}
			}
			return ""
		})
	case "tail":
		return tail(arg)
	case "json": // with VALUE for the value, and TEXT for it without quotes
		return value(func(v *node) *node {
			raw := string(v.Append(nil))
			return parsed(strings.NewReplacer("VALUE", raw, "TEXT", strings.Trim(raw, `"`)).Replace(arg))
		})
	case "decimals":
		n, err := strconv.Atoi(arg)
		if err != nil {
			panic(err)
		}
		return fixed(n)
	case "two-digits":
		return raw(twoDigits)
	case "noise":
		return noisy
	case "if-null":
		verb, arg, _ := strings.Cut(arg, " ")
		return ifNull(formOf(verb, arg))
	}
	panic(fmt.Sprintf("variations: unknown form %q", verb))
}

// parsed is a JSON text as a value.
func parsed(raw string) *node {
	if n, ok := jsontext.ParseTree([]byte(raw)); ok {
		return n
	}
	return leaf(raw)
}
