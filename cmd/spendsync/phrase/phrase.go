// Package phrase words what messages to the operator have in common: counts with
// their noun, lists of days, and texts of several lines on one.
package phrase

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"spendsync/schema"
)

// Count is a number with its noun: "1 day", "3 days".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, strings.TrimSuffix(what, "s"))
}

// Days lists days; of many it shows the first three and the last.
func Days(d []schema.Date) string {
	texts := make([]string, len(d))
	for i, x := range d {
		texts[i] = x.String()
	}
	if len(texts) > 6 {
		texts = slices.Concat(texts[:3], []string{"..."}, texts[len(texts)-1:])
	}
	return strings.Join(texts, ", ")
}

// OneLine joins a message of several errors, or of an engine with paragraphs, into one line, so
// that the last line on stderr is the entire message.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Interrupted returns the message of an operation that a signal interrupted, without the phrases by
// which Go and DuckDB report an interruption.
func Interrupted(err error) string {
	words := strings.NewReplacer(": context canceled", "", " INTERRUPT Error: Interrupted!", "")
	return words.Replace(OneLine(err.Error()))
}

// Age shows an age in the two units that matter.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}
