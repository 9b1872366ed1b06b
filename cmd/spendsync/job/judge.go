package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// A known value is unset by a null, if the description lets it be null, and by a readable audience that leaves it out.
// A missing key unsets it if it is missing in two readings in a row while the entity's other keys are there, no new key
// has come beside it, and no entity of the run has a null there: a service that writes nulls leaves out nothing.
// Otherwise the field is unread: the known value stands, and the run names it.

// judgement is the judgement of the entities of one kind.
type judgement struct {
	tally
	nulls  map[string]bool    // columns in which an entity of this run has a null
	lacked map[[2]string]bool // by ID and column: missing in the reading before, too
	extra  map[string]string  // keys that no column shows, with their JSON types
}

// judge returns what was read of the entities of a kind, with the fields whose known value stands as unread. It notes
// what was not understood, and the keys that no column shows.
func (k *kind[R, P]) judge(r *settingsStage, s *settings, stored []R) (all []history.Seen[R]) {
	j := judgement{tally: tally{kind: k.counted}, nulls: map[string]bool{}, lacked: map[[2]string]bool{},
		extra: map[string]string{}}
	for _, u := range r.store.Account().Unread {
		if u.EntityType == k.name && u.ReadState == readMissing {
			j.lacked[[2]string{u.EntityID, u.Field}] = true
		}
	}
	for _, read := range k.read(s) {
		for _, column := range read.Null {
			j.nulls[column] = j.nulls[column] || read.isOwn
		}
	}
	known := map[string]*R{}
	for i := range stored {
		if P(&stored[i]).FramePtr().IsCurrent {
			known[k.id(&stored[i])] = &stored[i]
		}
	}
	for _, id := range slices.Sorted(maps.Keys(k.read(s))) {
		all = append(all, k.judgeEntity(&j, r.session, s, id, known[id]))
	}
	s.addFindings(r.session, j.findings())
	for _, path := range slices.Sorted(maps.Keys(j.extra)) {
		s.undescribed = append(s.undescribed, schema.UnknownField{AccountID: r.Account, Stream: k.name, Path: path,
			SampleType: j.extra[path]})
	}
	return all
}

// judgeEntity judges one entity. was is its current version; nil: there is none. It lets that version take the JSON
// that has gained a key.
func (k *kind[R, P]) judgeEntity(j *judgement, r *session, s *settings, id string, was *R) history.Seen[R] {
	read, keys := k.read(s)[id], s.readKeys[k.name]
	seen := k.seenOf(s, read)
	if read.isOwn {
		j.note(r, s, k.name, id, k.expected, &read.Decoded)
	}
	if k.raw == nil || slices.Contains(seen.Unread, "raw") { // or nothing of it is readable
		return seen
	}
	now, gained := transform.ExtraKeysIn(k.raw(&read.row).V, keys), map[string]string{}
	maps.Copy(j.extra, now)
	if was != nil {
		before := transform.ExtraKeysIn(k.raw(was).V, keys)
		gained = maps.Clone(now)
		maps.DeleteFunc(gained, func(path, _ string) bool { _, is := before[path]; return is })
		if k.isEntity {
			k.retainLacking(j, r, s, was, read, &seen, gained)
		}
	}
	tracked := k.table.TrackedNames()
	// A reply with unread fields may be damaged: it fills no JSON, so a renamed key stays new.
	seen.FillsRaw = len(gained) > 0 && len(read.Unread) <= len(read.Withheld) &&
		!slices.ContainsFunc(seen.Unread, func(column string) bool { return slices.Contains(tracked, column) })
	return seen
}

// The states of a field that is unread, in ops.entity_read.
const (
	readUnreadable = "unreadable"
	readMissing    = "missing"
)

// retainLacking adds to the unread fields of an entity those that came without a value and whose known value stands.
func (k *kind[R, P]) retainLacking(j *judgement, r *session, s *settings, was *R, read *reading[R],
	seen *history.Seen[R], gained map[string]string) {
	id, none := k.id(was), new(R)
	left := leftOutOf(read)
	for _, c := range k.table.Fields() {
		if k.table.ColumnEqual(was, none, c) {
			continue
		}
		if slices.Contains(left.lacking, c.Name) {
			j.countRetained(c.Name) // its line was written when it was read
		}
		if k.table.ColumnEqual(was, &seen.Row, c) || slices.Contains(seen.Unread, c.Name) {
			continue
		}
		state, why, lasts := j.field(left, id, c.Name, gained)
		if why == "" {
			continue
		}
		seen.Unread = append(slices.Clone(seen.Unread), c.Name)
		s.noteUnread(r, k.name, id, c.Name, state, why)
		if lasts {
			j.countRetained(c.Name)
		} else if c := s.campaigns[id]; c != nil {
			c.isSettled = false // it has to be read again
		}
	}
}

// leftOut lists the fields that a reply about an entity lacks, or has in a damaged form.
type leftOut struct {
	unset   []string // missing or blank
	null    []string
	omitted []string // of a readable audience
	damaged []string
	lacking []string // that every entity has: they are missing
}

func leftOutOf[R any](read *reading[R]) (l leftOut) {
	if !read.isOwn {
		return l
	}
	l = leftOut{unset: slices.Concat(read.Missing, read.Blank), null: read.Null, omitted: read.Omitted,
		damaged: read.Damaged}
	for _, column := range read.Unread {
		if !slices.Contains(read.Withheld, column) && !read.Message(column).Valid {
			l.lacking = append(l.lacking, column)
		}
	}
	return l
}

// field returns why the known value of a field stands that came without one, and whether that lasts; empty: it is
// unset.
func (j *judgement) field(left leftOut, id, column string, gained map[string]string) (state, why string,
	lasts bool) {
	has := func(columns []string) bool { return slices.Contains(columns, column) }
	isMissing := has(left.unset) || has(left.omitted) && j.nulls[column]
	switch {
	case has(left.damaged):
		return readUnreadable, "a damaged text; the known one stands", true
	case !slices.Contains(transform.Unsettable, column) && (isMissing || has(left.null)):
		return readUnreadable, "missing, null or blank, which the description does not allow", true
	case !isMissing:
		return "", "", false
	case j.nulls[column]:
		return readUnreadable, "missing or blank, and another " + j.kind + " of this run has a null there", true
	case renamedTo(column, gained) != "":
		return readUnreadable, fmt.Sprintf("missing or blank, and the key %q is new: the key may be renamed",
			renamedTo(column, gained)), true
	case len(left.lacking) > 0:
		return readUnreadable, "missing or blank, and so are other keys", true
	case !j.lacked[[2]string{id, column}]:
		return readMissing, "missing or blank; if the next reading lacks it, too, it is unset", false
	}
	return "", "", false
}

// renamedTo returns a key that came into the object of a column; empty: none did.
func renamedTo(column string, gained map[string]string) string {
	isMember := slices.Contains(transform.AudienceColumns, column)
	for _, path := range slices.Sorted(maps.Keys(gained)) {
		if strings.Contains(path, ".") == isMember {
			return path
		}
	}
	return ""
}

// noteUnread notes a field that is unread for a reason that the whole run has shown.
func (s *settings) noteUnread(r *session, kind, id, column, state, why string) {
	s.lines = append(s.lines, schema.EntityRead{AccountID: r.Account, EntityType: kind, EntityID: id, Field: column,
		ReadState: state, Message: schema.Some(why)})
	s.unread = append(s.unread, kind+" "+id+" "+column)
	s.unreadFields++
	r.Log.Warn("a field is unread; the known value stands", "kind", kind, "id", id, "field", column, "why", why)
}

// addFindings records findings about fields that were not understood.
func (s *settings) addFindings(r *session, all []finding) {
	for _, f := range all {
		r.Log.Warn("a part of the settings is not understood", "kind", f.what, "error", f.err)
	}
	s.findings = append(s.findings, all...)
}

// tally counts the fields of a kind that were not understood. One entity without a field is a warning; if most of them
// lack it, the service probably has another name for it, and without a report the old values would silently stay
// current for ever. Fields that the service itself could not read are not counted: that answer was understood.
type tally struct {
	kind     string
	entities int
	bare     int            // with nothing readable but the ID
	missing  map[string]int // by column
	retained map[string]int // by column: known values that stand beside a missing one
	refused  map[string]oddValues
	unnamed  map[string]oddValues
}

// oddValues are values of one column: how many there are, and the first of them.
type oddValues struct {
	count int
	first *transform.FieldError
}

// addOdd counts values by their columns.
func addOdd(to *map[string]oddValues, values []*transform.FieldError) {
	for _, e := range values {
		if *to == nil {
			*to = map[string]oddValues{}
		}
		odd := (*to)[e.Column]
		if odd.count++; odd.first == nil {
			odd.first = e
		}
		(*to)[e.Column] = odd
	}
}

func count(in *map[string]int, column string) {
	if *in == nil {
		*in = map[string]int{}
	}
	(*in)[column]++
}

// countRetained counts a known value that stands, and no later reading unsets.
func (t *tally) countRetained(column string) { count(&t.retained, column) }

// note counts one entity, and notes which of its fields could not be read. expected are those that it should have.
func (t *tally) note(r *session, s *settings, kind, id string, expected []string, d *transform.Decoded) {
	t.entities++
	addOdd(&t.refused, d.Refused)
	addOdd(&t.unnamed, d.Unnamed)
	for _, e := range d.Unnamed {
		s.words = append(s.words, kind+" "+id+" "+e.Column)
	}
	unknown := 0
	for _, column := range d.Unread {
		why := d.Message(column)
		s.lines = append(s.lines, schema.EntityRead{AccountID: r.Account, EntityType: kind, EntityID: id,
			Field: column, ReadState: readUnreadable, Message: why})
		if slices.Contains(d.Withheld, column) {
			continue
		}
		unknown++
		s.unread = append(s.unread, kind+" "+id+" "+column)
		if !why.Valid { // otherwise it is counted as refused
			count(&t.missing, column)
			s.unreadFields++
		}
	}
	s.unreadFields += len(d.Refused)
	if unknown >= len(expected) && len(expected) > 1 {
		t.bare++
	}
	for _, column := range d.Damaged {
		r.Log.Warn("a text of the settings is a number or has lost something", "kind", kind, "id", id, "column", column)
	}
}

// findings returns at most one finding about values, one about fields that most entities lack, and one for each column
// about words, and about values that stand.
func (t *tally) findings() (all []finding) {
	add := func(s severity, form string, columns []string, format string, args ...any) {
		f := finding{what: t.kind, err: fmt.Errorf(format+": %w", append(args, extract.ErrContract)...), severity: s}
		for _, column := range columns {
			f.notes = append(f.notes, noteName("settings", t.kind, column, form))
		}
		all = append(all, f)
	}
	of := cli.Count(t.entities, "read")
	if columns := slices.Sorted(maps.Keys(t.refused)); len(columns) > 0 {
		first := t.refused[columns[0]]
		add(differs, "not-understood", columns, "%s not understood in %d of %s, such as %v",
			strings.Join(columns, ", "), first.count, of, first.first.Error())
	}
	for _, column := range slices.Sorted(maps.Keys(t.unnamed)) {
		if odd := t.unnamed[column]; 2*odd.count > t.entities {
			add(differs, "unknown-word", []string{column},
				"most of %s have a value of %s that the description does not know, such as %v; it is stored, and "+
					"what asks for the known ones leaves them out: update spendsync, or report it",
				of, column, odd.first.Error())
		}
	}
	most := slices.DeleteFunc(slices.Sorted(maps.Keys(t.missing)), func(column string) bool {
		return 2*t.missing[column] <= t.entities
	})
	if t.bare > 0 {
		add(failed, "", nil, "nothing but the ID could be read of %d of %s; update spendsync, or report "+
			"what the raw column holds", t.bare, of)
	} else if len(most) > 0 {
		add(differs, "missing", most, "%s missing from most of %s; the last known values stand, which may be old: "+
			"update spendsync, or report the keys that the raw column holds", strings.Join(most, ", "), of)
	}
	for _, column := range slices.Sorted(maps.Keys(t.retained)) {
		if !slices.Contains(most, column) {
			add(differs, "missing", []string{column}, "%s missing from %d of %s; the last known values stand, which "+
				"may be old: report the keys that the raw column holds, or name them in a line of "+
				"SPENDSYNC_SERVICE_FILE", column, t.retained[column], of)
		}
	}
	return all
}
