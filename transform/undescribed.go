package transform

import (
	"slices"
	"strings"

	"spendsync/extract"
)

// identifying are the keys that identify an entity and its kind.
var identifying = []string{"id", "_id", "campaign_id", "creative_id", "type", "node"}

// wrapping are the keys of objects that [ExtraKeysIn] always looks into. It looks into an object under any other key
// only if a member of the object was read.
var wrapping = []string{"audience", "attributes"}

// ExtraKeysIn returns the keys in an entity's JSON that have no column: their paths, for example audience.interests,
// with the JSON types of their values. The map has the keys whose values were read.
func ExtraKeysIn(raw string, read map[string]bool) map[string]string {
	fields, ok := extract.Value(raw).Object()
	if !ok {
		return nil
	}
	extra := map[string]string{}
	addExtraKeys(extra, "", fields, read)
	return extra
}

// maxNested is how many levels of nested objects [ExtraKeysIn] looks into.
const maxNested = 4

func addExtraKeys(extra map[string]string, path string, fields map[string]extract.Value, read map[string]bool) {
	for key, v := range fields {
		if slices.Contains(identifying, key) {
			continue
		}
		inner, isObject := v.Object()
		holdsRead := false
		for member := range inner {
			holdsRead = holdsRead || read[member]
		}
		at := path + key
		switch {
		case isObject && (holdsRead || slices.Contains(wrapping, key)) && strings.Count(at, ".") < maxNested:
			addExtraKeys(extra, at+".", inner, read)
		case !read[key]:
			extra[at] = v.Type()
		}
	}
}
