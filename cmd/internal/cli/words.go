package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/dustin/go-humanize/english"

	"spendsync/schema"
)

// Count returns a number with its noun: "1 day", "3 days".
func Count(n int, what string) string {
	return fmt.Sprintf("%d %s", n, english.PluralWord(n, what, ""))
}

// Days lists days. If there are more than six, it lists the first three and the last.
func Days(d []schema.Date) string {
	if len(d) > 6 {
		return Days(d[:3]) + ", ..., " + d[len(d)-1].String()
	}
	var texts []string
	for _, x := range d {
		texts = append(texts, x.String())
	}
	return strings.Join(texts, ", ")
}

// OneLine joins the lines of a message, so that the last line on stderr is the entire message.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Interrupted returns the message of an operation that a signal interrupted, without the phrases by
// which Go and DuckDB report an interruption.
func Interrupted(err error) string {
	words := strings.NewReplacer(": context canceled", "", " INTERRUPT Error: Interrupted!", "")
	return words.Replace(OneLine(err.Error()))
}

// Age formats an age: seconds if it is below a minute, hours and minutes below 48 hours, then whole days.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}

// Grouped formats a whole number with grouped digits: 1,234,567.
func Grouped(n int64) string { return Thousands(strconv.FormatInt(n, 10)) }

// Thousands groups the digits before the point of a decimal number: 1,234,567.5. It leaves numbers with an exponent and
// other values unchanged.
func Thousands(number string) string {
	integer, _, _ := strings.Cut(number, ".")
	rest := number[len(integer):]
	digits := strings.TrimPrefix(integer, "-")
	if strings.Trim(digits, "0123456789") != "" {
		return number
	}
	sign := len(integer) - len(digits)
	for i := len(integer) - 3; i > sign; i -= 3 {
		integer = integer[:i] + "," + integer[i:]
	}
	return integer + rest
}

// Unseen reports whether a character is invisible and affects the text around it. This is true of control characters,
// which start terminal commands, and of marks that change the direction of writing. It is false for the joiners in
// emoji and some scripts.
func Unseen(r rune) bool {
	const zwnj, zwj = '\u200c', '\u200d'
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || (unicode.Is(unicode.Cf, r) && r != zwnj &&
		r != zwj)
}

// Visible escapes invisible characters, so that a hostile name can neither command a terminal nor reverse a line.
func Visible(text string) string {
	if strings.IndexFunc(text, Unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch shown := strconv.QuoteRuneToASCII(r); {
		case !Unseen(r):
			b.WriteRune(r)
		case r == 0x7f: // not Go's \x7f, which is invalid in JSON
			b.WriteString(`\u007f`)
		case r > 0xffff: // nor Go's \U000e0001
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			b.WriteString(shown[1 : len(shown)-1])
		}
	}
	return b.String()
}

// VisibleLines escapes a text as [Visible] does, and keeps its line breaks.
func VisibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = Visible(l)
	}
	return strings.Join(lines, "\n")
}
