package push

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rule is a segmentation rule; the rules of a segment combine with AND.
type rule struct {
	Variable *string `json:"variable"`
	Operator *string `json:"operator"`
	Value    *string `json:"value"`
}

// Operators are all that there are.
var Operators = []string{"different", "!=", "<", "<=", "before", ">", "before n min ago", "after n min ago", ">=",
	"after", "same day", "same hour",
	"exists", "not exists", "contains", "equals", "=="}

// check refuses a rule that lacks something, or that means nothing.
func (r *rule) check() error {
	switch {
	case r.Variable == nil || r.Operator == nil || r.Value == nil:
		return errors.New("a rule needs variable, operator and value")
	case !slices.Contains(Operators, *r.Operator):
		return fmt.Errorf("unknown operator %q", *r.Operator)
	}
	switch *r.Operator {
	case "before n min ago", "after n min ago":
		if _, err := strconv.ParseFloat(*r.Value, 64); err != nil {
			return fmt.Errorf("%s: %q is no number of minutes", *r.Operator, *r.Value)
		}
	case "before", "after", "same day", "same hour":
		if _, ok := dateOf(*r.Value, time.Time{}); !ok {
			return fmt.Errorf("%s: %q is no date", *r.Operator, *r.Value)
		}
	}
	return nil
}

// matches reports whether a subscriber is in the segment of a rule. A subscriber without
// the variable matches only "different", "!=" and "not exists".
func (r *rule) matches(sub *Subscriber, now time.Time) bool {
	value, there := sub.Variables[*r.Variable]
	if *r.Variable == "subscribed_at" && !there {
		value, there = sub.SubscribedAt.Format(time.RFC3339), true
	}
	switch op := *r.Operator; op {
	case "exists":
		return there
	case "not exists":
		return !there
	case "different", "!=":
		return !there || compareValues(value, *r.Value) != 0
	default:
		return there && compares(op, value, *r.Value, now)
	}
}

func compares(op, value, with string, now time.Time) bool {
	switch op {
	case "equals", "==":
		return compareValues(value, with) == 0
	case "contains":
		return strings.Contains(value, with)
	case "<":
		return compareValues(value, with) < 0
	case "<=":
		return compareValues(value, with) <= 0
	case ">":
		return compareValues(value, with) > 0
	case ">=":
		return compareValues(value, with) >= 0
	}
	return comparesDates(op, value, with, now)
}

func comparesDates(op, value, with string, now time.Time) bool {
	at, ok := dateOf(value, now)
	if !ok {
		return false
	}
	minutes, _ := strconv.ParseFloat(with, 64)
	ago := now.Add(-time.Duration(minutes * float64(time.Minute)))
	other, _ := dateOf(with, now) // check has verified that it is a date, if one is needed
	switch op {
	case "before":
		return at.Before(other)
	case "after":
		return at.After(other)
	case "before n min ago":
		return at.Before(ago)
	case "after n min ago":
		return at.After(ago)
	case "same day":
		return at.UTC().Format(time.DateOnly) == other.UTC().Format(time.DateOnly)
	case "same hour":
		return at.UTC().Truncate(time.Hour).Equal(other.UTC().Truncate(time.Hour))
	}
	return false
}

// compareValues compares numbers as numbers, dates as dates, and else texts.
func compareValues(x, y string) int {
	a, err1 := strconv.ParseFloat(x, 64)
	b, err2 := strconv.ParseFloat(y, 64)
	if err1 == nil && err2 == nil {
		return cmp.Compare(a, b)
	}
	s, ok1 := dateOf(x, time.Time{})
	t, ok2 := dateOf(y, time.Time{})
	if ok1 && ok2 && x != "" && y != "" {
		return s.Compare(t)
	}
	return strings.Compare(x, y)
}

// dateOf takes an ISO 8601 date or date-time, without a zone in UTC, or a Unix
// timestamp in seconds or milliseconds. An empty text and "now" are the clock.
func dateOf(text string, now time.Time) (time.Time, bool) {
	if text == "" || text == "now" {
		return now, true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04",
		time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 1e8 {
		if n > 1e11 {
			return time.UnixMilli(n), true
		}
		return time.Unix(n, 0), true
	}
	return time.Time{}, false
}

// scheduleOf takes when a broadcast is to be sent: a date, or a timestamp.
func scheduleOf(raw json.RawMessage) (time.Time, error) {
	text := strings.Trim(string(raw), `"`)
	if t, ok := dateOf(text, time.Time{}); ok && text != "" && text != "now" {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("schedule %s: expected an ISO 8601 date or a timestamp", raw)
}
