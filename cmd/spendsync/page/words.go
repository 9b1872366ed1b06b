package page

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"
	"unicode"

	"spendsync/schema"
)

// plain is a text of the account made fit to stand on a page: one line, at most n
// characters, without what would act on its surroundings (control characters,
// marks of writing direction, private characters), which shows as U+FFFD.
func plain(s string, n int) string {
	var b strings.Builder
	count, space := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) && r != '\u2028' && r != '\u2029':
			space = b.Len() > 0
			continue
		case r == '\u200c' || r == '\u200d': // joiners: they shape letters and emoji
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp):
			r = '\ufffd'
		}
		if space {
			b.WriteByte(' ')
			count, space = count+1, false
		}
		if count >= n {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		count++
	}
	return b.String()
}

// nameLength is how much of a name a page shows.
const nameLength = 60

// String is the name, else the id, for drawings and sentences.
func (n Named) String() string {
	if s := plain(n.Name, nameLength); strings.Trim(s, " \ufffd\u200c\u200d") != "" {
		return s
	}
	return n.Short()
}

// Label is the name followed by the id, for sentences: names are not unique.
func (n Named) Label() string {
	if s := n.String(); s != n.Short() && n.ID != "" {
		return s + " (" + n.Short() + ")"
	}
	return n.Short()
}

// Short is the id, cut to fit next to a name.
func (n Named) Short() string {
	if s := plain(n.ID, 40); s != "" {
		return s
	}
	return "(none)"
}

// dash stands for an unknown number.
const dash = "unknown"

// money is an amount as a person reads it: whole dollars from 1,000 on.
func money(n Number) string {
	switch {
	case !n.Known:
		return dash
	case math.Abs(n.V) >= 1000:
		return sign(n.V) + "$" + grouped(math.Abs(n.V), 0)
	case n.V != 0 && math.Abs(n.V) < 0.005:
		return sign(n.V) + "$" + trimmed(fmt.Sprintf("%.6f", math.Abs(n.V)))
	}
	return sign(n.V) + "$" + grouped(math.Abs(n.V), 2)
}

// rough is an amount at a glance: whole dollars from 100 on.
func rough(n Number) string {
	if n.Known && (math.Abs(n.V) >= 100 || n.V == math.Trunc(n.V)) {
		return sign(n.V) + "$" + grouped(math.Abs(n.V), 0)
	}
	return money(n)
}

// price is an amount a click or a conversion: to a tenth of a cent where small.
func price(n Number) string {
	if !n.Known || math.Abs(n.V) >= 10 {
		return money(n)
	}
	return sign(n.V) + "$" + fmt.Sprintf("%.3f", math.Abs(n.V))
}

func sign(v float64) string {
	if v < 0 {
		return "−"
	}
	return ""
}

// count formats a number with its digits grouped; a number with a fraction keeps one digit of it.
func count(n Number) string {
	switch {
	case !n.Known:
		return dash
	case n.V == math.Trunc(n.V):
		return sign(n.V) + grouped(math.Abs(n.V), 0)
	}
	return sign(n.V) + grouped(math.Abs(n.V), 1)
}

// percent is a share in percent.
func percent(n Number) string {
	if !n.Known {
		return dash
	}
	v := math.Round(n.V*1e4) / 100
	switch a := math.Abs(v); {
	case a != 0 && a < 1:
		return sign(v) + fmt.Sprintf("%.2f %%", a)
	case a < 10 && a != math.Trunc(a):
		return sign(v) + fmt.Sprintf("%.1f %%", a)
	default:
		return sign(v) + grouped(a, 0) + " %"
	}
}

func times(n Number) string {
	if !n.Known {
		return dash
	}
	return fmt.Sprintf("%.2f×", n.V)
}

// factor is what something is to be multiplied by.
func factor(n Number) string {
	if !n.Known {
		return dash
	}
	return "× " + fmt.Sprintf("%.2f", n.V)
}

func number(n Number) string {
	if !n.Known {
		return dash
	}
	return trimmed(fmt.Sprintf("%.2f", n.V))
}

func trimmed(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// grouped writes digits in threes.
func grouped(v float64, decimals int) string {
	s := fmt.Sprintf("%.*f", decimals, v)
	whole, frac, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if frac != "" {
		whole += "." + frac
	}
	return whole
}

// short is an amount for an axis.
func short(v float64) string {
	switch {
	case v < 0:
		return "−" + short(-v)
	case v >= 1e6:
		return "$" + trimmed(fmt.Sprintf("%.2f", v/1e6)) + "M"
	case v >= 1e4:
		return "$" + trimmed(fmt.Sprintf("%.1f", v/1e3)) + "k"
	case v >= 1000:
		return "$" + grouped(v, 0)
	case v == math.Trunc(v):
		return fmt.Sprintf("$%.0f", v)
	}
	return "$" + trimmed(fmt.Sprintf("%.3f", v))
}

// day is a day as a person reads it: Fri 20 Nov.
func day(d schema.Date) string { return utc(d).Format("Mon 2 Jan") }

func dayYear(d schema.Date) string { return utc(d).Format("Mon 2 Jan 2006") }

func utc(d schema.Date) time.Time { return time.Unix(int64(d)*86400, 0).UTC() }

// instant is a moment in Chicago; the page's head gives UTC too.
func instant(t time.Time) string {
	if t.IsZero() {
		return dash
	}
	return t.In(schema.Chicago()).Format("2 Jan 2006, 15:04")
}

// plural is a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(float64(n), 0) + " " + many
}

// list joins names, the first three of them.
func list(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + grouped(float64(len(names)-most), 0) + " more"
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// cell is a table cell with a number: what a person reads, and the digits as the
// warehouse gave them.
func cell(format func(Number) string) func(Number) template.HTML {
	return func(n Number) template.HTML { return cellOf("n", format, n) }
}

// cellOf is a cell whose number has classes of its own.
func cellOf(classes string, format func(Number) string, n Number) template.HTML {
	if !n.Known {
		return `<td class="n u">unknown</td>`
	}
	return template.HTML(`<td class="` + classes + `"><data value="` + template.HTMLEscapeString(n.Text) + `">` +
		template.HTMLEscapeString(format(n)) + `</data></td>`)
}
