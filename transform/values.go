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

// text returns the text of a JSON value, see [Interner.text].
func (c *entityContext) text(v extract.Value) (string, error) { return c.intern.text(v) }

// filled returns the text of a JSON value. A blank text counts as no value.
func (c *entityContext) filled(v extract.Value) (string, error) {
	if isBlank(v) {
		return "", errBlank
	}
	return c.text(v)
}

// word returns a text that should be one of a few words. A number or a boolean is refused.
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

// lower returns a word in lower case, for columns whose words the service's description does not list.
func (c *entityContext) lower(v extract.Value) (string, error) {
	s, err := c.word(v)
	return strings.ToLower(s), err
}

// status returns a word in lower case, with underscores.
func (c *entityContext) status(v extract.Value) (string, error) {
	s, err := c.word(v)
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s))), err
}

// statusOf returns a function that reads a status. A status that is none of the given words is stored, too, and
// recorded in Unnamed.
func (c *entityContext) statusOf(column string, words ...string) func(extract.Value) (string, error) {
	return func(v extract.Value) (string, error) {
		s, err := c.status(v)
		if err == nil && !slices.Contains(words, s) {
			c.unnamed(column, v)
		}
		return s, err
	}
}

// codeOf returns a function that reads a code, in upper case. A code that is none of the given codes is stored, too,
// and recorded in Unnamed.
func (c *entityContext) codeOf(column string, codes []string) func(extract.Value) (string, error) {
	return func(v extract.Value) (string, error) {
		s, err := c.word(v)
		if err != nil {
			return "", err
		}
		return s, c.checkCode(column, codes, v, &s)
	}
}

// checkCode normalizes *code: upper case, no surrounding blanks. It refuses a text that cannot be a code, and records a
// code that is none of the given codes in Unnamed.
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

// unnamed records a value that the service's description does not list.
func (c *entityContext) unnamed(column string, v extract.Value) {
	c.Unnamed = append(c.Unnamed,
		&FieldError{Table: c.table, ID: c.id, Column: column, Value: shown(v), Err: ErrUnnamed})
}

// codesOf returns a function that reads a list of codes and returns the list in its stored form.
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

// joined returns the stored form of a list: sorted, without duplicates, comma-joined.
func joined(list []string) string {
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// unlessNone returns the stored form of a list. An empty list counts as no value.
func unlessNone(list []string) (string, error) {
	if s := joined(list); s != "" {
		return s, nil
	}
	return "", errBlank
}

// imageIDOf returns a function that reads the ID of an image. An ID that is not 24 hexadecimal digits is stored, too,
// and recorded in Unnamed.
func (c *entityContext) imageIDOf(column string) func(extract.Value) (string, error) {
	return func(v extract.Value) (id string, err error) {
		id, err = c.filled(v)
		if err == nil && (len(id) != 24 || strings.Trim(id, "0123456789abcdef") != "") {
			c.unnamed(column, v)
		}
		return id, err
	}
}

// linkOf returns a function that reads an address. An address that does not begin with http:// or https:// is stored,
// too, and recorded in Unnamed.
func (c *entityContext) linkOf(column string) func(extract.Value) (string, error) {
	return func(v extract.Value) (string, error) {
		s, err := c.filled(v)
		if err == nil && !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
			c.unnamed(column, v)
		}
		return s, err
	}
}

// instant reads a time, or a day, which becomes the beginning of the day in Chicago. A time without a zone is in the
// zone of the service file; if the file names no zone, the time is refused.
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
		return 0, errBlank // 0001-01-01T00:00:00Z, which some languages write for no time
	}
	if at.UnmarshalText([]byte(s)) == nil {
		return at, nil
	}
	for _, form := range c.service.Names("times.forms") {
		if t, err := time.Parse(form, s); err == nil {
			return schema.InstantOf(t), nil
		}
	}
	for _, form := range c.service.Names("times.zoneless") {
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

// defaultBid returns a bid; 0 means that there is none.
func defaultBid(v extract.Value) (schema.Money, error) {
	m, err := bid(v)
	if err == nil && m == 0 {
		err = errBlank
	}
	return m, err
}

// price returns an amount; 0 means that there is none.
func price(v extract.Value) (schema.Money, error) {
	m, err := amount(v)
	if err == nil && m == 0 {
		err = errBlank
	}
	return m, err
}

// amount returns an amount of money, and refuses a negative one.
func amount(v extract.Value) (schema.Money, error) {
	m, err := money(v)
	if err == nil && m < 0 {
		err = ErrNegative
	}
	return m, err
}

// money returns an amount of either sign, for example a balance: a number, or a text that is one.
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

// wholeNumber returns a whole number, and refuses a negative one.
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

// positive returns a whole number; 0 means that there is none.
func positive(v extract.Value) (int64, error) {
	n, err := wholeNumber(v)
	if err == nil && n == 0 {
		err = errBlank
	}
	return n, err
}

// yesNo returns a boolean: true or false, also as a text in any case, or 1 or 0.
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
