package transform

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"spendsync/extract"
	"spendsync/schema"
)

// The reasons for refusing a value, in addition to [schema.ErrNotNumber], [schema.ErrRange] and [schema.ErrFraction].
// [errors.Is] finds them in a [RowError].
var (
	// ErrMissing reports that a required value is absent or null.
	ErrMissing = errors.New("missing")
	// ErrNoOwner reports that a row with spend names no campaign, creative or source.
	ErrNoOwner = errors.New("missing, and the row has spend")
	// ErrTwice reports that the JSON of a row has the same key several times, with different values.
	ErrTwice = errors.New("sent twice, with different values")
	// ErrNotText reports that a value is not the expected JSON text.
	ErrNotText = errors.New("not a text")
	// ErrNotObject reports that a row is not a JSON object.
	ErrNotObject = errors.New("not an object")
	// ErrNegative reports a negative value in a column that cannot be negative.
	ErrNegative = errors.New("negative")
	// ErrNotDay reports that a value is not a day.
	ErrNotDay = errors.New("not a day; its form, in Go's layout, is a line times.days of SPENDSYNC_SERVICE_FILE")
	// ErrOtherDay reports that a row has another date than the one day that was requested. The whole read is refused.
	ErrOtherDay = errors.New("not the day asked for")
	// ErrTooLong reports that an ID has more than 200 bytes. All known IDs are far shorter.
	ErrTooLong = errors.New("too long")
	// ErrControl reports that an ID contains a control character.
	ErrControl = errors.New("control character")
	// ErrBrokenID reports that an ID contains half a surrogate pair, or U+FFFD in place of lost bytes: two IDs may have
	// become one.
	ErrBrokenID = errors.New("an id of which a part is lost")
)

// RowError names a refused value of a page, and the reason. It is also an [extract.ErrContract]: the service's
// description does not allow the value.
type RowError struct {
	Table  string // for example "spend_daily"
	Page   int
	Row    int    // in the page, from 1
	Column string // empty: the row as a whole
	Value  string // JSON as received, at most 60 bytes of it; empty: the key was absent
	Err    error
}

const maxShownValue = 60

// Error returns the place, the value and the reason. The value is escaped if it is not printable.
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

// writeValue writes a blank and a value, escaped if it is not printable; for an empty value it writes nothing.
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

// Unwrap returns Err and [extract.ErrContract].
func (e *RowError) Unwrap() []error { return []error{e.Err, extract.ErrContract} }

// shown returns the JSON of a value, cut to the 60 bytes that an error shows.
func shown(v extract.Value) string {
	if len(v) <= maxShownValue {
		return string(v)
	}
	return strings.ToValidUTF8(string(v[:maxShownValue-3]), "") + "..."
}

// reasonOf returns the bare reason why a value is refused. Errors of package schema also contain the value, which
// [RowError] already has.
func reasonOf(v extract.Value, err error) error {
	if err != nil && v.IsTwice() {
		return ErrTwice
	}
	for _, reason := range []error{schema.ErrNotNumber, schema.ErrRange, schema.ErrFraction} {
		if errors.Is(err, reason) {
			return reason
		}
	}
	return err
}
