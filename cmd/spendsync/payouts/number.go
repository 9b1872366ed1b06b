package payouts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"spendsync/schema"
)

// Format is how numbers and days are written where a file leaves two readings.
type Format struct {
	Decimal  string // "." or ","; empty: the numbers of the file decide
	DayOrder string // dayFirst or monthFirst; empty: the days of the file decide
}

const (
	dayFirst   = "DD/MM/YYYY"
	monthFirst = "MM/DD/YYYY"
)

// FormatVariable is the variable that [ParseFormat] reads.
const FormatVariable = "SPENDSYNC_TRACKER_FORMAT"

// ParseFormat reads the value of SPENDSYNC_TRACKER_FORMAT: decimal=, and day=DD/MM/YYYY, with a space between them.
func ParseFormat(text string) (f Format, err error) {
	for _, part := range strings.Fields(text) {
		name, value, _ := strings.Cut(part, "=")
		switch {
		case name == "decimal" && (value == "." || value == ","):
			f.Decimal = value
		case name == "day" && (value == dayFirst || value == monthFirst):
			f.DayOrder = value
		default:
			return f, fmt.Errorf("%s=%q: %q is none of decimal=. decimal=, day=%s day=%s", FormatVariable, text, part,
				dayFirst, monthFirst)
		}
	}
	return f, nil
}

// exactMark ends a number that a file holds as a number, not as a text: it has one reading.
const exactMark = "e0"

// shown returns a cell as the file has it.
func shown(cell string) string { return strings.TrimSuffix(cell, exactMark) }

// nothings are words for a value that is not there.
var nothings = map[string]bool{"": true, "-": true, "–": true, "—": true, "n/a": true, "na": true, "#n/a": true,
	"null": true, "none": true, "nan": true, "nil": true, `\n`: true}

func isNothing(cell string) bool { return nothings[strings.ToLower(cell)] }

// reading returns a number in plain digits as it reads with a decimal mark, and whether it reads so. Thousands may be
// grouped by the other mark, a space or an apostrophe.
func reading(cell, decimal string) (plain string, ok bool) {
	s, sign := unsigned(cell)
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i:]
		if decimal != "." { // an exponent is written by programs, which write a point
			return "", false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, decimal)
	if i := strings.IndexFunc(whole, notDigit); i >= 0 {
		mark := []rune(whole[i:])[0]
		groups := strings.Split(whole, string(mark))
		if !strings.ContainsRune(".,'’ \u00a0\u202f", mark) || len(groups[0]) > 3 || groups[0] == "" ||
			exponent != "" {
			return "", false
		}
		for _, g := range groups[1:] {
			if len(g) != 3 {
				return "", false
			}
		}
		whole = strings.Join(groups, "")
	}
	if strings.ContainsFunc(whole+fraction, notDigit) || whole+fraction == "" {
		return "", false
	}
	plain = sign + strings.TrimLeft(whole, "0")
	if strings.TrimLeft(whole, "0") == "" {
		plain += "0"
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		plain += "." + fraction
	}
	return plain + exponent, true
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// unsigned takes the sign and the dollar from a number. Amounts in parentheses are negative, as in accounting.
func unsigned(cell string) (rest, sign string) {
	s := strings.TrimSpace(cell)
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		s, sign = s[1:len(s)-1], "-"
	}
	for _, unit := range []string{"US$", "$", "USD"} {
		s = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(s, unit), unit))
		for _, minus := range []string{"-", "−"} {
			if rest, is := strings.CutPrefix(s, minus); is && sign == "" {
				s, sign = strings.TrimSpace(rest), "-"
			}
		}
	}
	return strings.TrimPrefix(s, "+"), sign
}

// money reads an amount, rounded half to even to six decimals.
func money(column, cell, decimal string) (schema.Money, error) {
	plain, ok := reading(cell, decimal)
	if ok {
		if m, _, err := schema.ParseMoney([]byte(plain)); err == nil {
			return m, nil
		}
	}
	return 0, fmt.Errorf("%s %q is not an amount in US dollars, for example 12.50", column, shown(cell))
}

// count reads a number of things.
func count(column, cell, decimal string) (int64, error) {
	plain, ok := reading(cell, decimal)
	if ok {
		n, err := schema.ParseCount([]byte(plain))
		if err == nil && n >= 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s %q is not a whole number of 0 or more", column, shown(cell))
}

// marks are what the numbers of a file say of their decimal mark.
type marks struct {
	seen      map[string]string // a cell that reads with this mark alone, with its place
	ambiguous string            // a cell that reads with both marks, to different numbers, with its place
	two       [2]string         // its readings
}

// add takes the evidence of a cell. Of a count only whole numbers are readings.
func (m *marks) add(cell, place string, isCount bool) {
	point, isPoint := reading(cell, ".")
	comma, isComma := reading(cell, ",")
	if isCount {
		isPoint, isComma = isPoint && isWhole(point), isComma && isWhole(comma)
	}
	switch {
	case isPoint && isComma && point != comma:
		if m.ambiguous == "" {
			m.ambiguous, m.two = place, [2]string{point, comma}
		}
	case isPoint != isComma && !strings.ContainsAny(cell, "eE"):
		mark := map[bool]string{true: ".", false: ","}[isPoint]
		if m.seen == nil {
			m.seen = map[string]string{}
		}
		if m.seen[mark] == "" {
			m.seen[mark] = place
		}
	}
}

func isWhole(plain string) bool {
	_, err := schema.ParseCount([]byte(plain))
	return err == nil
}

// decide returns the mark, and "" where nothing decides.
func (m *marks) decide() (string, error) {
	point, comma := m.seen["."], m.seen[","]
	switch {
	case point != "" && comma != "":
		return "", fmt.Errorf("its numbers have two forms: %s has a decimal point, %s a decimal comma; set "+
			"%s=decimal=. or "+
			"decimal=,", point, comma, FormatVariable)
	case point != "":
		return ".", nil
	case comma != "":
		return ",", nil
	}
	return "", nil
}

var (
	isoDay     = regexp.MustCompile(`^(\d{4})([-/.]?)(\d{2})([-/.]?)(\d{2})(?:[T ](.*))?$`)
	midnight   = regexp.MustCompile(`^00:00(:00(\.0+)?)?\s?(Z|UTC|[+-]\d{2}(:?\d{2})?)?$`)
	numericDay = regexp.MustCompile(`^(\d{1,2})([-/.])(\d{1,2})([-/.])(\d{4})$`)
	namedDays  = []string{"2 Jan 2006", "2-Jan-2006", "Jan 2, 2006", "January 2, 2006", "2 January 2006", "2 Jan, 2006",
		"Mon, 2 Jan 2006", "Monday, January 2, 2006"}
)

// dayReadings returns the days that a cell may mean, by the order of day and month where that matters.
func dayReadings(cell string) (map[string]schema.Date, error) {
	day := func(y, m, d string) (schema.Date, error) { return schema.ParseDate(y + "-" + pad(m) + "-" + pad(d)) }
	wrong := fmt.Errorf("%q is not a day, for example 2026-11-20", cell)
	if p := isoDay.FindStringSubmatch(cell); p != nil && p[2] == p[4] {
		d, err := day(p[1], p[3], p[5])
		if err == nil && p[6] != "" && !midnight.MatchString(p[6]) {
			return nil, fmt.Errorf("%q is not a day but an hour of it: export one row a day", cell)
		}
		if err != nil {
			return nil, wrong
		}
		return map[string]schema.Date{"": d}, nil
	}
	if p := numericDay.FindStringSubmatch(cell); p != nil && p[2] == p[4] {
		readings := map[string]schema.Date{}
		if d, err := day(p[5], p[3], p[1]); err == nil {
			readings[dayFirst] = d
		}
		if d, err := day(p[5], p[1], p[3]); err == nil {
			readings[monthFirst] = d
		}
		if len(readings) > 0 {
			return readings, nil
		}
	}
	for _, layout := range namedDays {
		if t, err := time.Parse(layout, cell); err == nil {
			return map[string]schema.Date{"": schema.NewDate(t.Year(), t.Month(), t.Day())}, nil
		}
	}
	return nil, wrong
}

func pad(number string) string { return strings.Repeat("0", 2-len(number)) + number }

// days are the cells of a column of days, read in one order.
type days struct {
	order string
	of    map[string]schema.Date
	wrong map[string]error
}

// readDays reads the cells of a column of days. The cells decide the order of day and month unless it is given.
func readDays(cells map[string]string, order string) (days, error) {
	d := days{order, map[string]schema.Date{}, map[string]error{}}
	readings := map[string]map[string]schema.Date{}
	decides, both := map[string]string{}, ""
	names := make([]string, 0, len(cells))
	for cell := range cells {
		names = append(names, cell)
	}
	slices.Sort(names)
	for _, cell := range names {
		r, err := dayReadings(cell)
		if err != nil {
			d.wrong[cell] = err
			continue
		}
		readings[cell] = r
		first, isFirst := r[dayFirst]
		second, isSecond := r[monthFirst]
		switch {
		case isFirst && isSecond && first != second:
			both = cell
		case isFirst && !isSecond:
			decides[dayFirst] = cell
		case isSecond && !isFirst:
			decides[monthFirst] = cell
		}
	}
	if d.order == "" && both != "" {
		if len(decides) != 1 {
			return d, fmt.Errorf("%s: the day %q may be %s or %s; set %s=day=%s or day=%s", cells[both], both,
				readings[both][dayFirst], readings[both][monthFirst], FormatVariable, dayFirst, monthFirst)
		}
		for order := range decides {
			d.order = order
		}
	}
	for cell, r := range readings {
		day, ok := r[d.order]
		for _, only := range []string{"", dayFirst, monthFirst} {
			if one, is := r[only]; is && !ok && (only == "" || d.order == "") {
				day, ok = one, true
			}
		}
		if !ok {
			d.wrong[cell] = fmt.Errorf("%q is not a day of the form %s", cell, d.order)
			continue
		}
		d.of[cell] = day
	}
	return d, nil
}
