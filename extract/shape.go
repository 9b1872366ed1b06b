// # Replies that the description does not show
//
// The description names the fields of the advertiser API and shows no reply. Package service has the names that are
// tried, as data. These are the rules:
//
//   - JSON is strict, as it is for the report: valid, one value, no key twice. What is
//     not UTF-8 in a text, and half a character, is U+FFFD. An empty body and a bare null are no
//     answer, and are asked for again.
//   - A list is the array that a reply is, or has under one of the keys of "lists" or under the resource's plural
//     (campaigns, creatives), directly or one level deeper, or an object there with each entry under its ID; or else
//     the only array of objects within these two levels. Two of them are refused: which is the list would be a guess.
//     A reply without a list whose total is 0 is an empty list.
//   - One entity is an object, or wrapped in objects under the keys of "wrappers", at most two of them. So may be
//     each element of a list.
//   - An object is the entity itself when it has the entity's ID; source settings,
//     when a key speaks of a mode, of sources, of blocked, of allowed or of bids.
//     The replies about the account have no ID: they are unwrapped where their envelope stands alone or beside
//     the notices of the service.
//   - An ID is a text, a whole number, or an object that has one, under one of the keys of "ids". A text of the known
//     form comes before one of another form, and an entity within an envelope before an envelope that has an ID of
//     its own. Two IDs of the known form have to be equal. The ID of the entity that was asked for has to be the
//     one asked for.
//   - How many entries a list has in all may be stated under the keys of "total", beside the array, one level above
//     it, or within an object of "beside" there, or else under the only key there that speaks of a total. What is not
//     a whole number counts as none. A total is only ever held
//     against what was read (see [Listing]).
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
	"unicode"
	"unicode/utf8"

	"spendsync/extract/service"
	"spendsync/schema"
)

// Entity is one object of the account as the service described it, taken out of
// its envelope. Its values are JSON as received, without the blanks in between.
type Entity struct {
	ID     string           // empty for an object without one
	Raw    []byte           // its own JSON, all of it; nil for an entity that was not read
	Fields map[string]Value // the members of the object, see [Value.Fields]; slices of Raw

	byNumber bool // its ID is a number
}

// resource describes how one kind of entity is recognized inside its wrappers.
type resource struct {
	service  *service.Service
	name     string   // "campaign", for errors
	plural   string   // of its lists; empty: there are none
	wrappers []string // keys that it may be wrapped in
	// is finds the ID of an object that is the entity. An error is that of an
	// object which nearly is.
	is func(fields map[string]Value) (foundID, error)
}

// foundID is the ID of an object that may be an entity.
type foundID struct {
	id     string
	sure   sureness
	number bool // it is a number
}

// sureness is how surely an object with an ID is the entity, and not an envelope with an ID of its own.
type sureness int

const (
	noID    sureness = iota
	unsure           // an ID of no known form under a key that anything may have
	certain          // an ID of the known form, or under a key with the entity's name
)

// maxWrappers is how many objects one entity may be wrapped in.
const maxWrappers = 2

// one takes an entity out of its envelope.
func (r resource) one(v Value) (Entity, error) {
	return r.unwrap(v, maxWrappers)
}

// withAttributes adds the members under attributes to those of an object, as in JSON:API (section 7.2.2 of its
// specification). Members next to attributes take precedence.
func withAttributes(s *service.Service, fields map[string]Value) map[string]Value {
	for _, key := range s.Names("wrappers.attributes") {
		if inner, ok := fields[key].Fields(); ok {
			all := maps.Clone(inner)
			maps.Copy(all, fields)
			return all
		}
	}
	return fields
}

func (r resource) unwrap(v Value, wrappers int) (Entity, error) {
	if id, isText := v.Text(); isText && r.plural != "" && IsToken(id) && strings.ContainsAny(id, "0123456789") {
		return Entity{ID: id, Raw: v}, nil
	}
	fields, ok := v.Fields()
	if !ok {
		return Entity{}, contractf("no %s: a value of type %s, not an object", r.name, kindOf(v))
	}
	fields = withAttributes(r.service, fields)
	found, odd := r.is(fields)
	if found.sure == certain {
		return Entity{ID: found.id, Raw: v, Fields: fields, byNumber: found.number}, nil
	}
	for _, key := range r.wrappers {
		if _, ok := fields[key].Object(); ok && wrappers > 0 {
			e, err := r.unwrap(fields[key], wrappers-1)
			if err == nil || found.sure == noID {
				return e, err
			}
		}
	}
	if found.sure == unsure {
		return Entity{ID: found.id, Raw: v, Fields: fields, byNumber: found.number}, nil
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
	shown   int    // entries on the page, those that were refused included
	refused string // the first entry that is not one, and why
	total   int64  // of the whole list, as far as the page states it; else -1
	most    int    // entries that a page of this kind had in this run
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
	part.shown, part.total = len(values), toldTotal(r.service, around)
	texts := 0 // entries whose IDs are texts
	all := make([]Entity, len(values))
	errs := make([]error, len(values))
	for i, v := range values {
		if all[i], errs[i] = r.one(v); errs[i] == nil && !all[i].byNumber {
			texts++
		}
	}
	for i, e := range all {
		err := errs[i]
		if err == nil && e.byNumber && texts > 0 {
			// Among texts a number is damage, and not another form.
			err = contractf("id %s is no %s ID: those of other entries are texts", e.ID, r.name)
		}
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

// foundList is an array, or an object of entries under their IDs, within a reply.
type foundList struct {
	path   string
	values []Value
	around []map[string]Value // the objects around it, the innermost first
}

// array finds the array of a list, and the objects around it, the innermost first: the one under a known name, or else
// the only one with objects.
func (r resource) array(v Value) (values []Value, around []map[string]Value, err error) {
	if values, ok := v.Array(); ok {
		return values, nil, nil
	}
	outer, ok := v.Fields()
	if !ok {
		return nil, nil, contractf("no list of %s: a value of type %s", r.plural, kindOf(v))
	}
	if isError(outer) {
		return nil, nil, contractf("no list of %s: the reply is an error", r.plural)
	}
	for _, candidates := range [][]foundList{
		r.listsIn(outer, nil, "", true, 1), r.listsIn(outer, nil, "", true, listLevels), r.listsOfObjects(outer),
	} {
		switch len(candidates) {
		case 0:
		case 1:
			return candidates[0].values, candidates[0].around, nil
		default:
			var paths []string
			for _, c := range candidates {
				paths = append(paths, c.path)
			}
			return nil, nil, contractf("which list is that of %s: there are %s; the line lists.only of "+
				"SPENDSYNC_SERVICE_FILE names the one", r.plural, strings.Join(paths, ", "))
		}
	}
	if around := []map[string]Value{outer}; toldTotal(r.service, around) == 0 {
		return nil, around, nil
	}
	return nil, nil, contractf("no list of %s: looked for an array under %s; the keys are %s; name the right one in "+
		"the line lists of SPENDSYNC_SERVICE_FILE", r.plural, strings.Join(r.listKeys(), ", "), keysOfLevels(outer))
}

// listLevels is how deep within a reply a list may be.
const listLevels = 2

// listsIn finds the lists of an object, in the order of their keys; named: those under the names of lists alone.
func (r resource) listsIn(fields map[string]Value, around []map[string]Value, path string, named bool, levels int) (
	lists []foundList) {
	around = append([]map[string]Value{fields}, around...)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if named && !slices.Contains(r.listKeys(), key) {
			continue
		}
		if values, ok := r.entries(fields[key]); ok {
			lists = append(lists, foundList{path: path + key, values: values, around: around})
		} else if inner, ok := fields[key].Fields(); ok && levels > 1 {
			lists = append(lists, r.listsIn(inner, around, path+key+".", named, levels-1)...)
		}
	}
	return lists
}

// listsOfObjects are the arrays of objects under any names.
func (r resource) listsOfObjects(outer map[string]Value) (lists []foundList) {
	return slices.DeleteFunc(r.listsIn(outer, nil, "", false, listLevels), func(l foundList) bool {
		isOther := func(v Value) bool { return len(v) == 0 || v[0] != '{' }
		return len(l.values) == 0 || slices.ContainsFunc(l.values, isOther)
	})
}

// keysOfLevels names the keys of an object and of the objects in it.
func keysOfLevels(outer map[string]Value) string {
	seen := maps.Clone(outer)
	for key, value := range outer {
		inner, _ := value.Fields()
		for name := range inner {
			seen[key+"."+name] = nil
		}
	}
	return Keys(seen)
}

// entries are those of an array, or of an object that has each of them under its ID.
func (r resource) entries(v Value) (values []Value, ok bool) {
	if values, ok := v.Array(); ok || r.plural == "" || v.Null() || v[0] != '{' {
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
	return append([]string{r.plural}, r.service.Names("lists")...)
}

// besideList are the objects in which a reply may state the length of its list.
func besideList(s *service.Service, around []map[string]Value) (places []map[string]Value) {
	for _, fields := range around {
		places = append(places, fields)
		for _, key := range s.Names("beside") {
			if inner, ok := fields[key].Fields(); ok {
				places = append(places, inner)
			}
		}
	}
	return places
}

// toldTotal is the total next to a list, or -1: the number under a known name, or else the only one whose name speaks
// of a total.
func toldTotal(s *service.Service, around []map[string]Value) int64 {
	places := besideList(s, around)
	number := func(v Value) int64 {
		digits, _ := v.Number()
		if n, err := schema.ParseCount(digits); err == nil && n >= 0 {
			return n
		}
		return -1
	}
	for _, place := range places {
		for _, key := range s.Names("total") {
			if n := number(place[key]); n >= 0 {
				return n
			}
		}
	}
	var others []int64
	for _, place := range places {
		for key, v := range place {
			if n := number(v); n >= 0 && strings.Contains(key, "total") && !strings.Contains(key, "page") {
				others = append(others, n)
			}
		}
	}
	if len(others) == 1 {
		return others[0]
	}
	return -1
}

// byID is the rule for entities with an ID under one of the keys of "ids".
func byID(s *service.Service, name string) func(map[string]Value) (foundID, error) {
	column, other := name+"_id", "creative_id"
	if name == "creative" {
		other = "campaign_id"
	}
	return func(fields map[string]Value) (found foundID, err error) {
		var odd []string
		known, knownKey := "", ""
		for _, key := range s.Names("ids." + name) {
			v, there := fields[key]
			if !there {
				continue
			}
			id, ok := IDOf(s, v)
			switch {
			case !ok, s.HasForm(other, id):
				odd = append(odd, key+" "+printable(v, 60))
			case s.HasForm(column, id) && known != "" && known != id:
				return foundID{}, contractf("%s %s and %s %s are both IDs of a %s", knownKey, known, key, id, name)
			case s.HasForm(column, id):
				known, knownKey, found = id, key, foundID{id: id, sure: certain}
			case found.sure == noID && key == column:
				found = foundID{id: id, sure: certain, number: v.isNumber()}
			case found.sure == noID:
				found = foundID{id: id, sure: unsure, number: v.isNumber()}
			}
		}
		if found.sure == noID && odd != nil {
			err = contractf("%s is no %s ID", strings.Join(odd, " or "), name)
		}
		return found, err
	}
}

// IDOf returns the ID that a value is: a text, a whole number, or an object that has one, such as an entity in the
// place of its ID.
func IDOf(s *service.Service, v Value) (id string, ok bool) {
	if fields, isObject := v.Object(); isObject {
		for _, key := range s.Names("ids.within") {
			if inner, there := fields[key]; there {
				v = inner
				break
			}
		}
	}
	id, ok = v.ID().Text()
	id = strings.TrimSpace(id)
	return id, ok && IsID(id)
}

// maxID is the longest ID, in bytes. The description allows 40 characters.
const maxID = 200

// IsID reports whether a text can be an ID: no blanks around it, no control character, no U+FFFD, and nothing that has
// a meaning in a path. The forms that the description gives are those of [service.Service.HasForm]; an ID of
// another form is one, too.
func IsID(s string) bool {
	return s != "" && len(s) <= maxID && s == strings.TrimSpace(s) && s != "." && s != ".." &&
		!strings.ContainsAny(s, "/\\?#%") &&
		!strings.ContainsFunc(s, unicode.IsControl) && !strings.ContainsRune(s, utf8.RuneError)
}

// IsToken reports whether a text consists of 1 to 40 letters, digits, underscores and hyphens, as all IDs that the
// description shows.
func IsToken(s string) bool {
	return len(s) >= 1 && len(s) <= 40 && strings.Trim(s,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
