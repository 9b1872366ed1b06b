package job

import (
	"fmt"
	"maps"
	"slices"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/schema"
)

// A null says that a field is unset. A missing key or a blank value says so if another entity of this run has a value
// there; if none has, the key was renamed or lost: the field is unread, the known value stands and is named. What was
// never known is unset either way.

// judgeUnset notes the fields with a known value that came without one and are unread, and names them in seen.
func judgeUnset[R any, P history.Versioned[R]](
	r *session, s *settings, t schema.TableOf[R], u settingsTable[R], stored []R, seen []history.Seen[R],
) {
	known := currentOf[R, P](stored, u.id)
	hasOne := valuesIn(t, seen)
	unread := map[string]int{} // by column
	for i := range seen {
		id := u.id(&seen[i].Row)
		was := known[id]
		if was == nil || u.read[id] == nil {
			continue
		}
		e, none := u.read[id], new(R)
		for _, c := range t.Fields() {
			why := ""
			switch {
			case t.ColumnEqual(was, none, c), t.ColumnEqual(was, &seen[i].Row, c):
			case slices.Contains(seen[i].Unread, c.Name):
			case slices.Contains(e.left.damaged, c.Name):
				why = "a damaged text; the known one stands"
			case slices.Contains(e.left.unset, c.Name) && !hasOne(c):
				why = "missing or blank, and no other " + u.kind + " of this run has one"
			}
			if why == "" {
				continue
			}
			seen[i].Unread = append(slices.Clone(seen[i].Unread), c.Name)
			seen[i].Extra = history.ExtraSame
			s.noteUnread(r, u.kind, id, c.Name, why)
			unread[c.Name]++
			e.isUnclear = true
		}
	}
	for _, column := range slices.Sorted(maps.Keys(unread)) {
		if n := unread[column]; n > 1 && 2*n > len(seen) {
			note := noteName("settings", u.kind, column, "missing")
			err := fmt.Errorf("%s missing from %d of %s; the last known values stand, which may be old: update "+
				"spendsync, or report the keys that the raw column holds: %w",
				column, n, phrase.Count(len(seen), "read"), extract.ErrContract)
			f := finding{what: u.kind, err: err, severity: doubtful, notes: []string{note}}
			s.findings = append(s.findings, f)
		}
	}
}

// valuesIn returns a function that reports whether an entity of this run has a value in a column.
func valuesIn[R any](t schema.TableOf[R], seen []history.Seen[R]) func(schema.Column) bool {
	found, none := map[string]bool{}, new(R)
	return func(c schema.Column) bool {
		is, looked := found[c.Name]
		if !looked {
			is = slices.ContainsFunc(seen, func(o history.Seen[R]) bool {
				return !slices.Contains(o.Unread, c.Name) && !t.ColumnEqual(&o.Row, none, c)
			})
			found[c.Name] = is
		}
		return is
	}
}

// noteUnread notes a field that is unread for a reason that the whole run has shown.
func (s *settings) noteUnread(r *session, kind, id, column, why string) {
	s.lines = append(s.lines, schema.EntityRead{
		AccountID: r.Account, EntityType: kind, EntityID: id, Field: column, ReadState: "unreadable",
		Message: schema.Some(why), AttemptedAt: s.at, RunID: r.RunID,
	})
	s.unread.standing = append(s.unread.standing, kind+" "+id+" "+column)
	s.unread.judged++
	r.Log.Warn("a field is unread; the known value stands", "kind", kind, "id", id, "field", column, "why", why)
}
