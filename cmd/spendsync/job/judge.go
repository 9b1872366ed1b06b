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

// The states of a field that is unread, in ops.entity_read.
const (
	readUnreadable = "unreadable"
	readMissing    = "missing" // the next reading decides
)

// judgement is the judgement of the entities of one kind in one run. One entity without a field is a warning; if most
// of them lack it, the service probably has another name for it, and without a report the old values would silently
// stay current for ever. Fields that the service itself could not read are not counted: that answer was understood.
type judgement struct {
	r             *session
	s             *settings
	kind, counted string // as in [kind]

	entities int
	columns  map[string]*oddColumn
	nulls    map[string]bool    // columns in which an entity of this run has a null
	lacked   map[[2]string]bool // by ID and column: missing in the reading before, too
	extra    map[string]string  // keys that no column shows, with their JSON types
}

// oddColumn counts the entities whose value of a column was not understood.
type oddColumn struct {
	missing          int
	isKept           bool                    // a known value stands, and no later reading unsets it
	refused, unnamed []*transform.FieldError // each of an entity
}

func newJudgement(r *session, s *settings, kind, counted string) *judgement {
	j := &judgement{r: r, s: s, kind: kind, counted: counted, columns: map[string]*oddColumn{},
		nulls: map[string]bool{}, lacked: map[[2]string]bool{}, extra: map[string]string{}}
	for _, u := range r.store.Account().Unread {
		if u.EntityType == kind && u.ReadState == readMissing {
			j.lacked[[2]string{u.EntityID, u.Field}] = true
		}
	}
	return j
}

func (j *judgement) column(name string) *oddColumn {
	if j.columns[name] == nil {
		j.columns[name] = &oddColumn{}
	}
	return j.columns[name]
}

// judge returns what was read of the entities of a kind, with the fields whose known value stands as unread. It notes
// what was not understood, and the keys that no column shows.
func (k *kind[R, P]) judge(r *settingsStage, s *settings, stored []R) (all []history.Seen[R]) {
	j, readings := newJudgement(r.session, s, k.name, k.counted), readingsOf(s, k.table)
	for _, read := range readings {
		for _, column := range read.Null {
			j.nulls[column] = j.nulls[column] || read.isOwn
		}
	}
	known := map[string]*R{}
	for i := range stored {
		if P(&stored[i]).FramePtr().IsCurrent {
			known[k.idOf(&stored[i])] = &stored[i]
		}
	}
	for _, id := range slices.Sorted(maps.Keys(readings)) {
		all = append(all, k.judgeEntity(j, r, id, readings[id], known[id]))
	}
	j.report()
	for _, path := range slices.Sorted(maps.Keys(j.extra)) {
		s.undescribed = append(s.undescribed, schema.UnknownField{AccountID: r.Account, Stream: k.name, Path: path,
			SampleType: j.extra[path]})
	}
	return all
}

// judgeEntity judges one entity. was is its current version; nil: there is none. It lets that version take the JSON
// that has gained a key.
func (k *kind[R, P]) judgeEntity(j *judgement, r *settingsStage, id string, read *reading[R],
	was *R) history.Seen[R] {
	seen, keys := k.seenOf(r, read), j.s.readKeys[k.name]
	var lacking []string
	if read.isOwn {
		lacking = j.add(id, &read.Decoded)
	}
	raw, isKept := k.table.RawJSON(&read.row)
	if !isKept || slices.Contains(seen.Unread, "raw") { // or nothing of it is readable
		return seen
	}
	gained := transform.ExtraKeysIn(raw, keys)
	maps.Copy(j.extra, gained)
	if was == nil {
		return seen
	}
	before, _ := k.table.RawJSON(was)
	for path := range transform.ExtraKeysIn(before, keys) {
		delete(gained, path)
	}
	if k.isEntity && read.isOwn {
		k.keepKnown(j, id, read, was, &seen, lacking, gained)
	}
	// A reply with unread fields may be damaged: it fills no JSON, so a renamed key stays new.
	tracked := k.table.TrackedNames()
	seen.FillsRaw = len(gained) > 0 && len(read.Unread) <= len(read.Withheld) &&
		!slices.ContainsFunc(seen.Unread, func(column string) bool { return slices.Contains(tracked, column) })
	return seen
}

// keepKnown adds to the unread fields of an entity those that came without a value and whose known value stands.
// lacking are those that every entity has, and gained the keys that are new.
func (k *kind[R, P]) keepKnown(j *judgement, id string, read *reading[R], was *R, seen *history.Seen[R],
	lacking []string, gained map[string]string) {
	none := new(R)
	for _, c := range k.table.Fields() {
		if k.table.ColumnEqual(was, none, c) {
			continue
		}
		if slices.Contains(lacking, c.Name) {
			j.column(c.Name).isKept = true
		}
		if k.table.ColumnEqual(was, &seen.Row, c) || slices.Contains(seen.Unread, c.Name) {
			continue
		}
		state, why := j.keeps(&read.Decoded, id, c.Name, lacking, gained)
		if why == "" {
			continue
		}
		seen.Unread = append(seen.Unread, c.Name)
		j.unread(id, c.Name, state, schema.Some(why))
		j.r.Log.Warn("a field is unread; the known value stands", "kind", k.name, "id", id, "field", c.Name, "why", why)
		if state == readUnreadable {
			j.column(c.Name).missing++
			j.column(c.Name).isKept = true
		} else if c := j.s.campaigns[id]; c != nil {
			c.isSettled = false // it has to be read again
		}
	}
}

// keeps returns why the known value of a field stands that came without one; empty: it is unset.
func (j *judgement) keeps(d *transform.Decoded, id, column string, lacking []string,
	gained map[string]string) (state, why string) {
	has := func(columns []string) bool { return slices.Contains(columns, column) }
	isMissing := has(d.Missing) || has(d.Blank) || has(d.Omitted) && j.nulls[column]
	renamed := renamedTo(column, gained)
	switch {
	case has(d.Damaged):
		return readUnreadable, "a damaged text; the known one stands"
	case !slices.Contains(transform.Unsettable, column) && (isMissing || has(d.Null)):
		return readUnreadable, "missing, null or blank, which the description does not allow"
	case !isMissing:
		return "", ""
	case j.nulls[column]:
		return readUnreadable, "missing or blank, and another " + j.counted + " of this run has a null there"
	case renamed != "":
		return readUnreadable, fmt.Sprintf("missing or blank, and the key %q is new: the key may be renamed", renamed)
	case len(lacking) > 0:
		return readUnreadable, "missing or blank, and so are other keys"
	case !j.lacked[[2]string{id, column}]:
		return readMissing, "missing or blank; if the next reading lacks it, too, it is unset"
	}
	return "", ""
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

// add counts one entity, and notes which of its fields could not be read. It returns those that the reply lacks.
func (j *judgement) add(id string, d *transform.Decoded) (lacking []string) {
	j.entities++
	for _, e := range d.Refused {
		c := j.column(e.Column)
		c.refused = append(c.refused, e)
	}
	for _, e := range d.Unnamed {
		c := j.column(e.Column)
		c.unnamed = append(c.unnamed, e)
		j.s.words = append(j.s.words, j.kind+" "+id+" "+e.Column)
	}
	for _, column := range d.Unread {
		why := d.Message(column)
		if slices.Contains(d.Withheld, column) {
			j.line(id, column, readUnreadable, why)
			continue
		}
		j.unread(id, column, readUnreadable, why)
		if !why.Valid { // otherwise it is counted as refused
			j.column(column).missing++
			lacking = append(lacking, column)
		}
	}
	for _, column := range d.Damaged {
		j.r.Log.Warn("a text of the settings is a number or has lost something", "kind", j.kind, "id", id, "column",
			column)
	}
	return lacking
}

// unread notes a field whose last known value stands.
func (j *judgement) unread(id, column, state string, why schema.Null[string]) {
	j.line(id, column, state, why)
	j.s.unread = append(j.s.unread, j.kind+" "+id+" "+column)
}

func (j *judgement) line(id, column, state string, why schema.Null[string]) {
	j.s.lines = append(j.s.lines, schema.EntityRead{AccountID: j.r.Account, EntityType: j.kind, EntityID: id,
		Field: column, ReadState: state, Message: why})
}

// report adds at most one finding about values, one for each column about words, and one for each number of entities
// that lack some fields.
func (j *judgement) report() {
	find := func(form string, columns []string, format string, args ...any) {
		f := finding{what: j.counted, err: fmt.Errorf(format+": %w", append(args, extract.ErrContract)...),
			severity: differs}
		for _, column := range columns {
			f.notes = append(f.notes, noteName("settings", j.counted, column, form))
		}
		j.r.Log.Warn("a part of the settings is not understood", "kind", f.what, "error", f.err)
		j.s.findings = append(j.s.findings, f)
	}
	of := cli.Count(j.entities, "read")
	var refused []string
	missing := map[int][]string{} // by how many entities lack them
	for _, name := range slices.Sorted(maps.Keys(j.columns)) {
		c := j.columns[name]
		if len(c.refused) > 0 {
			refused = append(refused, name)
		}
		if 2*len(c.unnamed) > j.entities {
			find("unknown-word", []string{name}, "most of %s have a value of %s that the description does not know, "+
				"such as %v; it is stored, and what asks for the known ones leaves them out: update spendsync, or "+
				"report it", of, name, c.unnamed[0].Error())
		}
		if c.isKept || 2*c.missing > j.entities {
			missing[c.missing] = append(missing[c.missing], name)
		}
	}
	if len(refused) > 0 {
		all := j.columns[refused[0]].refused
		find("not-understood", refused, "%s not understood in %d of %s, such as %v", strings.Join(refused, ", "),
			len(all), of, all[0].Error())
	}
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(missing))) {
		share := fmt.Sprint(n)
		if 2*n > j.entities {
			share = "most"
		}
		find("missing", missing[n], "%s missing from %s of %s; the last known values stand, which may be old: report "+
			"the keys that the raw column holds, or name them in a line of SPENDSYNC_SERVICE_FILE",
			strings.Join(missing[n], ", "), share, of)
	}
}
