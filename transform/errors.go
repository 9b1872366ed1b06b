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
	// ErrNoOwner says that a row with spend names no campaign, creative or source.
	ErrNoOwner = errors.New("missing, and the row has spend")
	// ErrNotText says that a value is not a JSON text where one belongs.
	ErrNotText = errors.New("not a text")
	// ErrNotObject says that a row is not a JSON object.
	ErrNotObject = errors.New("not an object")
	// ErrNegative says that a count is below zero where it cannot be.
	ErrNegative = errors.New("negative")
	// ErrNotDay says that a value is not a day.
	ErrNotDay = errors.New("not a day")
	// ErrOtherDay says that a row is not of the day that was asked for.
	ErrOtherDay = errors.New("not the day asked for")
	// ErrTooLong says that an id is longer than any is.
	ErrTooLong = errors.New("too long")
	// ErrControl says that an id holds a control character.
	ErrControl = errors.New("control character")
	// ErrBrokenID says that an id holds half a character, or U+FFFD in the place of what
	// is lost: two ids may have become one.
	ErrBrokenID = errors.New("an id of which a part is lost")
)

// RowError says which value of a page was refused, and why. It is also an
// [extract.ErrContract]: the service sent what it does not describe.
type RowError struct {
	Table  string // such as "spend_daily"
	Page   int
	Row    int    // in the page, from 1
	Column string // empty where it is the row as a whole
	Value  string // JSON as received, at most 60 bytes of it; empty where absent
	Err    error
}

const maxShownValue = 60

// Error is the place, the value and the reason. The value is escaped where it
// does not print.
func (e *RowError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s page %d row %d: ", e.Table, e.Page, e.Row)
	if e.Column == "" {
		return b.String() + e.Err.Error()
	}
	b.WriteString(e.Column)
	writeValue(&b, e.Value)
	return b.String() + ": " + e.Err.Error()
}

// Reason is the value and what is wrong with it, without its place.
func (e *RowError) Reason() string {
	var b strings.Builder
	writeValue(&b, e.Value)
	return strings.TrimPrefix(strings.TrimSpace(b.String())+": "+e.Err.Error(), ": ")
}

// writeValue writes a blank and a value, escaped where it does not print, or nothing.
func writeValue(b *strings.Builder, value string) {
	if value != "" {
		b.WriteByte(' ')
	}
	for _, r := range value {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
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
