package transform

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/extract"
)

// ExtraKey is one value in the JSON of an entity that no column shows.
type ExtraKey struct {
	Type string // of the JSON value
	Hash string // equal for values that mean the same JSON, and for no others
}

// identifying are the keys that identify an entity and its kind.
var identifying = []string{"id", "_id", "campaign_id", "creative_id", "type", "node"}

// wrapping are the keys of objects whose members are looked at one by one. An object under
// any other key is looked into where it holds something that is read.
var wrapping = []string{"audience", "attributes"}

// ExtraKeysIn are the values in an entity's JSON that no column shows, by the paths of
// their keys, such as audience.interests. read are the keys that values were read from, by
// their names in the service's description.
func ExtraKeysIn(raw string, read map[string]bool) map[string]ExtraKey {
	fields, ok := extract.Value(raw).Fields()
	if !ok {
		return nil
	}
	found := map[string]ExtraKey{}
	addUndescribed(found, "", fields, read)
	return found
}

// maxNested is how deep an entity is looked into.
const maxNested = 4

func addUndescribed(found map[string]ExtraKey, path string, fields map[string]extract.Value, read map[string]bool) {
	for key, v := range fields {
		if slices.Contains(identifying, key) {
			continue
		}
		inner, isObject := v.Fields()
		holdsRead := false
		for member := range inner {
			holdsRead = holdsRead || read[member]
		}
		at := path + key
		switch {
		case isObject && (holdsRead || slices.Contains(wrapping, key)) && strings.Count(at, ".") < maxNested:
			addUndescribed(found, at+".", inner, read)
		case !read[key]:
			found[at] = undescribed(v)
		}
	}
}

func undescribed(v extract.Value) ExtraKey {
	canonical := jsontext.Value(slices.Clone(v))
	_ = canonical.Canonicalize() // a value with two members of one name stays as received
	hash := sha256.Sum256(canonical)
	return ExtraKey{Type: v.Type(), Hash: hex.EncodeToString(hash[:8])}
}
