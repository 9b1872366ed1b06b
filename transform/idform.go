package transform

import (
	"slices"
	"strings"
	"unicode"
	"unsafe"

	"spendsync/extract"
	"spendsync/extract/service"
)

// OddID is the first ID of a form that the service's description does not give for IDs of
// its column. The ID is stored all the same: a form informs, it refuses nothing.
type OddID struct {
	Column string
	Form   string // in words
	Value  string // JSON as received, at most 60 bytes
}

// idColumn is a column of IDs. The service has the form that is known for them.
type idColumn struct{ name string }

var (
	campaignIDs = &idColumn{"campaign_id"}
	creativeIDs = &idColumn{"creative_id"}
	sourceIDs   = &idColumn{"source_id"}
)

// usualSources reports whether the IDs of sources have the form of the description.
func usualSources(s *service.Service) bool {
	return s.Text("forms.source_id") == service.Default().Text("forms.source_id")
}

// The forms of IDs that are odd.
const (
	formBlanks = "blanks around it"
	formNoID   = "a word for none"
	formNumber = "a number"
	formOther  = "another form"
)

// wordsForNone are what programs write where a value is missing. None is an ID that the
// description shows.
var wordsForNone = []string{
	"n/a", "na", "nan", "none", "null", "nil", "undefined", "unknown", "missing", "empty", "(none)", "(not set)",
	"not set", "not_set",
}

// form returns the odd form of an ID without blanks around it, or nothing for a usual one.
func (c *idColumn) form(s *service.Service, id string) string {
	isSign := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	switch {
	case slices.Contains(wordsForNone, strings.ToLower(id)), strings.TrimFunc(id, isSign) == "":
		return formNoID
	case s.HasForm(c.name, id):
		return ""
	}
	return formOther
}

// idForms collects the first ID of each odd form.
type idForms struct {
	service *service.Service
	ids     map[*idColumn]map[string]string // that were noted, from the JSON as received
	seen    map[OddID]bool                  // without their values
	odd     []OddID                         // since take
}

// note records an ID of a column as received, and its form without blanks.
func (f *idForms) note(c *idColumn, v extract.Value, id string) {
	if f.ids == nil {
		f.ids = map[*idColumn]map[string]string{campaignIDs: {}, creativeIDs: {}, sourceIDs: {}}
	}
	f.ids[c][string(v)] = id
	if text, _ := v.Text(); text != id {
		f.add(c, formBlanks, v)
	}
	if form := c.form(f.service, id); id != "" && form != "" {
		f.add(c, form, v)
	}
}

func (f *idForms) add(c *idColumn, form string, v extract.Value) {
	odd := OddID{Column: c.name, Form: form}
	if f.seen[odd] {
		return
	}
	if f.seen == nil {
		f.seen = map[OddID]bool{}
	}
	f.seen[odd] = true
	odd.Value = shown(v)
	f.odd = append(f.odd, odd)
}

func (f *idForms) take() []OddID {
	odd := f.odd
	f.odd = nil
	return odd
}

// idIn is id for a column of the report. It notes the ID's form when it first comes.
func (n *Interner) idIn(c *idColumn, v extract.Value) (string, error) {
	if id, ok := n.forms.ids[c][string(v)]; ok {
		return id, nil
	}
	id, err := n.id(v)
	if err == nil && !v.Null() {
		n.forms.note(c, v, id)
	}
	return id, err
}

func (n *Interner) campaignID(v extract.Value) (string, error) { return n.idIn(campaignIDs, v) }
func (n *Interner) creativeID(v extract.Value) (string, error) { return n.idIn(creativeIDs, v) }

// sourceID is that of a source, which may be a number. Those of campaigns and creatives have letters: a number in their
// place is damage, and the row would go to another campaign.
func (n *Interner) sourceID(v extract.Value) (string, error) {
	as := v.ID()
	if len(as) == len(v) {
		return n.idIn(sourceIDs, v)
	}
	n.forms.add(sourceIDs, formNumber, v)
	return n.id(as)
}

// The classes of the bytes that plainID looks for.
const (
	isToken = 1 << iota
	isDigit
)

var idBytes = func() (class [256]uint8) {
	for c := range class {
		switch {
		case c >= '0' && c <= '9':
			class[c] = isToken | isDigit
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_':
			class[c] = isToken
		}
	}
	return class
}()

// plainID returns a source's ID that consists of letters, digits, hyphens and underscores, with
// a digit, as nearly all do: to look at its bytes takes less than to find it among many. The ID shares its bytes
// with v.
func plainID(v extract.Value) (id string, ok bool) {
	if len(v) < 3 || len(v) > 42 || v[0] != '"' {
		return "", false
	}
	inner := v[1 : len(v)-1]
	first := idBytes[inner[0]]
	every, rest := first, uint8(0)
	for _, c := range inner[1:] {
		class := idBytes[c]
		every, rest = every&class, rest|class
	}
	if every&isToken == 0 || (first|rest)&isDigit == 0 {
		return "", false
	}
	return unsafe.String(&inner[0], len(inner)), true
}
