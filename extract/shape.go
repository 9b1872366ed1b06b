// # Replies that the description does not show
//
// The description names the fields of the advertiser API and shows no reply. What it leaves open is declared, in
// lines of package service; these are the rules:
//
//   - JSON is strict, as it is for the report: valid, one value, no key twice. What is not UTF-8 in a text, and half a
//     character, is U+FFFD. An empty body and a bare null are no answer, and are asked for again.
//   - A list is an array, or an object with one array of objects; where there are several, a line of lists names the
//     one. It is asked for until a page brings nothing new, or has the last of as many entries as the total that the
//     line paging.total declares.
//   - An entity is the object that has its ID, directly or one level deeper; source settings are the object with a key
//     of the lines of sources. The ID of the entity that was asked for has to be the one asked for.
//   - An ID is a text or a whole number. An unrecognized entry does not affect the others, but makes the list
//     incomplete.
//   - Keys are written as the lines have them.
//
// A reply of any other form is [ErrContract], which names its keys and the line that would name them.
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
	Fields map[string]Value // the members of the object; slices of Raw
}

// resource describes how one kind of entity is recognized.
type resource struct {
	service *service.Service
	name    string // "campaign", for errors
	plural  string // of its lists; empty: there are none
	line    string // with the keys that it is recognized by, for errors
	// id returns the ID of an object that is the entity.
	id func(fields map[string]Value) (id string, ok bool)
}

// one returns the entity in a reply, or in an entry of a list: the object that has the ID.
func (r resource) one(v Value) (Entity, error) {
	fields, ok := v.Object()
	if !ok {
		return Entity{}, contractf("no %s: a value of type %s, not an object", r.name, kindOf(v))
	}
	if id, ok := r.id(fields); ok {
		return Entity{ID: id, Raw: v, Fields: fields}, nil
	}
	var found []Entity
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		inner, _ := fields[key].Object()
		if id, ok := r.id(inner); ok {
			found, keys = append(found, Entity{ID: id, Raw: fields[key], Fields: inner}), append(keys, key)
		}
	}
	switch len(found) {
	case 0:
		return Entity{},
			contractf("no %s: no object has an ID under a key of the line %s (%s); the keys are %s; a line "+
				"of SPENDSYNC_SERVICE_FILE names another", r.name, r.line, r.idKeys(), Keys(keysOfLevels(fields)))
	case 1:
		return found[0], nil
	}
	return Entity{}, contractf("which object is the %s: %s have an ID of one", r.name, strings.Join(keys, " and "))
}

// idKeys are the keys that the entity is recognized by.
func (r resource) idKeys() string {
	if !strings.HasPrefix(r.line, "ids.") {
		return "as built in"
	}
	return strings.Join(r.service.Names(r.line), ", ")
}

// listPage is one page of a list.
type listPage struct {
	entries []Entity
	shown   int    // entries on the page, those that were refused included
	refused string // the first entry that is not one, and why
	total   int64  // of the whole list, as far as the page states it; else -1
}

// list takes the entries out of a reply. An entry that is not recognised costs no other; a list
// with no valid entry is rejected.
func (r resource) list(body []byte) (part listPage, err error) {
	doc, err := document(body)
	if err != nil {
		return part, err
	}
	values, err := r.array(doc)
	if err != nil {
		return part, err
	}
	part.shown, part.total = len(values), -1
	digits, _ := doc.at(r.service.Text("paging.total")).Number()
	if n, err := schema.ParseCount(digits); err == nil && n >= 0 {
		part.total = n
	}
	for i, v := range values {
		if e, err := r.one(v); err == nil {
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

// array returns the entries of a list: of the reply itself if it is an array, else of the array that a line of the
// service file names, else of the only array of objects in the reply.
func (r resource) array(doc Value) ([]Value, error) {
	if values, ok := doc.Array(); ok {
		return values, nil
	}
	fields, ok := doc.Object()
	if !ok {
		return nil, contractf("no list of %s: a value of type %s", r.plural, kindOf(doc))
	}
	for _, path := range r.service.Names("lists." + r.plural) {
		if values, ok := doc.at(path).Array(); ok {
			return values, nil
		}
	}
	all := arraysOfObjects("", fields)
	filled := slices.DeleteFunc(slices.Clone(all), func(l foundList) bool { return len(l.values) == 0 })
	switch {
	case len(all) == 1:
		return all[0].values, nil
	case len(filled) == 1:
		return filled[0].values, nil
	case len(all) == 0: // deeper ones need a line
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			inner, _ := fields[key].Object()
			all = append(all, arraysOfObjects(key+".", inner)...)
		}
	}
	paths := []string{"KEY"}
	for i, l := range all {
		paths = append(paths[:i], l.path)
	}
	return nil, contractf("no list of %s: the reply is not an array, and no object with one array of objects; its "+
		"keys are %s; the line of SPENDSYNC_SERVICE_FILE that names the array is lists.%s: %s", r.plural,
		Keys(keysOfLevels(fields)), r.plural, strings.Join(paths, ", or "))
}

// foundList is an array of objects within a reply.
type foundList struct {
	path   string
	values []Value
}

// arraysOfObjects are the members of an object that are arrays of nothing but objects, in the order of their keys.
func arraysOfObjects(prefix string, fields map[string]Value) (lists []foundList) {
	isOther := func(v Value) bool { return len(v) == 0 || v[0] != '{' }
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if values, ok := fields[key].Array(); ok && !slices.ContainsFunc(values, isOther) {
			lists = append(lists, foundList{path: prefix + key, values: values})
		}
	}
	return lists
}

// keysOfLevels returns the keys of an object and of the objects in it.
func keysOfLevels(outer map[string]Value) map[string]Value {
	seen := maps.Clone(outer)
	for key, value := range outer {
		inner, _ := value.Object()
		for name := range inner {
			seen[key+"."+name] = nil
		}
	}
	return seen
}

// byID recognizes entities by an ID under a key of the line ids; want is the ID that was asked for; empty: any.
func byID(s *service.Service, name, want string) func(map[string]Value) (string, bool) {
	return func(fields map[string]Value) (string, bool) {
		for _, key := range s.Names("ids." + name) {
			if id, ok := IDOf(fields[key]); ok && (want == "" || id == want) {
				return id, true
			}
		}
		return "", false
	}
}

// IDOf returns the ID that a value is: a text without the blanks around it, or the digits of a whole number.
func IDOf(v Value) (id string, ok bool) {
	id, ok = v.ID().Text()
	id = strings.TrimSpace(id)
	return id, ok && IsID(id)
}

// maxID is the longest ID, in bytes. The description allows 40 characters.
const maxID = 200

// IsID reports whether a text can be an ID: no blanks around it, no control character, no U+FFFD, and nothing that has
// a meaning in a path. An ID of another form than the description gives is one, too.
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
