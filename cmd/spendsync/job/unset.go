package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// A field with a known value may come without one: its key is missing, or its value is blank.
// It may have been removed, renamed or lost. Only a null means that it is unset. A missing key
// or a blank means this only if the service never shows null for the field, and has used this
// form for an entity without a value: the replies of the current versions are the evidence.
// If they have none about the field, the other fields of the entity count. A key that was
// never seen before, in the same reply as a missing one, may be its new name. In all other
// cases the field is unread: the known value stays, and the field is reported.

// leftOut lists the fields that a reply about an entity lacks, or has in a damaged form.
type leftOut struct {
	missing, blank []string
	damaged        []string // texts that are stored otherwise than they were sent
}

func leftOutOf(reading transform.Decoded) leftOut {
	l := leftOut{missing: reading.Missing, blank: reading.Blank}
	for _, text := range reading.Texts {
		l.damaged = append(l.damaged, text.Column)
	}
	return l
}

// unset is how the replies about the entities of a table express an unset field.
type unset[R any] struct {
	entity string                            // in ops.entity_read
	id     func(*R) string                   // of a row
	read   func(stored *R) transform.Decoded // of the JSON that a row has
}

// ways are how a service expresses an unset field.
type ways struct{ null, missing, blank bool }

func (w ways) and(o ways) ways {
	return ways{w.null || o.null, w.missing || o.missing, w.blank || o.blank}
}

// groupOfField returns the fields of an entity that show how this one is left out: those of the same object.
func groupOfField(column string) string {
	if slices.Contains(transform.AudienceColumns, column) {
		return "audience"
	}
	before, _, _ := strings.Cut(column, "_")
	if before == "pending" {
		return before
	}
	return ""
}

// maxEvidence is how many current versions are looked at for how a service leaves fields out.
const maxEvidence = 500

// doubt is a field that came without a value.
type doubt struct {
	seen   int // place of the entity
	column schema.Column
	way    ways // one of them
	new    bool // nothing was known of it
	whole  bool // with all of its object
}

// judgeUnset decides for the fields that came without a value whether they are not set. Those
// that are unread are noted, and named in seen. gained are the keys that were never seen before, by
// place in seen; a key that may be the new name of a field stays new.
func judgeUnset[R any, P history.Versioned[R]](
	r *settingsStage, s *settings, t schema.TableOf[R], u *unset[R], h history.Versions[R], seen []history.Seen[R],
	gained map[int][]string, keys map[string]manifest.KeyChanges, found map[string]transform.ExtraKey,
) {
	left := s.leftOut[u.entity]
	current := map[string]*R{}
	for i := range h.Rows {
		if P(&h.Rows[i]).FramePtr().IsCurrent {
			current[u.id(&h.Rows[i])] = &h.Rows[i]
		}
	}
	var doubts []doubt
	unread := map[string]int{} // by column
	note := func(i int, column, why string) {
		id := u.id(&seen[i].Row)
		seen[i].Unread = append(slices.Clone(seen[i].Unread), column)
		seen[i].Extra = history.ExtraSame
		s.noteUnread(r, u.entity, id, column, why)
		unread[column]++
		if s.readNow[id] {
			s.unclear[id] = true
		}
	}
	fields := map[string]schema.Column{}
	for _, c := range t.Fields() {
		fields[c.Name] = c
	}
	for i := range seen {
		id := u.id(&seen[i].Row)
		known := current[id]
		bare := known == nil || P(known).FramePtr().ReadState == schema.ReadStub ||
			P(known).FramePtr().ReadState == schema.ReadUnreadable
		add := func(columns []string, way ways) {
			for _, name := range columns {
				c, is := fields[name]
				isNew := bare || slices.Contains(h.Confirmations.Never[id], name)
				if is && !slices.Contains(seen[i].Unread, name) && (isNew || !t.ColumnEqual(known, &seen[i].Row, c)) {
					doubts = append(doubts, doubt{seen: i, column: c, way: way, new: isNew,
						whole: slices.Contains(columns, transform.WholeAudience)})
				}
			}
		}
		missing := left[id].missing
		if slices.Contains(missing, transform.WholeAudience) {
			missing = slices.Concat(missing, transform.AudienceColumns)
		}
		add(missing, ways{missing: true})
		add(left[id].blank, ways{blank: true})
		for _, name := range left[id].damaged {
			c, is := fields[name]
			if is && known != nil && !t.ColumnEqual(known, new(R), c) && !t.ColumnEqual(known, &seen[i].Row, c) &&
				!slices.Contains(seen[i].Unread, name) {
				note(i, name, "a damaged text; the known one stands")
			}
		}
	}
	if len(doubts) > 0 {
		by, groups := evidence[R, P](s, t, u, h.Rows, fields)
		renamed := map[string]bool{}
		for _, d := range doubts {
			group := groupOfField(d.column.Name)
			why := by[d.column.Name].doubts(d, groups[group], group == "audience")
			if d.whole && group == "audience" {
				why = by[transform.WholeAudience].doubts(d, ways{}, false)
			}
			if why == "" && !d.new && len(gained[d.seen]) > 0 {
				why = "missing, while the new key " + gained[d.seen][0] + " came: it may be its new name"
				for _, path := range gained[d.seen] {
					renamed[path] = true
				}
			}
			if why != "" {
				note(d.seen, d.column.Name, why)
			}
		}
		for path := range renamed {
			delete(keys, path)
			delete(found, path)
		}
	}
	for _, column := range slices.Sorted(maps.Keys(unread)) {
		if n := unread[column]; n > 1 && 2*n > len(seen) {
			note := noteName("settings", u.entity, column, "missing", "most")
			err := fmt.Errorf("%s missing from %d of %s; the last known values stand, which may be old: update "+
				"spendsync, or report the keys that the raw column holds: %w",
				column, n, phrase.Count(len(seen), "read"), extract.ErrContract)
			s.failures = append(s.failures, failure{what: u.entity, err: err, notes: []string{note}, standsOld: true})
		}
	}
}

// evidence returns how the replies have expressed an unset field, by column and by the group of the columns: the
// replies of this run for nulls, and the replies of the current versions.
func evidence[R any, P history.Versioned[R]](
	s *settings, t schema.TableOf[R], u *unset[R], rows []R, fields map[string]schema.Column,
) (by, groups map[string]ways) {
	by, groups = map[string]ways{}, map[string]ways{}
	add := func(column string, w ways) {
		by[column] = by[column].and(w)
		groups[groupOfField(column)] = groups[groupOfField(column)].and(w)
	}
	for column := range s.nulls[u.entity] {
		add(column, ways{null: true})
	}
	looked := 0
	for i := range rows {
		f := P(&rows[i]).FramePtr()
		if !f.IsCurrent || f.ReadState != schema.ReadOK || looked == maxEvidence {
			continue
		}
		looked++
		reading := u.read(&rows[i])
		for _, column := range reading.Null {
			add(column, ways{null: true})
		}
		if slices.Contains(reading.Missing, transform.WholeAudience) && isForEveryone(t, &rows[i], fields) {
			add(transform.WholeAudience, ways{missing: true})
		}
		for _, column := range reading.Missing {
			if c, is := fields[column]; is && t.ColumnEqual(&rows[i], new(R), c) {
				add(column, ways{missing: true})
			}
		}
		for _, column := range reading.Blank {
			if c, is := fields[column]; is && t.ColumnEqual(&rows[i], new(R), c) {
				add(column, ways{blank: true})
			}
		}
	}
	return by, groups
}

// isForEveryone reports whether a campaign's row has no restriction.
func isForEveryone[R any](t schema.TableOf[R], row *R, fields map[string]schema.Column) bool {
	return !slices.ContainsFunc(transform.AudienceColumns, func(column string) bool {
		c, is := fields[column]
		return is && column != "unsupported_targeting" && !t.ColumnEqual(row, new(R), c)
	})
}

// doubts returns why a field that came without a value may still be set; empty: it is unset. w is how the service
// expresses this for the field, and group how it does for others. described reports whether the description allows the
// key to be left out.
func (w ways) doubts(d doubt, group ways, described bool) string {
	what := "missing"
	if d.way.blank {
		what = "blank"
	}
	seen := func(w ways) bool { return d.way.missing && w.missing || d.way.blank && w.blank }
	switch {
	case w.null:
		return what + ", while the service shows null where it is not set"
	case d.new, seen(w), described && d.way.missing:
		return ""
	case group.null:
		return what + ", while the service shows null where other fields are not set"
	case seen(group):
		return ""
	}
	return what + ", which nothing of this account was before"
}

// noteUnread notes a field that is unread for a reason that the whole run has shown.
func (s *settings) noteUnread(r *settingsStage, kind, id, column, why string) {
	s.entities = append(s.entities, schema.EntityRead{
		AccountID: r.Account, EntityType: kind, EntityID: id, Field: column, ReadState: "unreadable",
		Message: schema.Some(why), AttemptedAt: s.at, RunID: r.RunID,
	})
	s.standing = append(s.standing, kind+" "+id+" "+column)
	s.judged++
	r.Log.Warn("a field is unread; the known value stands", "kind", kind, "id", id, "field", column, "why", why)
}

// fieldsSentence names the fields whose last known values stand, and those with a value that the
// description lacks.
func (s *settings) fieldsSentence() string {
	return someNamed(s.standing, "unread field") + someNamed(s.words, "unknown value")
}

func someNamed(names []string, what string) string {
	if len(names) == 0 {
		return ""
	}
	const shown = 3
	names = slices.Sorted(slices.Values(names))
	text := strings.Join(names[:min(len(names), shown)], ", ")
	if len(names) > shown {
		text += fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return fmt.Sprintf(", %s (%s)", phrase.Count(len(names), what), text)
}
