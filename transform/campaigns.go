package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/schema"
)

// SettingsContext is what rows of the settings hold that the service does not say.
type SettingsContext struct{ Account, RunID string }

// The reasons that a value of the settings is refused for, next to those of a row.
var (
	// ErrNotList says that a value is not a list of texts where one belongs.
	ErrNotList = errors.New("not a list of texts")
	// ErrNotTime says that a text is neither an RFC 3339 time nor a day.
	ErrNotTime = errors.New("neither an RFC 3339 time nor a day")
	// ErrNotFlag says that a value is not true or false where one of them belongs.
	ErrNotFlag = errors.New("neither true nor false")
	// ErrForm says that a value has a form that is not known.
	ErrForm = errors.New("a form that is not known")
	// ErrOther says that a value is about another thing than the one asked for.
	ErrOther = errors.New("not the one asked for")
)

// FieldError says which value of an entity was refused, and why. It is also an
// [extract.ErrContract]: the service sent what it does not describe.
type FieldError struct {
	Table  string // such as "campaign_history"
	ID     string // of the entity; empty for the account
	Column string
	Value  string // JSON as received, at most 60 bytes of it; empty where absent
	Err    error
}

// Error is the place, the value and the reason. The value is escaped where it does
// not print.
func (e *FieldError) Error() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(e.Table+" "+e.ID) + ": " + e.Column)
	writeValue(&b, e.Value)
	return b.String() + ": " + e.Err.Error()
}

// Unwrap is the reason and the kind.
func (e *FieldError) Unwrap() []error { return []error{e.Err, extract.ErrContract} }

// Campaign makes a row of what the list and the single read said of a campaign.
// Either may be the zero Entity, for one that was not read. Where both have a key,
// the single read's counts, for it came later.
//
// A field that could not be read is NULL and named in unread, so that the last
// known value can stand in for it. A field that is not set is NULL and readable:
//
//	field                            null                 missing from both
//	name, status, default_bid        NULL                 unread: every campaign has one
//	daily_spend_limit                NULL: no limit       unread
//	start_date                       NULL                 unread: it has a default
//	source mode                      NULL                 unread: the description promises it
//	target_cpa                       NULL: off            NULL; unread without the single read
//	end_date                         NULL: never          NULL; unread without the single read
//	audience                         all of it unread     all of it unread
//	a field of a present audience    NULL: not restricted NULL: an empty one is everyone
//	unsupported_targeting            as missing           false; unread without an audience
//
// Without the single read nobody knows whether a list leaves out what is set.
// unsupported_targeting counts wherever it is true, beside the audience or within
// it. The source mode lies under source_targeting_mode, source_mode, sources_mode
// or targeting_mode.
//
// Values are brought to one form, so that two spellings are no change: amounts from
// their digits, rounded half to even to six decimals; status in lower case and the
// audience's country, states, platforms and gender in upper case, known to the
// description or not; lists sorted, each text once, comma-joined, and an empty one
// NULL; a start or end that is a day is the beginning of that day in Chicago. Other
// texts are as they were sent.
//
// A value of another type than the description's is a [FieldError], and so is a bid
// that is negative or does not fit DECIMAL(12,6).
func Campaign(listed, detail extract.Entity, c SettingsContext) (row schema.Campaign, unread []string, err error) {
	r, err := newReader(schema.CampaignHistory.Name, "campaign_id", detail, listed)
	if err != nil {
		return schema.Campaign{}, nil, err
	}
	settable := optional
	if detail.Raw == nil {
		settable = needed
	}
	row = schema.Campaign{
		AccountID: c.Account, CampaignID: r.id,
		Name:            read(r, needed, r.text, "name"),
		Status:          read(r, needed, r.lower, "status"),
		DefaultBid:      read(r, needed, bid, "default_bid"),
		DailySpendLimit: read(r, needed, amount, "daily_spend_limit"),
		TargetCPA:       read(r, settable, amount, "target_cpa"),
		StartAt:         read(r, needed, r.instant, "start_at", "start_date"),
		EndAt:           read(r, settable, r.instant, "end_at", "end_date"),
	}
	audience, known := r.within("audience")
	restriction := optional
	if !known {
		restriction = needed // and never found
	}
	row.Country = read(audience, restriction, r.upper, "country")
	row.States = unlessEmpty(read(audience, restriction, r.codes, "states"))
	row.Platforms = unlessEmpty(read(audience, restriction, r.codes, "platforms"))
	row.SubscribedMoreThan = read(audience, restriction, whole, "subscribed_more_than_minutes_ago")
	row.SubscribedLessThan = read(audience, restriction, whole, "subscribed_less_than_minutes_ago")
	row.MinAge = read(audience, restriction, whole, "min_age")
	row.MaxAge = read(audience, restriction, whole, "max_age")
	row.Gender = read(audience, restriction, r.upper, "gender")
	row.SourceMode = read(r, needed, r.sourceMode, "source_mode", sourceModeKeys...)

	beside := read(r, optional, yesNo, "unsupported_targeting")
	inside := read(audience, optional, yesNo, "unsupported_targeting")
	switch {
	case known || beside.Valid:
		row.UnsupportedTargeting = schema.Some(beside.V || inside.V)
	default:
		r.miss("unsupported_targeting")
	}
	row.Raw, row.RunID = r.raw, c.RunID
	if r.err != nil {
		return schema.Campaign{}, nil, r.err
	}
	return row, r.unread, nil
}

// Delivery makes a row of a campaign's delivery status, in lower case. One that is
// missing or null in both could not be read, as the description says, and is named
// in unread; where one of the two told it, it is known.
func Delivery(listed, detail extract.Entity, c SettingsContext) (row schema.Delivery, unread []string, err error) {
	const key = "delivery_status"
	r, err := newReader(schema.DeliveryHistory.Name, "campaign_id", detail, listed)
	if err != nil {
		return schema.Delivery{}, nil, err
	}
	r.from = slices.DeleteFunc(r.from, func(fields map[string]extract.Value) bool { return fields[key].Null() })
	row = schema.Delivery{
		AccountID: c.Account, CampaignID: r.id,
		DeliveryStatus: read(r, needed, r.lower, key),
		RunID:          c.RunID,
	}
	if r.err != nil {
		return schema.Delivery{}, nil, r.err
	}
	return row, r.unread, nil
}

// Archived reports whether a listed campaign is archived, which it then stays.
func Archived(listed extract.Entity) bool {
	return strings.EqualFold(string(listed.Fields["status"]), `"archived"`)
}

// absence is what it means that a key is missing.
type absence int

const (
	needed   absence = iota // the value could not be read
	optional                // there is none
)

// reader reads the values of one entity. The first value that is refused is kept,
// and spoils the row.
type reader struct {
	*findings
	from []map[string]extract.Value // the first that has a key counts
}

type findings struct {
	table, id string
	raw       schema.Null[string]
	intern    *Interner
	unread    []string // columns
	err       error
}

// newReader reads an entity of which there may be several replies, the latest
// first. One of them has to have been read, and all have to be about one thing.
func newReader(table, idColumn string, replies ...extract.Entity) (reader, error) {
	r := reader{findings: &findings{table: table, intern: NewInterner()}}
	for _, e := range replies {
		if e.Raw == nil {
			continue
		}
		switch {
		case r.from == nil:
			r.id, r.raw = e.ID, schema.Some(string(e.Raw))
		case e.ID != r.id:
			return r, &FieldError{Table: table, ID: r.id, Column: idColumn, Value: shown(extract.Value(e.ID)), Err: ErrOther}
		}
		r.from = append(r.from, e.Fields)
	}
	if r.id == "" {
		return r, &FieldError{Table: table, Column: idColumn, Err: ErrMissing}
	}
	return r, nil
}

// read reads a column from the first of its keys that is there; its own name, where
// no keys are given. Null is NULL.
func read[T comparable](r reader, absent absence, take func(extract.Value) (T, error), column string, keys ...string) schema.Null[T] {
	v, ok := r.value(column, keys...)
	switch {
	case !ok && absent == needed:
		r.miss(column)
		return schema.Null[T]{}
	case v.Null():
		return schema.Null[T]{}
	}
	t, err := take(v)
	if err != nil {
		r.refuse(column, v, err)
		return schema.Null[T]{}
	}
	return schema.Some(t)
}

// value is the value of the first of the keys that is there.
func (r reader) value(column string, keys ...string) (extract.Value, bool) {
	if len(keys) == 0 {
		keys = []string{column}
	}
	for _, fields := range r.from {
		for _, key := range keys {
			if v, ok := fields[key]; ok {
				return v, true
			}
		}
	}
	return nil, false
}

// within reads an object in the entity. It is not there where it is null.
func (r reader) within(key string) (inner reader, ok bool) {
	inner = reader{findings: r.findings}
	v, _ := r.value(key)
	if v.Null() {
		return inner, false
	}
	fields, ok := v.Object()
	if !ok {
		r.refuse(key, v, ErrForm)
		return inner, false
	}
	inner.from = []map[string]extract.Value{fields}
	return inner, true
}

func (f *findings) miss(column string) { f.unread = append(f.unread, column) }

func (f *findings) refuse(column string, v extract.Value, err error) {
	if f.err == nil {
		f.err = &FieldError{Table: f.table, ID: f.id, Column: column, Value: shown(v), Err: plain(err)}
	}
}

func (f *findings) text(v extract.Value) (string, error) { return f.intern.text(v) }

func (f *findings) lower(v extract.Value) (string, error) {
	s, err := f.word(v)
	return strings.ToLower(s), err
}

func (f *findings) upper(v extract.Value) (string, error) {
	s, err := f.word(v)
	return strings.ToUpper(s), err
}

// word is a text of which the service has a few. A number or a boolean in its place says
// nothing that is known.
func (f *findings) word(v extract.Value) (string, error) {
	if v[0] != '"' {
		return "", ErrNotText
	}
	return f.intern.text(v)
}

// codes is a list of texts that hold no comma, in upper case.
func (f *findings) codes(v extract.Value) (string, error) {
	elements, ok := v.Array()
	if !ok {
		return "", ErrNotList
	}
	list := make([]string, len(elements))
	for i, e := range elements {
		s, err := f.upper(e)
		switch {
		case e.Null() || errors.Is(err, ErrNotText):
			return "", ErrNotList
		case err != nil:
			return "", err
		case strings.Contains(s, ","):
			return "", fmt.Errorf("a comma in a text: %w", ErrForm)
		}
		list[i] = s
	}
	return joined(list), nil
}

// joined is a list in its one form.
func joined(list []string) string {
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

func unlessEmpty(s schema.Null[string]) schema.Null[string] {
	s.Valid = s.V != ""
	return s
}

func (f *findings) instant(v extract.Value) (at schema.Instant, err error) {
	s, err := f.intern.text(v)
	if err != nil {
		return 0, err
	}
	if day, err := schema.ParseDate(s); err == nil {
		return schema.InstantOf(day.Start()), nil
	}
	if at.UnmarshalText([]byte(s)) != nil {
		return 0, ErrNotTime
	}
	return at, nil
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

// amount is money from 0.
func amount(v extract.Value) (schema.Money, error) {
	m, err := money(v)
	if err == nil && m < 0 {
		err = ErrNegative
	}
	return m, err
}

// money is an amount of either sign, such as a balance.
func money(v extract.Value) (schema.Money, error) {
	digits, ok := v.Number()
	if !ok {
		return 0, schema.ErrNotNumber
	}
	m, _, err := schema.ParseMoney(digits)
	return m, err
}

// whole is a whole number from 0.
func whole(v extract.Value) (int64, error) {
	n, err := count(v, false)
	if err == nil && n.V < 0 {
		return 0, ErrNegative
	}
	return n.V, err
}

func yesNo(v extract.Value) (bool, error) {
	if s := string(v); s != "true" && s != "false" {
		return false, ErrNotFlag
	}
	return v[0] == 't', nil
}
