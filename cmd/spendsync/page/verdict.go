package page

import (
	"fmt"
	"strings"

	"spendsync/schema"
)

// Verdict is the one sentence of a section: what to do, made from its numbers.
type Verdict struct {
	Tone string // act, watch, fine or unknown
	Text string
}

func act(format string, args ...any) Verdict   { return Verdict{"act", fmt.Sprintf(format, args...)} }
func watch(format string, args ...any) Verdict { return Verdict{"watch", fmt.Sprintf(format, args...)} }
func fine(format string, args ...any) Verdict  { return Verdict{"fine", fmt.Sprintf(format, args...)} }
func why(text string) Verdict                  { return Verdict{"unknown", text} }

// Sign is the verdict's mark, for readers who do not see its color.
func (v Verdict) Sign() string {
	return map[string]string{"act": "→", "watch": "!", "fine": "✓", "unknown": "?"}[v.Tone]
}

// Word is the mark in a word.
func (v Verdict) Word() string {
	return map[string]string{"act": "Do this:", "watch": "Watch:", "fine": "Fine:", "unknown": "Not known:"}[v.Tone]
}

func dates(days []schema.Date) string {
	var names []string
	for _, d := range days {
		names = append(names, day(d))
	}
	return list(names)
}

func isAre(n int) string {
	if n == 1 {
		return "it is"
	}
	return "they are"
}

func are(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

func countOf(n int, noun string) string { return plural(n, noun, noun+"s") }

func signed(n Number) string {
	if n.Known && n.V > 0 {
		return "+" + percent(n)
	}
	return percent(n)
}

func moreLess(v float64) string {
	if v < 0 {
		return money(N(-v)) + " less"
	}
	return money(N(v)) + " more"
}

func upDown(v float64) string {
	if v < 0 {
		return "fell by " + percent(N(-v))
	}
	return "rose by " + percent(N(v))
}

func itThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func about(n Number) string {
	if n.Known && n.V >= 10 {
		return grouped(n.V, 0) + " days"
	}
	return count(N(round1(n.V))) + " days"
}

func round1(v float64) float64 { return float64(int(v*10+0.5)) / 10 }

func has(n int) string {
	if n == 1 {
		return "1 day has"
	}
	return fmt.Sprintf("%d days have", n)
}

func sentence(s string) string {
	s = strings.TrimRight(s, ". ")
	if s == "" {
		return ""
	}
	return upper(s) + "."
}
