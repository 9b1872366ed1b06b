// # Replies that the description does not show
//
// The description names the fields of the advertiser API and shows no reply. The lines of package service declare what
// the description leaves open. The rules:
//
//   - JSON is strict, as in the report: valid, one value, no duplicate keys. Invalid UTF-8 and half a surrogate pair
//     become U+FFFD. An empty body and a bare null are not answers, and are requested again.
//   - A list is an array, or an object with one array of objects; if the object has several arrays, a line of the
//     section lists names the right one. Pages are requested until a page has no new entry, or until as many entries
//     came as the total under the line paging.total.
//   - An entity is the object that has its ID, or contains that object directly. Source settings are the object with a
//     key from the section sources. The ID must be the requested one.
//   - An ID is a text or a whole number. An unrecognized entry does not affect other entries, but makes the list
//     incomplete.
//   - Keys must be spelled exactly as in these lines.
//
// A reply of any other form is [ErrContract]; the error lists the keys of the reply, and the line that may name them.
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

// Entity is one object of the account, taken out of its envelope. Its values are JSON as received, without blanks
// between the tokens.
type Entity struct {
	ID     string           // empty for an object without an ID
	Raw    []byte           // the object's entire JSON; nil: the entity was not read
	Fields map[string]Value // the members of the object; slices of Raw
}

// resource describes how entities of one kind are recognized.
type resource struct {
	service *service.Service
	name    string // "campaign", for errors
	plural  string // "campaigns", for errors and lines of the service file; empty: the service does not list them
	line    string // the line of the service file that names the keys of the ID, for errors
	// id returns the ID of an object; ok is false if the object is not such an entity.
	id func(fields map[string]Value) (id string, ok bool)
}

// one returns the only entity of a reply or of an entry of a list. The entity is the value v itself, or an object
// directly within v.
func (r resource) one(v Value) (Entity, error) {
	fields, ok := v.Object()
	if !ok {
		return Entity{}, contractf("no %s: a value of type %s, not an object", r.name, v.Type())
	}
	if id, ok := r.id(fields); ok {
		return Entity{ID: id, Raw: v, Fields: fields}, nil
	}
	var entities []Entity
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		inner, _ := fields[key].Object()
		if id, ok := r.id(inner); ok {
			entities, keys = append(entities, Entity{ID: id, Raw: fields[key], Fields: inner}), append(keys, key)
		}
	}
	switch len(entities) {
	case 0:
		return Entity{},
			contractf("no %s: no object has an ID under a key of the line %s (%s); the keys are %s; a line "+
				"of SPENDSYNC_SERVICE_FILE names another", r.name, r.line, r.idKeys(), Keys(keysOfLevels(fields)))
	case 1:
		return entities[0], nil
	}
	return Entity{}, contractf("which object is the %s: %s have an ID of one", r.name, strings.Join(keys, " and "))
}

// idKeys lists the keys under which an object has its ID, for errors.
func (r resource) idKeys() string {
	if !strings.HasPrefix(r.line, "ids.") {
		return "as built in"
	}
	return strings.Join(r.service.Names(r.line), ", ")
}

// listPage is one page of a list.
type listPage struct {
	entries []Entity
	shown   int    // number of entries on the page, refused ones included
	refused string // the first unrecognized entry, and the reason
	total   int64  // entries of the whole list, as the page states it; -1: no total is stated
}

// list returns the entries of a reply. An unrecognized entry does not affect other entries, but a list without any
// valid entry is refused.
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

// array returns the entries of a list: the reply itself if it is an array, or the array that a line of the service file
// names, or the only array of objects in the reply.
func (r resource) array(doc Value) ([]Value, error) {
	if values, ok := doc.Array(); ok {
		return values, nil
	}
	fields, ok := doc.Object()
	if !ok {
		return nil, contractf("no list of %s: a value of type %s", r.plural, doc.Type())
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
	case len(all) == 0: // list the deeper arrays in the error; they are not used unless a line names one
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

// arraysOfObjects returns the members of an object that are arrays of objects only, in the order of their keys.
func arraysOfObjects(prefix string, fields map[string]Value) (lists []foundList) {
	isOther := func(v Value) bool { return len(v) == 0 || v[0] != '{' }
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if values, ok := fields[key].Array(); ok && !slices.ContainsFunc(values, isOther) {
			lists = append(lists, foundList{path: prefix + key, values: values})
		}
	}
	return lists
}

// keysOfLevels returns the keys of an object and of the objects directly within it.
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

// byID returns a resource that recognizes a campaign or a creative by its ID. The key of the ID is in the service file,
// in the lines ids.campaign and ids.creative. If an ID is given, only the entity with that ID is recognized.
func byID(s *service.Service, kind, want string) resource {
	line := "ids." + kind
	return resource{service: s, name: kind, plural: kind + "s", line: line,
		id: func(fields map[string]Value) (string, bool) {
			for _, key := range s.Names(line) {
				if id, ok := IDOf(fields[key]); ok && (want == "" || id == want) {
					return id, true
				}
			}
			return "", false
		}}
}

// IDOf returns the ID in a value: a text, without blanks around it, or the digits of a whole number.
func IDOf(v Value) (id string, ok bool) {
	id, ok = v.ID().Text()
	id = strings.TrimSpace(id)
	return id, ok && IsID(id)
}

// maxID is the longest ID, in bytes. The description allows 40 characters.
const maxID = 200

// IsID reports whether a text can be an ID: no surrounding blanks, no control characters, no U+FFFD, and nothing that
// has a meaning in a path. It is more lenient than the service's description: see [IsToken].
func IsID(s string) bool {
	return s != "" && len(s) <= maxID && s == strings.TrimSpace(s) && s != "." && s != ".." &&
		!strings.ContainsAny(s, "/\\?#%") &&
		!strings.ContainsFunc(s, unicode.IsControl) && !strings.ContainsRune(s, utf8.RuneError)
}

// IsToken reports whether a text consists of 1 to 40 letters, digits, underscores and hyphens. According to the
// service's description, all IDs have this form.
func IsToken(s string) bool {
	return len(s) >= 1 && len(s) <= 40 && strings.Trim(s,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
