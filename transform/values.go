package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spendsync/extract"
	"spendsync/schema"
)

// text is an unmodified text.
func (c *entityContext) text(v extract.Value) (string, error) { return c.intern.text(v) }

// filled is an unmodified text. An empty text counts as no value.
func (c *entityContext) filled(v extract.Value) (string, error) {
	if isBlank(v) {
		return "", errBlank
	}
	return c.text(v)
}

// word is a text from a small set of words. A number or a boolean in its place has no known meaning.
func (c *entityContext) word(v extract.Value) (string, error) {
	s, ok := v.Text()
	if !ok {
		return "", ErrNotText
	}
	if strings.TrimSpace(s) == "" {
		return "", errBlank
	}
	return c.intern.text(v)
}

// lower is a word in lower case, for which the description has no list.
func (c *entityContext) lower(v extract.Value) (string, error) {
	s, err := c.word(v)
	return strings.ToLower(s), err
}

// status is a word of a list of the description's: in lower case, with underscores.
func (c *entityContext) status(v extract.Value) (string, error) {
	s, err := c.word(v)
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s))), err
}

// statusOf is a status that should be one of words. Another one is stored as well, and is unnamed.
func (c *entityContext) statusOf(column string, words ...string) func(extract.Value) (string, error) {
	return func(v extract.Value) (string, error) {
		s, err := c.status(v)
		if err == nil && !slices.Contains(words, s) {
			c.unnamed(column, v)
		}
		return s, err
	}
}

// codeOf is a code in upper case, which should be one of the description's. Another one is
// stored as well, and is unnamed.
func (c *entityContext) codeOf(column string, codes []string) func(extract.Value) (string, error) {
	return func(v extract.Value) (string, error) {
		s, err := c.word(v)
		if err != nil {
			return "", err
		}
		return s, c.checkCode(column, codes, v, &s)
	}
}

// checkCode normalizes a code: upper case, no blanks around it. It refuses a text that cannot be a code.
func (c *entityContext) checkCode(column string, codes []string, v extract.Value, code *string) error {
	*code = strings.ToUpper(strings.TrimSpace(*code))
	switch {
	case *code == "":
		return fmt.Errorf("a text that is empty: %w", ErrForm)
	case !extract.IsToken(*code): // letters, digits, underscores and hyphens
		return fmt.Errorf("not a code: %w", ErrForm)
	case !slices.Contains(codes, *code):
		c.unnamed(column, v)
	}
	return nil
}

// unnamed records a value that is not among those of the service's description.
func (c *entityContext) unnamed(column string, v extract.Value) {
	c.Unnamed = append(c.Unnamed,
		&FieldError{Table: c.table, ID: c.id, Column: column, Value: shown(v), Err: ErrUnnamed})
}

// codesOf is a list of codes.
func (c *entityContext) codesOf(column string, codes []string) func(extract.Value) (string, error) {
	return func(v extract.Value) (string, error) {
		var list []string
		elements, ok := v.Array()
		if isBlank(v) {
			return "", errBlank
		} else if !ok {
			return "", ErrNotList
		}
		for _, e := range elements {
			s, err := c.word(e)
			switch {
			case e.Null() || errors.Is(err, ErrNotText):
				return "", ErrNotList
			case err != nil && !errors.Is(err, errBlank):
				return "", err
			}
			list = append(list, s)
		}
		for i := range list {
			if err := c.checkCode(column, codes, v, &list[i]); err != nil {
				return "", err
			}
		}
		return unlessNone(list)
	}
}

// joined is a list in its one form.
func joined(list []string) string {
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// unlessNone returns a list in its one form. An empty list counts as no value.
func unlessNone(list []string) (string, error) {
	if s := joined(list); s != "" {
		return s, nil
	}
	return "", errBlank
}

// imageIDOf reads the ID of an image. One whose form the description lacks is
// stored as well, and counted as an unnamed value.
func (c *entityContext) imageIDOf(column string) func(extract.Value) (string, error) {
	return func(v extract.Value) (id string, err error) {
		id, err = c.filled(v)
		if err == nil && (len(id) != 24 || strings.Trim(id, "0123456789abcdef") != "") {
			c.unnamed(column, v)
		}
		return id, err
	}
}

// linkOf is an address. One that is not of the description's form is stored as well, and is
// unnamed.
func (c *entityContext) linkOf(column string) func(extract.Value) (string, error) {
	return func(v extract.Value) (string, error) {
		s, err := c.filled(v)
		if err == nil && !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
			c.unnamed(column, v)
		}
		return s, err
	}
}

// instant is a time with its zone, or the beginning of a day in Chicago.
func (c *entityContext) instant(v extract.Value) (at schema.Instant, err error) {
	s, ok := v.Text()
	switch s = strings.TrimSpace(s); {
	case !ok:
		return 0, ErrNotTime
	case s == "":
		return 0, errBlank
	}
	if day, err := schema.ParseDate(s); err == nil {
		return schema.InstantOf(day.Start()), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil && t.IsZero() {
		return 0, errBlank // how some languages write no time
	}
	if at.UnmarshalText([]byte(s)) == nil {
		return at, nil
	}
	for _, form := range c.service.Texts("times.forms") {
		if t, err := time.Parse(form, s); err == nil {
			return schema.InstantOf(t), nil
		}
	}
	for _, form := range c.service.Texts("times.zoneless") {
		if _, err := time.Parse(form, s); err == nil {
			zone := c.service.Zone()
			if zone == nil {
				return 0, ErrNoZone
			}
			t, err := time.ParseInLocation(form, s, zone)
			return schema.InstantOf(t), err
		}
	}
	return 0, ErrNotTime
}

// maxBid is the largest amount that DECIMAL(12,6) holds.
const maxBid schema.Money = 999_999_999_999

func bid(v extract.Value) (schema.Money, error) {
	m, err := amount(v)
	if err == nil && m > maxBid {
		err = schema.ErrRange
	}
	return m, err
}

// defaultBid is a bid that is never 0.
func defaultBid(v extract.Value) (schema.Money, error) {
	m, err := bid(v)
	if err == nil && m == 0 {
		err = errBlank
	}
	return m, err
}

// price is an amount that is never 0: a 0 means that there is none.
func price(v extract.Value) (schema.Money, error) {
	m, err := amount(v)
	if err == nil && m == 0 {
		err = errBlank
	}
	return m, err
}

// amount is money from 0.
func amount(v extract.Value) (schema.Money, error) {
	m, err := money(v)
	if err == nil && m < 0 {
		err = ErrNegative
	}
	return m, err
}

// money is an amount of either sign, such as a balance: a number, or a text that is one.
func money(v extract.Value) (schema.Money, error) {
	digits, ok := v.Number()
	if !ok {
		if isBlank(v) {
			return 0, errBlank
		}
		return 0, schema.ErrNotNumber
	}
	m, _, err := schema.ParseMoney(digits)
	return m, err
}

func isBlank(v extract.Value) bool {
	s, ok := v.Text()
	return ok && strings.TrimSpace(s) == ""
}

// wholeNumber is a whole number from 0.
func wholeNumber(v extract.Value) (int64, error) {
	if isBlank(v) {
		return 0, errBlank
	}
	n, err := count(v)
	switch {
	case err == nil && !n.Valid:
		return 0, ErrMissing
	case err == nil && n.V < 0:
		return 0, ErrNegative
	}
	return n.V, err
}

// positive is a whole number from 1; a 0 means that there is none.
func positive(v extract.Value) (int64, error) {
	n, err := wholeNumber(v)
	if err == nil && n == 0 {
		err = errBlank
	}
	return n, err
}

// yesNo is true or false, as a text in any case, or as 1 or 0.
func yesNo(v extract.Value) (bool, error) {
	s := string(v)
	if text, ok := v.Text(); ok {
		s = strings.ToLower(strings.TrimSpace(text))
	}
	switch s {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	case "":
		return false, errBlank
	}
	return false, ErrNotFlag
}
