package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

// SettingsContext holds what a row of settings needs besides the replies.
type SettingsContext struct {
	Account, RunID string
	Service        *service.Service // the names of the keys in a reply; nil: those of the embedded service.yaml
}

// Reply holds the service's replies about one campaign or one creative.
type Reply struct {
	Listed   extract.Entity // a campaign's entry in a list, or a creative's short entry; zero: not read
	Own      extract.Entity // the reply about one entity, or a creative's entry that is not short; zero: not read
	Campaign string         // the campaign of a creative
}

// The reasons for refusing a value of the settings, in addition to those in errors.go.
var (
	// ErrNotList reports that a value is not the expected list of texts.
	ErrNotList = errors.New("not a list of texts")
	// ErrUnnamed reports that a value is not in the description's list for its column, or does not have the described
	// form. The value is stored all the same.
	ErrUnnamed = errors.New("not a word that the description names")
	// ErrNotTime reports that a value is not a time.
	ErrNotTime = errors.New("neither an RFC 3339 time nor a day; its form, in Go's layout, is a line times.forms of " +
		"SPENDSYNC_SERVICE_FILE")
	// ErrNoZone reports that a time has no zone. The service uses two zones, one for the report and one for the
	// budgets, so choosing one would be a guess.
	ErrNoZone = errors.New("a time without a zone; the line times.zone of SPENDSYNC_SERVICE_FILE names it")
	// ErrNotFlag reports that a value is neither true nor false.
	ErrNotFlag = errors.New("neither true nor false")
	// ErrForm reports that a value has an unexpected structure, for example an object in place of a list.
	ErrForm = errors.New("a form that is not known")
	// ErrCurrency reports that an amount is not in the only currency that is stored.
	ErrCurrency = errors.New("another currency")
	// ErrOther reports that a value is about another entity than the requested one.
	ErrOther = errors.New("not the one asked for")
)

// errBlank reports an empty text in place of a value of another type. Such a text counts as a missing key.
var errBlank = errors.New("an empty text")

// FieldError names a refused value of an entity, and the reason. It is also an [extract.ErrContract]: the service's
// description does not allow the value.
type FieldError struct {
	Table  string // for example "campaign_history"
	ID     string // ID of the entity; empty for the account
	Column string
	Value  string // JSON as received, at most 60 bytes of it; empty: the key was absent
	Err    error
}

// Error returns the place, the value and the reason. The value is escaped if it is not printable.
func (e *FieldError) Error() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(e.Table+" "+e.ID) + ": " + e.Column)
	writeValue(&b, e.Value)
	return b.String() + ": " + e.Err.Error()
}

// Unwrap returns Err and [extract.ErrContract].
func (e *FieldError) Unwrap() []error { return []error{e.Err, extract.ErrContract} }

// Decoded is the result of decoding the fields of one entity. A wrong field affects neither the other fields nor the
// entity.
type Decoded struct {
	// Unread are the columns that could not be read. They are NULL in the row; the caller uses the last known values.
	Unread []string
	// Withheld are the columns in Unread that the service itself could not read. By the service's description, it sends
	// null for such a value. The other columns in Unread lack their key, or have a value that was not understood.
	Withheld []string
	// Refused are the values that were not understood, the first of each column.
	Refused []*FieldError
	// Unnamed are values that were stored although they are not in the description's list for their column, or do not
	// have the described form.
	Unnamed []*FieldError
	// Damaged are the columns whose text is not exactly as sent. The reply had a number in place of the text, or half
	// of a surrogate pair, which became U+FFFD, or a NUL, which was escaped.
	Damaged []string
	// Null, Missing, Blank and Omitted are the columns that are not set, by how the reply lacks them. Null: a null or
	// an empty list; Missing: no key; Blank: an empty text or 0; Omitted: no key in a readable audience. All are NULL
	// in the row. The caller decides which of these columns lose their known value: see [Unsettable].
	Null, Missing, Blank, Omitted []string
	// Read are the keys whose values were read; a key may occur more than once. See [ExtraKeysIn].
	Read []string
}

// Err returns the error of the first refused value, or nil.
func (r *Decoded) Err() error {
	if len(r.Refused) == 0 {
		return nil
	}
	return r.Refused[0]
}

// Message returns the error of a refused value of the column. NULL: no value of the column was refused.
func (r *Decoded) Message(column string) schema.Null[string] {
	for _, e := range r.Refused {
		if e.Column == column {
			return schema.Some(e.Error())
		}
	}
	return schema.Null[string]{}
}

// Unsettable are the columns that, by the service's description, an entity may lack. If a reply has no value for any
// other column, the caller keeps the known value.
var Unsettable = append([]string{"target_cpa", "end_at", "image_id", "button1", "button2", "rejection_reasons",
	"rejection_comment"}, AudienceColumns...)

// absence is the meaning of a missing key.
type absence int

const (
	required absence = iota // every entity has a value, so missing, null and blank are all unread
	needed                  // a missing key is unread; null means that there is no value
	optional                // a missing key and null both mean that there is no value
)

// reader reads the values of one entity.
type reader struct {
	*entityContext
	from    []map[string]extract.Value // objects in which to look for a key, in this order
	section string                     // section of the service file that names the keys
}

// entityContext is the entity that is being read, with the results so far.
type entityContext struct {
	table, id string
	raw       schema.Null[string]
	intern    *Interner
	service   *service.Service
	Decoded
}

// newReader returns a reader of an entity from one or more replies, the latest first. At least one reply must have been
// read, and all must be about the same entity.
func newReader(s *service.Service, section, table, idColumn string, replies ...extract.Entity) (reader, error) {
	r := reader{entityContext: &entityContext{table: table, intern: NewInterner(), service: s}, section: section}
	for _, e := range replies {
		if e.Raw == nil {
			continue
		}
		switch {
		case r.from == nil:
			r.id, r.raw = e.ID, schema.Some(string(e.Raw))
		case e.ID != r.id:
			return r, &FieldError{Table: table, ID: r.id, Column: idColumn, Value: shown(extract.Value(e.ID)),
				Err: ErrOther}
		}
		r.from = append(r.from, e.Fields)
	}
	if r.id == "" {
		return r, &FieldError{Table: table, Column: idColumn, Err: ErrMissing}
	}
	return r, nil
}

// read returns the value of a column, from the first key that exists. The keys are listed in the reader's section of
// the service file, in the line with the column's name. If a name is given, it replaces the column's name. If take()
// refuses the value, the column is unread.
func read[T comparable](
	r reader, absent absence, take func(extract.Value) (T, error), column string, name ...string,
) schema.Null[T] {
	return readKeys(r, absent, take, column, r.names(append(name, column)[0])...)
}

// readKeys returns the value of a column, from the first of the given keys that exists.
func readKeys[T comparable](
	r reader, absent absence, take func(extract.Value) (T, error), column string, keys ...string,
) schema.Null[T] {
	v, ok := r.value(keys...)
	if ok && v.Null() {
		if absent == required {
			r.miss(column)
		} else {
			r.Null = append(r.Null, column)
		}
		return schema.Null[T]{}
	}
	unset := &r.Missing
	if ok {
		unset = &r.Blank
		t, err := take(v)
		if r.intern.isDamaged {
			r.intern.isDamaged, r.Damaged = false, append(r.Damaged, column)
		}
		switch {
		case err == nil:
			return schema.Some(t)
		case absent == optional && errors.Is(err, errBlank) && isEmptyList(v): // an empty list counts as null
			r.Null = append(r.Null, column)
			return schema.Null[T]{}
		case !errors.Is(err, errBlank):
			r.refuse(column, v, err)
			r.miss(column)
			return schema.Null[T]{}
		}
	}
	if absent == optional {
		*unset = append(*unset, column)
	} else {
		r.miss(column)
	}
	return schema.Null[T]{}
}

func isEmptyList(v extract.Value) bool {
	list, ok := v.Array()
	return ok && len(list) == 0
}

// names returns the keys that the service file lists under a name in the reader's section.
func (r reader) names(name string) []string { return r.service.Names(r.section + "." + name) }

// value returns the value of the first key that exists. It tries all keys in the first of the reader's objects, then in
// the next.
func (r reader) value(keys ...string) (extract.Value, bool) {
	for _, fields := range r.from {
		for _, key := range keys {
			if v, ok := fields[key]; ok {
				r.Read = append(r.Read, key)
				return v, true
			}
		}
	}
	return nil, false
}

func (r reader) has(keys []string) bool {
	_, ok := r.value(keys...)
	return ok
}

// inside returns a reader of an object within the entity. It finds keys by the names in a section of the service file.
func (r reader) inside(section string, fields map[string]extract.Value) reader {
	return reader{entityContext: r.entityContext, section: section, from: []map[string]extract.Value{fields}}
}

// within returns a reader of an inner object, for example the audience. In the service file, the line with that name
// lists the possible keys of the object, and the section with that name lists the keys within the object. ok is false
// if there is no such object. An empty list counts as an empty object, because some languages write an empty object as
// [].
func (r reader) within(name string) (inner reader, ok bool) {
	v, _ := r.value(r.names(name)...)
	if v.Null() {
		return r.inside(name, nil), false
	}
	fields, ok := v.Object()
	if list, isList := v.Array(); isList && len(list) == 0 {
		return r.inside(name, map[string]extract.Value{}), true
	}
	if !ok {
		r.refuse(name, v, ErrForm)
	}
	return r.inside(name, fields), ok
}

// foreign reports whether the reply names another currency than the stored one. If so, foreign also records that the
// given columns, which have amounts, were refused and keep their stored values.
func (r reader) foreign(columns ...string) bool {
	v, ok := r.value(r.service.Names("currency.keys")...)
	if !ok || extract.OtherCurrency(r.service, v) == "" {
		return false
	}
	for _, column := range columns {
		r.refuse(column, v, fmt.Errorf("%w: only %s is stored", ErrCurrency, r.service.Text("currency.code")))
		r.miss(column)
	}
	return true
}

// forgetUnset removes columns from Null, Missing and Blank. They then do not count as missing from the reply.
func (c *entityContext) forgetUnset(columns ...string) {
	among := func(column string) bool { return slices.Contains(columns, column) }
	c.Null, c.Missing, c.Blank = slices.DeleteFunc(c.Null, among), slices.DeleteFunc(c.Missing, among),
		slices.DeleteFunc(c.Blank, among)
}

func (c *entityContext) miss(column string) {
	if !slices.Contains(c.Unread, column) {
		c.Unread = append(c.Unread, column)
	}
}

// refuse records a refused value, but only the first of each column.
func (c *entityContext) refuse(column string, v extract.Value, err error) {
	isColumn := func(e *FieldError) bool { return e.Table == c.table && e.Column == column }
	if !slices.ContainsFunc(c.Refused, isColumn) {
		c.Refused = append(c.Refused, &FieldError{Table: c.table, ID: c.id, Column: column, Value: shown(v),
			Err: reasonOf(v, err)})
	}
}
