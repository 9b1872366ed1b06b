// # Replies that the description does not show
//
// The description names the fields of the advertiser API and shows no reply. The
// accepted forms are therefore wider than those of any one service. These are all
// the assumptions about them; package transform has those about the fields.
//
//   - JSON is strict, as for the report: valid, one value, no key twice. Invalid UTF-8
//     in a text, and half a character, become U+FFFD. An empty body and a bare null do not
//     count as an answer, and are requested again.
//   - A list is an array, or an object that has the array under data, items, results,
//     result or edges or under the resource's plural (campaigns, creatives), directly or one
//     level deeper ({"data": {"campaigns": [...]}}), or has an object there with each entry
//     under its ID. Arrays under two of these keys are
//     refused: choosing the list would be a guess. A list that is null is refused, too.
//   - One entity is an object, or wrapped in objects under its singular, data, item,
//     result or node, at most two of them. So may be each element of a list. The source
//     settings may be under source_settings, sources or settings.
//   - An object is the entity itself if it has the entity's ID; source settings,
//     if a key mentions a mode, sources, blocked, allowed or bids. The replies about
//     the account have no ID: data is unwrapped if it is an object, and so are me,
//     key_info and balance if there is nothing else but the notices of the service.
//   - An ID is a text under <resource>_id or id, of the form that the description
//     gives. If both keys exist, one must fit, and two that fit must be equal. The
//     ID of a requested entity must be the requested one, and a creative's starts
//     with its campaign's.
//   - How many entries a list has in all may be stated by total, total_count,
//     total_rows, total_items or total_results, next to the array, one level above
//     it, or within pagination, paging, meta, page_info or links there. Anything else, and
//     a total that is not a whole number, counts as none. A total is only compared
//     with the entries that were read (see [Listing]). The same places may state whether
//     more follows: by has_more, has_next, has_next_page or more, or by next, next_page, next_url,
//     next_offset, next_cursor, next_token or next_page_token, which are null at the end.
//     The total of a bare array may be in the header X-Total-Count.
//   - An entry of a list may be the ID alone. An unrecognized entry does not affect
//     the others, but makes the list incomplete.
//   - A key may be in camel case or with hyphens, and the members of an object under
//     attributes, as JSON:API has them.
//   - The limits may be an array; it then counts as the field limits of an object.
//
// A reply of any other form is [ErrContract], which names its keys.
package extract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/schema"
)

// Entity is one object of the account as the service described it, taken out of
// its envelope. Its values are JSON as received, without the blanks in between.
type Entity struct {
	ID     string           // empty for an object without one
	Raw    []byte           // its own JSON, all of it; nil for an entity that was not read
	Fields map[string]Value // the members of the object, see [Value.Fields]; slices of Raw
}

// resource describes how one kind of entity is recognized inside its wrappers.
type resource struct {
	name     string               // "campaign", for errors
	plural   string               // of its lists
	wrappers []string             // keys that it may be wrapped in
	valid    func(id string) bool // whether a text is an ID; nil: it has none
	// is reports whether the object is the entity, and returns its ID. An error is that of an object which nearly is.
	is func(fields map[string]Value) (id string, ok bool, err error)
}

// maxWrappers is how many objects one entity may be wrapped in.
const maxWrappers = 2

// one takes an entity out of its envelope.
func (r resource) one(v Value) (Entity, error) {
	return r.unwrap(v, maxWrappers)
}

// withAttributes adds the members under attributes to those of an object, as in JSON:API (section 7.2.2 of its
// specification). Members next to attributes take precedence.
func withAttributes(fields map[string]Value) map[string]Value {
	inner, ok := fields["attributes"].Fields()
	if !ok {
		return fields
	}
	all := maps.Clone(inner)
	maps.Copy(all, fields)
	return all
}

func (r resource) unwrap(v Value, wrappers int) (Entity, error) {
	if id, isText := v.Text(); isText && r.valid != nil && r.valid(id) {
		return Entity{ID: id, Raw: v}, nil
	}
	fields, ok := v.Fields()
	if !ok {
		return Entity{}, contractf("no %s: a value of type %s, not an object", r.name, kindOf(v))
	}
	fields = withAttributes(fields)
	id, ok, odd := r.is(fields)
	if ok {
		return Entity{ID: id, Raw: v, Fields: fields}, nil
	}
	for _, key := range r.wrappers {
		if _, ok := fields[key].Object(); ok && wrappers > 0 {
			return r.unwrap(fields[key], wrappers-1)
		}
	}
	if odd != nil {
		return Entity{}, odd
	}
	return Entity{}, contractf("no %s: looked for it bare and under %s; the keys are %s",
		r.name, strings.Join(r.wrappers, ", "), Keys(fields))
}

// listPart is one page of a list.
type listPart struct {
	entries []Entity
	shown   int       // entries on the page, those that were refused included
	refused string    // the first entry that is not one, and why
	total   int64     // of the whole list, as far as the page states it; else -1
	more    statement // whether more follows
	most    int       // entries that a page of this kind had in this run
}

// statement is a reply's answer to a question of yes or no.
type statement int

const unsaid statement = 0

// said is the answer that the reply has.
func said(yes bool) statement {
	if yes {
		return 1
	}
	return -1
}

// list takes the entries out of a reply. An entry that is not recognised costs no other; a list
// with no valid entry is rejected.
func (r resource) list(body []byte) (part listPart, err error) {
	doc, err := document(body)
	if err != nil {
		return part, err
	}
	values, around, err := r.array(doc)
	if err != nil {
		return part, err
	}
	part.shown, part.total, part.more = len(values), toldTotal(around), toldMore(around)
	for i, v := range values {
		e, err := r.one(v)
		if err == nil {
			part.entries = append(part.entries, e)
		} else if part.refused == "" {
			part.refused = fmt.Sprintf("entry %d: %s", i+1, reason(err))
		}
	}
	if len(values) > 0 && len(part.entries) == 0 {
		return part, contractf("%s", part.refused)
	}
	return part, nil
}

// array finds the array of a list, and the objects around it, the innermost
// first.
func (r resource) array(v Value) (values []Value, around []map[string]Value, err error) {
	if values, ok := v.Array(); ok {
		return values, nil, nil
	}
	outer, ok := v.Fields()
	if !ok {
		return nil, nil, contractf("no list of %s: a value of type %s", r.plural, kindOf(v))
	}
	found := map[string][]Value{} // by path
	seen := outer
	for _, key := range r.listKeys() {
		if values, ok := r.entries(outer[key]); ok {
			found[key], around = values, []map[string]Value{outer}
		}
	}
	if len(found) == 0 {
		seen = maps.Clone(outer)
		for _, key := range r.listKeys() {
			inner, _ := outer[key].Fields()
			for name, value := range inner {
				path := key + "." + name
				seen[path] = value
				if values, ok := r.entries(value); ok && slices.Contains(r.listKeys(), name) {
					found[path], around = values, []map[string]Value{inner, outer}
				}
			}
		}
	}
	switch len(found) {
	case 1:
		for _, values = range found {
			return values, around, nil
		}
	case 0:
		return nil, nil, contractf("no list of %s: looked for an array, bare or under %s, directly or one level "+
			"deeper; the keys are %s",
			r.plural, strings.Join(r.listKeys(), ", "), Keys(seen))
	}
	return nil, nil, contractf("which list is that of %s: there are %s", r.plural,
		strings.Join(slices.Sorted(maps.Keys(found)), ", "))
}

// entries are those of an array, or of an object that has each of them under its ID.
func (r resource) entries(v Value) (values []Value, ok bool) {
	if values, ok := v.Array(); ok || r.valid == nil || v.Null() || v[0] != '{' {
		return values, ok
	}
	d := newDecoder(v)
	err := d.object(func(name []byte) error {
		id := string(name)
		value, err := d.valueHere()
		if err != nil {
			return err
		}
		values = append(values, value)
		if e, err := r.one(value); err != nil || e.ID != id {
			return contractf("%s is not the ID of its value", quote([]byte(id), 60))
		}
		return nil
	})
	return values, err == nil && len(values) > 0
}

func (r resource) listKeys() []string {
	return []string{r.plural, "data", "items", "results", "result", "edges"}
}

// besideList are the objects in which a reply may state the length of its list and whether more follows.
func besideList(around []map[string]Value) (places []map[string]Value) {
	for _, fields := range around {
		places = append(places, fields)
		for _, key := range []string{"pagination", "paging", "meta", "page_info", "links"} {
			if inner, ok := fields[key].Fields(); ok {
				places = append(places, inner)
			}
		}
	}
	return places
}

// toldTotal is the total next to a list, or -1.
func toldTotal(around []map[string]Value) int64 {
	for _, place := range besideList(around) {
		for _, key := range []string{"total", "total_count", "total_rows", "total_items", "total_results"} {
			digits, _ := place[key].Number()
			if n, err := schema.ParseCount(digits); err == nil && n >= 0 {
				return n
			}
		}
	}
	return -1
}

// toldMore reports whether more follows: explicitly, or through a next link, which is not null or empty.
func toldMore(around []map[string]Value) statement {
	for _, place := range besideList(around) {
		for _, key := range []string{"has_more", "has_next", "has_next_page", "more"} {
			switch string(place[key]) {
			case "true":
				return said(true)
			case "false":
				return said(false)
			}
		}
		for _, key := range []string{"next", "next_page", "next_url", "next_offset", "next_cursor", "next_token",
			"next_page_token"} {
			if v, ok := place[key]; ok {
				text, isText := v.Text()
				return said(!v.Null() && (!isText || text != "") && string(v) != "false")
			}
		}
	}
	return unsaid
}

// byID is the rule for entities with an ID, which lies under one of the keys and is
// told by its form.
func byID(name string, valid func(string) bool) func(map[string]Value) (string, bool, error) {
	keys := []string{name + "_id", "id"}
	return func(fields map[string]Value) (id string, ok bool, err error) {
		var odd []string
		for _, key := range keys {
			v, there := fields[key]
			text, isText := v.Text()
			switch {
			case !there:
			case !isText || !valid(text):
				odd = append(odd, key+" "+printable(v, 60))
			case ok && text != id:
				return "", false, contractf("%s_id %s and id %s are both IDs of a %s", name, id, text, name)
			default:
				id, ok = text, true
			}
		}
		if !ok && odd != nil {
			err = contractf("%s is no %s ID", strings.Join(odd, " or "), name)
		}
		return id, ok, err
	}
}

// digits reports whether a text has this many digits and nothing else.
func digits(s string, least, most int) bool {
	return len(s) >= least && len(s) <= most && strings.Trim(s, "0123456789") == ""
}

// IsCampaignID reports whether a text has the form of a campaign ID: the letter C
// and 7 to 10 digits.
func IsCampaignID(s string) bool {
	number, ok := strings.CutPrefix(s, "C")
	return ok && digits(number, 7, 10)
}

// IsCreativeID reports whether a text has the form of a creative ID: the ID of a
// campaign, a hyphen, and 3 to 6 digits.
func IsCreativeID(s string) bool {
	campaign, number, ok := strings.Cut(s, "-")
	return ok && IsCampaignID(campaign) && digits(number, 3, 6)
}

// IsSourceID reports whether a text has the form of a source ID: 1 to 40 letters,
// digits, underscores and hyphens.
func IsSourceID(s string) bool {
	return len(s) >= 1 && len(s) <= 40 && strings.Trim(s,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
