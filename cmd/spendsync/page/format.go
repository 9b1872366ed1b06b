package page

import (
	"fmt"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"spendsync/cmd/internal/cli"
	"spendsync/schema"
)

// nameLength is the maximum number of characters of a name. Longer names are cut.
const nameLength = 60

// plain prepares a text of the account for the page: one line of at most n characters, with invisible characters
// escaped.
func plain(s string, n int) string {
	shown := []rune(cli.Visible(cli.OneLine(s)))
	if len(shown) > n {
		return string(shown[:n]) + "…"
	}
	return string(shown)
}

// unknown is the text for a time or value that is not known.
const unknown = "unknown"

// numbers lists the column formats that show numbers.
var numbers = []string{"money", "price", "count", "percent", "change", "points", "times", "number", "days"}

// parse parses a number from a query result. Numbers with more than six decimals are rounded to 12 digits, because
// DuckDB adds doubles in no fixed order, so that their last digits vary.
func parse(s schema.Null[string]) (v float64, digits string, ok bool) {
	v, err := strconv.ParseFloat(s.V, 64)
	if !s.Valid || err != nil || v != v || v-v != 0 {
		return 0, "", false
	}
	if _, decimals, _ := strings.Cut(s.V, "."); len(decimals) <= 6 && !strings.ContainsAny(s.V, "eE") {
		return v, s.V, true
	}
	digits = strconv.FormatFloat(v, 'g', 12, 64)
	return v, digits, true
}

// show formats a cell as HTML. For a number, the HTML attribute "value" has all digits, for programs.
func show(format string, value schema.Null[string]) template.HTML {
	v, digits, ok := parse(value)
	text := ""
	switch format {
	case "text":
		text = isoDay.ReplaceAllStringFunc(plain(value.V, 300), dayOf)
	case "ids": // never cut, because readers copy the IDs
		return template.HTML("<code>" + template.HTMLEscapeString(plain(value.V, math.MaxInt)) + "</code>")
	case "time":
		text = instant(value.V)
	case "chip":
		if !value.Valid {
			return ""
		}
		return template.HTML(`<span class="chip c-` + template.HTMLEscapeString(word(value.V)) + `">` +
			template.HTMLEscapeString(plain(strings.ReplaceAll(value.V, "_", " "), nameLength)) + `</span>`)
	case "money", "price", "count", "percent", "change", "points", "times", "number", "days":
		if !ok {
			return `<span class="u" title="unknown">–</span>`
		}
		return template.HTML(`<data value="` + template.HTMLEscapeString(digits) + `">` +
			template.HTMLEscapeString(spell(format, v)) + `</data>`)
	default:
		if text = plain(value.V, nameLength); text == "" {
			text = "–"
		}
	}
	return template.HTML(`<bdi>` + template.HTMLEscapeString(text) + `</bdi>`)
}

// word turns a verdict into a part of a CSS class: each character that is not from a to z becomes a hyphen.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, s[:min(len(s), 40)])
}

// spell formats a number.
func spell(format string, v float64) string {
	minus := ""
	if v < 0 {
		minus = "−"
	}
	a := math.Abs(v)
	switch format {
	case "money", "price":
		switch {
		case a >= 1000:
			return minus + "$" + grouped(a, 0)
		case a != 0 && a < 0.005:
			return minus + "$" + trimmed(fmt.Sprintf("%.6f", a))
		case format == "price" && a < 10:
			return minus + "$" + fmt.Sprintf("%.3f", a)
		}
		return minus + "$" + grouped(a, 2)
	case "change", "points":
		p := a * 100
		return map[bool]string{true: "+", false: minus}[v > 0] + grouped(p, map[bool]int{true: 1}[p < 9.95]) +
			map[bool]string{true: " %", false: " points"}[format == "change"]
	case "percent":
		return minus + percent(a*100)
	case "times":
		return fmt.Sprintf("%.2f×", v)
	case "days":
		return minus + trimmed(grouped(a, 1)) + map[bool]string{true: " day", false: " days"}[a == 1]
	case "number":
		return minus + trimmed(grouped(a, 2))
	}
	if a == math.Trunc(a) || a >= 100 {
		return minus + grouped(a, 0)
	}
	return minus + grouped(a, 1)
}

// percent formats a percentage. It has two decimals if it is below 1, one decimal if it is below 10, and otherwise
// none. Zero has one decimal.
func percent(p float64) string {
	switch {
	case p != 0 && p < 0.995:
		return fmt.Sprintf("%.2f %%", p)
	case p < 9.95:
		return fmt.Sprintf("%.1f %%", p)
	}
	return grouped(p, 0) + " %"
}

// signed formats a change, with an arrow up or down before it. It returns "" if the change is not known.
func signed(format string, value schema.Null[string]) string {
	v, _, ok := parse(value)
	switch {
	case !ok:
		return ""
	case v > 0:
		return "▲ " + spell(format, v)
	case v < 0:
		return "▼ " + spell(format, v)
	}
	return "= 0 %"
}

// stake formats the money per day that depends on a decision. It returns "" if the amount is not known or below a cent.
func stake(value schema.Null[string]) string {
	if v, _, ok := parse(value); ok && v >= 0.01 {
		if v >= 100 {
			return "at stake: $" + grouped(v, 0) + " a day"
		}
		return "at stake: " + spell("money", v) + " a day"
	}
	return ""
}

func trimmed(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// grouped formats a number with separators between thousands.
func grouped(v float64, decimals int) string {
	return cli.Thousands(strconv.FormatFloat(v, 'f', decimals, 64))
}

// short formats a number for the label of an axis, for example $12.5k.
func short(format string, v float64) string {
	switch a := math.Abs(v); {
	case format == "percent":
		return trimmed(fmt.Sprintf("%.1f", v*100)) + " %"
	case format == "times":
		return trimmed(fmt.Sprintf("%.2f", v)) + "×"
	case format != "money":
		return trimmed(fmt.Sprintf("%.2f", v))
	case v < 0:
		return "−" + short(format, a)
	case a >= 1e6:
		return "$" + trimmed(fmt.Sprintf("%.2f", v/1e6)) + "M"
	case a >= 1e4:
		return "$" + trimmed(fmt.Sprintf("%.1f", v/1e3)) + "k"
	}
	return "$" + trimmed(grouped(v, 2))
}

// instant formats a time, given in microseconds since 1970, in Chicago's time zone for a person.
func instant(us string) string {
	n, err := strconv.ParseInt(us, 10, 64)
	if err != nil {
		return unknown
	}
	return time.UnixMicro(n).In(schema.Chicago()).Format("2 Jan 2006, 15:04")
}

// iso formats a time, given in microseconds since 1970, in UTC for programs. It returns "" if the parameter is not a
// number.
func iso(us string) string {
	n, err := strconv.ParseInt(us, 10, 64)
	if err != nil {
		return ""
	}
	return time.UnixMicro(n).UTC().Format(time.RFC3339)
}

// isoDay finds days such as 2026-11-20 in a sentence.
var isoDay = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)

// dayOf formats a day that occurs in a sentence, for example as 20 Nov. The labels of the charts have the same format.
func dayOf(d string) string {
	t, err := time.Parse(time.DateOnly, d)
	if err != nil {
		return d
	}
	return t.Format("2 Jan")
}

func dayYear(d string) string {
	t, err := time.Parse(time.DateOnly, d)
	if err != nil {
		return plain(d, 20)
	}
	return t.Format("Mon 2 Jan 2006")
}
