package world

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
)

// fields are the values of a change, as JSON. They are taken one after another;
// the first that is wrong is in err.
type fields struct {
	left map[string]json.RawMessage
	err  error
}

// newFields takes values as Go or JSON has them; both come the same way from here.
func newFields(set map[string]any) (*fields, error) {
	in := &fields{left: map[string]json.RawMessage{}}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		raw, err := json.Marshal(set[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		in.left[name] = raw
	}
	return in, nil
}

// end returns the first error; a field that is left is one.
func (in *fields) end() error {
	if in.err == nil && len(in.left) > 0 {
		return fmt.Errorf("no field %q", slices.Sorted(maps.Keys(in.left))[0])
	}
	return in.err
}

func (in *fields) has(name string) bool { return in.left[name] != nil }

// take gives the JSON of a field to f, if it is there and all was well before.
func (in *fields) take(name string, f func(raw json.RawMessage) error) {
	raw, there := in.left[name]
	delete(in.left, name)
	if !there || in.err != nil {
		return
	}
	if err := f(raw); err != nil {
		in.err = fmt.Errorf("%s %s: %w", name, raw, err)
	}
}

// takeOrNull is take, but null is zero.
func takeOrNull[T any](in *fields, name string, into **T, take func()) {
	if string(in.left[name]) == "null" {
		delete(in.left, name)
		*into = new(T)
		return
	}
	take()
}

func (in *fields) text(name string, into **string, check func(string) error) {
	in.take(name, func(raw json.RawMessage) error {
		var v *string
		if err := json.Unmarshal(raw, &v); err != nil || v == nil {
			return errors.New("expected a text")
		}
		*into = v
		if check == nil {
			return nil
		}
		return check(*v)
	})
}

func (in *fields) textOrNull(name string, into **string, check func(string) error) {
	takeOrNull(in, name, into, func() { in.text(name, into, check) })
}

func (in *fields) texts(name string, into **[]string) {
	in.take(name, func(raw json.RawMessage) error {
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil || list == nil {
			return errors.New("expected a list of texts")
		}
		*into = &list
		return nil
	})
}

func (in *fields) amount(name string, into **int64, least, most int64) {
	in.take(name, func(raw json.RawMessage) error {
		text := string(raw)
		if raw[0] == '"' {
			if err := json.Unmarshal(raw, &text); err != nil {
				return err
			}
		}
		v, ok := jsontext.ParseMillionths(text)
		if !ok {
			return errors.New("expected a decimal of at most six places")
		}
		if v < least || v > most {
			return fmt.Errorf("expected %s to %s", jsontext.Exact(least), jsontext.Exact(most))
		}
		*into = &v
		return nil
	})
}

func (in *fields) amountOrNull(name string, into **int64, least, most int64) {
	takeOrNull(in, name, into, func() { in.amount(name, into, least, most) })
}

func (in *fields) instant(name string, into **time.Time) {
	in.take(name, func(raw json.RawMessage) error {
		var v time.Time
		if err := json.Unmarshal(raw, &v); err != nil || v.IsZero() {
			return errors.New("expected an RFC 3339 instant")
		}
		*into = &v
		return nil
	})
}

func (in *fields) instantOrNull(name string, into **time.Time) {
	takeOrNull(in, name, into, func() { in.instant(name, into) })
}

// audience takes a whole audience, and the flag that is shown within it.
func (in *fields) audience(name string, base market.Audience, into **market.Audience) {
	in.take(name, func(raw json.RawMessage) error {
		au, err := parseAudience(raw)
		if err == nil {
			*into = &au
		}
		return err
	})
	in.take("unsupported_targeting", func(raw json.RawMessage) error {
		var flag *bool
		if err := json.Unmarshal(raw, &flag); err != nil || flag == nil {
			return errors.New("expected true or false")
		}
		au := ledger.Or(*into, base)
		au.UnsupportedTargeting = *flag
		*into = &au
		return nil
	})
}

// parseAudience takes an audience by the description's rules.
func parseAudience(raw json.RawMessage) (market.Audience, error) {
	var in struct {
		Country   *string  `json:"country"`
		States    []string `json:"states"`
		Platforms []string `json:"platforms"`
		MoreThan  *int     `json:"subscribed_more_than_minutes_ago"`
		LessThan  *int     `json:"subscribed_less_than_minutes_ago"`
		MinAge    *int     `json:"min_age"`
		MaxAge    *int     `json:"max_age"`
		Gender    *string  `json:"gender"`
	}
	if bytes.Equal(raw, []byte("null")) {
		return market.Audience{}, errors.New("expected an object; an empty one is everyone")
	}
	if err := jsontext.Decode(raw, &in); err != nil {
		return market.Audience{}, err
	}
	au := market.Audience{
		Country: ledger.Or(in.Country, ""), States: in.States, Platforms: in.Platforms,
		SubscribedMoreThan: ledger.Or(in.MoreThan,
			0), SubscribedLessThan: ledger.Or(in.LessThan, 0), MinAge: ledger.Or(in.MinAge, 0), MaxAge: ledger.Or(in.MaxAge, 0),
		Gender: ledger.Or(in.Gender, ""),
	}
	const minutes = 5_256_000
	for _, n := range []struct {
		name        string
		v           *int
		least, most int
	}{
		{"subscribed_more_than_minutes_ago", in.MoreThan, 1, minutes}, {"subscribed_less_than_minutes_ago", in.LessThan,
			1, minutes},
		{"min_age", in.MinAge, 13, 120}, {"max_age", in.MaxAge, 13, 120},
	} {
		if n.v != nil && (*n.v < n.least || *n.v > n.most) {
			return au, fmt.Errorf("%s: expected %d to %d", n.name, n.least, n.most)
		}
	}
	switch {
	case in.Country != nil && !slices.Contains(market.AudienceCountries, au.Country):
		return au, fmt.Errorf("country: expected one of %s", strings.Join(market.AudienceCountries, ", "))
	case in.Gender != nil && au.Gender != "M" && au.Gender != "F":
		return au, errors.New("gender: expected M or F")
	case !distinct(au.States, market.UsStates) || len(au.States) > 50:
		return au, errors.New("states: expected different states of the US")
	case !distinct(au.Platforms, market.AudiencePlatforms) || au.Platforms != nil && len(au.Platforms) == 0:
		return au, fmt.Errorf("platforms: expected 1 to 4 of %s", strings.Join(market.AudiencePlatforms, ", "))
	}
	return au, nil
}

// distinct reports whether all of a list is known and nothing is in it twice.
func distinct(list, known []string) bool {
	for i, v := range list {
		if !slices.Contains(known, v) || slices.Contains(list[:i], v) {
			return false
		}
	}
	return true
}

// length checks how many characters a text has.
func length(least, most int) func(string) error {
	return func(v string) error {
		if n := utf8.RuneCountInString(v); n < least || n > most {
			return fmt.Errorf("expected %d to %d characters", least, most)
		}
		return nil
	}
}

// words is length for a text that is not all blank.
func words(least, most int) func(string) error {
	fits := length(least, most)
	return func(v string) error {
		if jsontext.Blank(v) {
			return errors.New("expected more than blanks")
		}
		return fits(v)
	}
}

func oneOf(known ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(known, v) {
			return fmt.Errorf("expected one of %s", strings.Join(known, ", "))
		}
		return nil
	}
}

var (
	linkPattern    = regexp.MustCompile(`^https?://\S`)
	imageIDPattern = regexp.MustCompile(`^[0-9a-f]{24}$`)
)

func isLink(v string) error {
	if !linkPattern.MatchString(v) || utf8.RuneCountInString(v) > 2000 {
		return errors.New("expected http:// or https:// and at most 2000 characters")
	}
	return nil
}

func isImageID(v string) error {
	if !imageIDPattern.MatchString(v) {
		return errors.New("expected 24 lowercase hexadecimal characters")
	}
	return nil
}
