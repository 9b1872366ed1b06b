package transform

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"spendsync/extract"
	"spendsync/schema"
)

// The reasons that a value is refused for, next to [schema.ErrNotNumber],
// [schema.ErrRange] and [schema.ErrFraction]. [errors.Is] finds them in a
// [RowError].
var (
	// ErrMissing says that a value is absent or null where one has to be.
	ErrMissing = errors.New("missing")
	// ErrNotText says that a value is not a JSON text where one belongs.
	ErrNotText = errors.New("not a text")
	// ErrNegative says that a count is below zero.
	ErrNegative = errors.New("negative")
	// ErrOtherDay says that a row is not of the day that was asked for.
	ErrOtherDay = errors.New("not the day asked for")
	// ErrTooLong says that a text is longer than its column takes.
	ErrTooLong = errors.New("too long")
	// ErrControl says that a text holds a character that it must not: NUL in any
	// text, a control character in an id.
	ErrControl = errors.New("control character")
)

// RowError says which value of a page was refused, and why. It is also an
// [extract.ErrContract]: the service sent what it does not describe.
type RowError struct {
	Table  string // such as "spend_daily"
	Page   int
	Row    int // in the page, from 1
	Column string
	Value  string // JSON as received, at most 60 bytes of it; empty where absent
	Err    error
}

const maxShownValue = 60

// Error is the place, the value and the reason. The value is escaped where it
// does not print.
func (e *RowError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s page %d row %d: %s", e.Table, e.Page, e.Row, e.Column)
	if e.Value != "" {
		b.WriteByte(' ')
	}
	for _, r := range e.Value {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap is the reason and the kind.
func (e *RowError) Unwrap() []error { return []error{e.Err, extract.ErrContract} }

// shown is a value as a RowError holds it.
func shown(v extract.Value) string {
	if len(v) <= maxShownValue {
		return string(v)
	}
	return strings.ToValidUTF8(string(v[:maxShownValue-3]), "") + "..."
}

// plain is the reason without the value that schema's errors repeat.
func plain(err error) error {
	for _, reason := range []error{schema.ErrNotNumber, schema.ErrRange, schema.ErrFraction} {
		if errors.Is(err, reason) {
			return reason
		}
	}
	return err
}
