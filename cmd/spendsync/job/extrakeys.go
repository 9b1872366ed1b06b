package job

import (
	"maps"
	"slices"
	"strings"

	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsTable is how the rows of a table of settings are read.
type settingsTable[R any] struct {
	kind string                       // of its entities, in ops.entity_read and in ops.unknown_field
	raw  func(*R) schema.Null[string] // the JSON; nil: the rows have none of their own
	id   func(*R) string              // that the report has of an entity; nil: it has none
	read map[string]*readEntity       // by that ID
	skip func(row *R) bool            // entities whose JSON is not that of a whole reply; nil: none
	odd  func(row *R) bool            // entities whose JSON has more unread fields than the columns; nil: none
	// amend changes columns that make no version, in current rows, and reports whether it did; nil: no such columns.
	amend func([]R) bool
}

// Limits for counting keys that no column shows.
const (
	maxExtra       = 200 // of a table
	enoughCompared = 4   // before a key may count as one that flickers
)

// flickering are the names of keys that describe when or for whom a reply was made, or that count ongoing events:
// another value of one does not change the settings.
var flickering = []string{
	"request_id", "trace_id", "etag", "version", "generated_at", "fetched_at", "as_of", "timestamp", "server_time",
	"updated_at", "modified_at", "last_modified", "last_updated", "last_updated_at", "refreshed_at", "cached_at",
	"expires_at", "spend", "spend_today", "today_spend", "spent", "spent_today", "total_spend", "clicks",
	"impressions", "conversions", "ctr", "cpc", "cpa", "stats", "statistics", "metrics", "performance",
}

// flickers reports whether a key changes so often that its changes mean nothing: by its name, or because it differed
// in more than half of the comparisons so far.
func flickers(path string, n manifest.KeyChanges) bool {
	name := path[strings.LastIndex(path, ".")+1:]
	return slices.Contains(flickering, name) || n.Compared >= enoughCompared && 2*n.Changed > n.Compared
}

// compareExtra compares the fields beyond the columns in the entities' JSON with those of the current versions. read
// are the keys that values were read from, of all entities of the run. It returns how often each key changed, and the
// keys that were never seen before. It records the result of each entity in seen. A key that is new to the whole table
// is not a change.
func compareExtra[R any, P history.Versioned[R]](
	t schema.TableOf[R], b settingsTable[R], read map[string]bool, stored []R, seen []history.Seen[R],
	counted map[string]manifest.KeyChanges,
) (keys map[string]manifest.KeyChanges, found map[string]transform.ExtraKey) {
	keyText := history.KeyTextOf(t)
	was := currentOf[R, P](stored, keyText)
	keys, found = maps.Clone(counted), map[string]transform.ExtraKey{}
	if keys == nil {
		keys = map[string]manifest.KeyChanges{}
	}
	changed := map[int][]string{} // paths, by place in seen
	for i := range seen {
		row := &seen[i].Row
		if slices.Contains(seen[i].Unread, "raw") || b.skip != nil && b.skip(row) {
			continue
		}
		now := transform.ExtraKeysIn(b.raw(row).V, read)
		for path, v := range now {
			if _, counts := counted[path]; !counts && len(counted) < maxExtra {
				found[path] = v
				seen[i].Extra = history.ExtraNew
			}
		}
		if known := was[keyText(row)]; known != nil && b.raw(known).Valid {
			changed[i] = countChanges(keys, counted, transform.ExtraKeysIn(b.raw(known).V, read), now)
		}
	}
	for i := range seen {
		// A reply with unread fields may be damaged: it neither fills nor changes extra fields.
		if slices.ContainsFunc(seen[i].Unread, isTracked(t)) || b.odd != nil && b.odd(&seen[i].Row) {
			seen[i].Extra = history.ExtraSame
		} else if slices.ContainsFunc(changed[i], func(path string) bool { return !flickers(path, keys[path]) }) {
			seen[i].Extra = history.ExtraChanged
		}
	}
	return boundedKeys(keys, found), found
}

// currentOf returns the current versions among the rows of a history, by a key.
func currentOf[R any, P history.Versioned[R]](rows []R, key func(*R) string) map[string]*R {
	current := map[string]*R{}
	for i := range rows {
		if P(&rows[i]).FramePtr().IsCurrent {
			current[key(&rows[i])] = &rows[i]
		}
	}
	return current
}

// countChanges adds a comparison of two JSONs to the counts of those keys that are counted, and returns the paths that
// differ.
func countChanges(
	keys, counted map[string]manifest.KeyChanges, before, now map[string]transform.ExtraKey,
) (changed []string) {
	for path := range counted {
		is, there := now[path]
		old, wasThere := before[path]
		if !there && !wasThere {
			continue
		}
		n := keys[path]
		n.Compared++
		if is.Hash != old.Hash {
			n.Changed++
			changed = append(changed, path)
		}
		keys[path] = n
	}
	return changed
}

// isTracked reports whether a column makes versions.
func isTracked[R any](t schema.TableOf[R]) func(column string) bool {
	tracked := t.TrackedNames()
	return func(column string) bool { return slices.Contains(tracked, column) }
}

// boundedKeys are the counts with those of the keys that were just found, as many as there is room for.
func boundedKeys(
	keys map[string]manifest.KeyChanges, found map[string]transform.ExtraKey,
) map[string]manifest.KeyChanges {
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if len(keys) >= maxExtra {
			break
		}
		keys[path] = manifest.KeyChanges{}
	}
	return keys
}

// undescribed returns the recorded keys of the settings that no column shows.
func (r *session) undescribed(
	stream string, at schema.Instant, found map[string]transform.ExtraKey,
) (fields []schema.UnknownField) {
	for _, path := range slices.Sorted(maps.Keys(found)) {
		fields = append(fields, schema.UnknownField{
			AccountID: r.Account, Stream: stream, Path: path, SampleType: found[path].Type, FirstSeenAt: at,
			RunID: r.RunID,
		})
	}
	return fields
}
