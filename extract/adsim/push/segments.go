package push

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim/chance"
)

// Subscriber gets the notifications of a website.
type Subscriber struct {
	PSID         string            `json:"psid"`
	CSID         string            `json:"csid,omitempty"` // the alternative ID, where there is one
	Website      string            `json:"website"`
	SubscribedAt time.Time         `json:"subscribed_at"`
	Variables    map[string]string `json:"variables"`
}

// lastSubscribed is a time after all subscriptions of the seed.
var lastSubscribed = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

// websites are those of each account.
var websites = []string{"https://news.example", "https://deals.example"}

// seededSubscribers are those of an account.
func seededSubscribers(seed uint64) (list []Subscriber) {
	cities := []string{"New York", "Chicago", "Austin", "Denver", "Miami"}
	for w, website := range websites {
		for i := range 40 {
			h := chance.Hash(seed, chance.AboutSubscriber, uint64(w), uint64(i))
			ago := func(h uint64, days uint64) time.Time {
				return lastSubscribed.Add(-time.Duration(chance.Below(chance.Mix(h), days*24*60)) * time.Minute)
			}
			sub := Subscriber{PSID: chance.Hex24(h), Website: website, SubscribedAt: ago(h, 600)}
			if h%3 > 0 {
				sub.CSID = "customer-" + strconv.Itoa(w*100_000+i)
			}
			sub.Variables = map[string]string{
				"city":          cities[chance.Below(chance.Mix(h+1), uint64(len(cities)))],
				"orders":        strconv.Itoa(int(chance.Below(chance.Mix(h+2), 20))),
				"last_visit":    ago(h+3, 60).Format(time.RFC3339),
				"subscribed_at": sub.SubscribedAt.Format(time.RFC3339),
			}
			if h>>8%2 == 0 {
				sub.Variables["plan"] = "premium"
			}
			list = append(list, sub)
		}
	}
	return list
}

// Subscribers lists the account's subscribers.
func (s *Sender) Subscribers() []Subscriber { return slices.Clone(s.subscribers) }

// rule is a segmentation rule; the rules of a segment combine with AND.
type rule struct {
	Variable *string `json:"variable"`
	Operator *string `json:"operator"`
	Value    *string `json:"value"`
}

// Operators are all that there are, each with the test of a variable's value by the rule's.
var Operators = map[string]func(value, with string, now time.Time) bool{
	"exists":           func(string, string, time.Time) bool { return true },
	"not exists":       func(string, string, time.Time) bool { return false },
	"contains":         func(value, with string, _ time.Time) bool { return strings.Contains(value, with) },
	"equals":           compares(func(n int) bool { return n == 0 }),
	"==":               compares(func(n int) bool { return n == 0 }),
	"different":        compares(func(n int) bool { return n != 0 }),
	"!=":               compares(func(n int) bool { return n != 0 }),
	"<":                compares(func(n int) bool { return n < 0 }),
	"<=":               compares(func(n int) bool { return n <= 0 }),
	">":                compares(func(n int) bool { return n > 0 }),
	">=":               compares(func(n int) bool { return n >= 0 }),
	"before":           dates(time.Time.Before),
	"after":            dates(time.Time.After),
	"same day":         dates(within(24 * time.Hour)),
	"same hour":        dates(within(time.Hour)),
	"before n min ago": minutes(time.Time.Before),
	"after n min ago":  minutes(time.Time.After),
}

func within(d time.Duration) func(at, other time.Time) bool {
	return func(at, other time.Time) bool { return at.Truncate(d).Equal(other.Truncate(d)) }
}

// compares compares numbers as numbers, and everything else as texts.
func compares(test func(order int) bool) func(value, with string, now time.Time) bool {
	return func(value, with string, _ time.Time) bool {
		a, err1 := strconv.ParseFloat(value, 64)
		b, err2 := strconv.ParseFloat(with, 64)
		if err1 == nil && err2 == nil {
			return test(cmp.Compare(a, b))
		}
		return test(strings.Compare(value, with))
	}
}

// dates compares a date with a date, both in UTC.
func dates(test func(at, other time.Time) bool) func(value, with string, now time.Time) bool {
	return func(value, with string, _ time.Time) bool {
		at, ok1 := dateOf(value)
		other, ok2 := dateOf(with)
		return ok1 && ok2 && test(at.UTC(), other.UTC())
	}
}

// minutes compares a date with some minutes ago.
func minutes(test func(at, ago time.Time) bool) func(value, with string, now time.Time) bool {
	return func(value, with string, now time.Time) bool {
		at, ok := dateOf(value)
		n, err := strconv.ParseFloat(with, 64)
		return ok && err == nil && test(at, now.Add(-time.Duration(n*float64(time.Minute))))
	}
}

// check refuses a rule that lacks something, or that means nothing.
func (r *rule) check() error {
	switch {
	case r.Variable == nil || r.Operator == nil || r.Value == nil:
		return errors.New("a rule needs variable, operator and value")
	case Operators[*r.Operator] == nil:
		return fmt.Errorf("unknown operator %q", *r.Operator)
	}
	return nil
}

// matches reports whether a subscriber is in the segment of a rule. One without the variable matches only
// "different", "!=" and "not exists".
func (r *rule) matches(sub *Subscriber, now time.Time) bool {
	value, there := sub.Variables[*r.Variable]
	if !there {
		return slices.Contains([]string{"different", "!=", "not exists"}, *r.Operator)
	}
	return Operators[*r.Operator](value, *r.Value, now)
}

// dateOf takes an ISO 8601 date or date-time, without a zone in UTC, or a Unix timestamp in seconds or milliseconds.
func dateOf(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04",
		time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1e8 {
		return time.Time{}, false
	}
	if n > 1e11 {
		n /= 1000
	}
	return time.Unix(n, 0), true
}
