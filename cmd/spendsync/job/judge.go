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

// A null unsets a stored value, if the description allows a null for the field. A readable audience that omits a member
// unsets the member's value. A missing key unsets the value if two consecutive readings lack the key, the entity has
// its other keys, no new key has appeared next to it, and no entity of the run has a null under the key: a service that
// writes nulls omits no keys. In all other cases the field is unread: the stored value is kept, and the run reports the
// field.

// The states of a field that could not be read, as ops.entity_read shows them.
const (
	readUnreadable = "unreadable"
	readMissing    = "missing" // the next reading decides
	readAbsent     = "absent"  // the service does not show a campaign that the report names
)

// NeverRead is the message of an unread field if no value is stored and the reply has no value to quote.
const NeverRead = "never read yet; the next run asks again"

// judgement collects the unread fields of all entities of one kind in one run. A field leads to a finding if most
// entities lack it, because the service has probably renamed it, or if an entity keeps a stored value that missing keys
// cannot unset. Other unread fields are only logged and listed. A field that the service itself could not read is not
// counted, because that reply was understood.
type judgement struct {
	r             *session
	s             *settings
	kind, counted string // see [kind]

	entities int
	columns  map[string]*oddColumn
	nulls    map[string]bool    // columns in which an entity of this run has a null
	lacked   map[[2]string]bool // fields, by ID and column, that the previous reading lacked
	extra    map[string]string  // keys of the replies for which there is no column, with their JSON types
}

// oddColumn counts the entities whose value of a column was not understood.
type oddColumn struct {
	missing          int
	keepsStored      bool                    // whether some entity keeps a stored value that missing keys cannot unset
	refused, unnamed []*transform.FieldError // one error per entity
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

// judge compares the readings of all entities of a kind with the stored versions, and returns the readings in the form
// that the history needs. If a field keeps its stored value because the reply has no usable one, judge marks the field
// as unread. judge also records fields that were not understood, and keys without a column.
func (k *kind[R, P]) judge(r *settingsStage, s *settings, stored []R) (all []history.Seen[R]) {
	j, readings := newJudgement(r.session, s, k.name, k.counted), readingsOf(s, k.table)
	for _, read := range readings {
		for _, column := range read.Null {
			j.nulls[column] = j.nulls[column] || read.isOwn
		}
	}
	current := map[string]*R{}
	for i := range stored {
		if P(&stored[i]).FramePtr().IsCurrent {
			current[k.idOf(&stored[i])] = &stored[i]
		}
	}
	for _, id := range slices.Sorted(maps.Keys(readings)) {
		all = append(all, k.judgeEntity(j, r, id, readings[id], current[id]))
	}
	j.report()
	for _, path := range slices.Sorted(maps.Keys(j.extra)) {
		s.undescribed = append(s.undescribed, schema.UnknownField{AccountID: r.Account, Stream: k.name, Path: path,
			SampleType: j.extra[path]})
	}
	return all
}

// judgeEntity converts what this run has read of one entity into the form that the history needs. The last argument is
// the stored current version, or nil if none is stored. If the JSON of the entity has a new key, the history may put
// the new JSON into the current version without starting a new version ([history.Seen.FillsRaw]).
func (k *kind[R, P]) judgeEntity(j *judgement, r *settingsStage, id string, read *reading[R],
	was *R) history.Seen[R] {
	seen, keys := history.Seen[R]{Row: read.row}, j.s.readKeys[k.name]
	for _, c := range k.table.Fields() { // skips unread columns that belong to another table
		if slices.Contains(read.Unread, c.Name) {
			seen.Unread = append(seen.Unread, c.Name)
		}
	}
	if k.complete != nil {
		k.complete(r, &seen)
	}
	var lacking []string
	if read.isOwn {
		lacking = j.add(id, &read.Decoded, func(column string) bool { return k.isKnown(was, column) })
	}
	raw, hasRaw := k.table.RawJSON(&read.row)
	if !hasRaw || slices.Contains(seen.Unread, "raw") { // no JSON in this table, or no part of the reply was readable
		return seen
	}
	gained := transform.ExtraKeysIn(raw, keys)
	maps.Copy(j.extra, gained)
	if was == nil {
		return seen
	}
	if !read.isOwn { // the entry of a list may lack keys that the stored JSON has
		seen.Unread = append(seen.Unread, "raw")
	}
	before, _ := k.table.RawJSON(was)
	for path := range transform.ExtraKeysIn(before, keys) {
		delete(gained, path)
	}
	if k.isEntity && read.isOwn {
		k.markUnread(j, id, read, was, &seen, lacking, gained)
	}
	// A reply with unread fields may be damaged, or the service may have renamed a key. So its JSON is not stored: the
	// next run compares its reply with the old JSON and still recognizes the renamed key as new.
	tracked := k.table.TrackedNames()
	seen.FillsRaw = len(gained) > 0 && len(read.Unread) <= len(read.Withheld) &&
		!slices.ContainsFunc(seen.Unread, func(column string) bool { return slices.Contains(tracked, column) })
	return seen
}

// isKnown reports whether the current version of an entity has a value in a column. It returns false if no version is
// stored.
func (k *kind[R, P]) isKnown(was *R, column string) bool {
	return was != nil && slices.ContainsFunc(k.table.Fields(), func(c schema.Column) bool {
		return c.Name == column && !k.table.ColumnEqual(was, new(R), c)
	})
}

// markUnread adds to seen.Unread each field that came without a value but keeps its stored value. The last two
// arguments are the required columns that are missing from the reply, and the keys that are new in the reply's JSON.
func (k *kind[R, P]) markUnread(j *judgement, id string, read *reading[R], was *R, seen *history.Seen[R],
	lacking []string, gained map[string]string) {
	none := new(R)
	for _, c := range k.table.Fields() {
		if k.table.ColumnEqual(was, none, c) {
			continue
		}
		if slices.Contains(lacking, c.Name) {
			j.column(c.Name).keepsStored = true
		}
		if k.table.ColumnEqual(was, &seen.Row, c) || slices.Contains(seen.Unread, c.Name) {
			continue
		}
		state, why := j.whyUnread(&read.Decoded, id, c.Name, lacking, gained)
		if why == "" {
			continue
		}
		seen.Unread = append(seen.Unread, c.Name)
		j.unread(id, c.Name, state, schema.Some(why))
		j.r.Log.Warn("a field is unread; the known value stands", "kind", k.name, "id", id, "field", c.Name, "why", why)
		if state == readUnreadable {
			j.column(c.Name).missing++
			j.column(c.Name).keepsStored = true
		} else if c := j.s.campaigns[id]; c != nil {
			c.isSettled = false // so that the next run reads the campaign again
		}
	}
}

// whyUnread decides about a field that came without a value. If the stored value is to be kept, it returns the reason;
// if the value is to be unset, it returns "".
func (j *judgement) whyUnread(d *transform.Decoded, id, column string, lacking []string,
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

// renamedTo returns the first of the new keys that is in the same JSON object as a column's key, so that it may be that
// key's new name. It returns "" if there is none.
func renamedTo(column string, gained map[string]string) string {
	isMember := slices.Contains(transform.AudienceColumns, column)
	for _, path := range slices.Sorted(maps.Keys(gained)) {
		if strings.Contains(path, ".") == isMember {
			return path
		}
	}
	return ""
}

// add counts one entity, and records its unread fields. The function isKnown reports whether the entity has a stored
// value in a column. add returns the unread columns, without those that the service itself could not read and those
// whose value was refused.
func (j *judgement) add(id string, d *transform.Decoded, isKnown func(column string) bool) (lacking []string) {
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
		isRefused := why.Valid
		if !isRefused && !isKnown(column) {
			why = schema.Some(NeverRead)
		}
		if slices.Contains(d.Withheld, column) {
			j.line(id, column, readUnreadable, why)
			continue
		}
		j.unread(id, column, readUnreadable, why)
		if !isRefused { // refused values are counted in oddColumn.refused
			j.column(column).missing++
			lacking = append(lacking, column)
		}
	}
	return lacking
}

// unread records that a field keeps its stored value because the reply has no usable one.
func (j *judgement) unread(id, column, state string, why schema.Null[string]) {
	j.line(id, column, state, why)
	j.s.unread = append(j.s.unread, j.kind+" "+id+" "+column)
}

func (j *judgement) line(id, column, state string, why schema.Null[string]) {
	j.s.lines = append(j.s.lines, schema.EntityRead{AccountID: j.r.Account, EntityType: j.kind, EntityID: id,
		Field: column, ReadState: state, Message: why})
}

// report adds findings: one for all refused values together, one for each column in which most entities have a value
// that the description does not list, and one for each group of columns that are missing from the same number of
// entities.
func (j *judgement) report() {
	find := func(form string, columns []string, format string, args ...any) {
		f := finding{what: j.counted, err: fmt.Errorf(format+": %w", append(args, extract.ErrContract)...)}
		for _, column := range columns {
			f.notes = append(f.notes, noteName("settings", j.counted, column, form))
		}
		j.r.Log.Warn("a part of the settings is not understood", "kind", f.what, "error", f.err)
		j.s.findings = append(j.s.findings, f)
	}
	entities := cli.Count(j.entities, "read")
	var refused []string
	missing := map[int][]string{} // keyed by how many entities lack the columns
	for _, name := range slices.Sorted(maps.Keys(j.columns)) {
		c := j.columns[name]
		if len(c.refused) > 0 {
			refused = append(refused, name)
		}
		if 2*len(c.unnamed) > j.entities {
			find("unknown-word", []string{name}, "most of %s have a value of %s that the description does not know, "+
				"such as %v; it is stored, and what asks for the known ones leaves them out: update spendsync, or "+
				"report it", entities, name, c.unnamed[0].Error())
		}
		if c.keepsStored || 2*c.missing > j.entities {
			missing[c.missing] = append(missing[c.missing], name)
		}
	}
	if len(refused) > 0 {
		all := j.columns[refused[0]].refused
		find("not-understood", refused, "%s not understood in %d of %s, such as %v", strings.Join(refused, ", "),
			len(all), entities, all[0].Error())
	}
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(missing))) {
		share := fmt.Sprint(n)
		if 2*n > j.entities {
			share = "most"
		}
		cure := "the replies have no unknown key that a line of SPENDSYNC_SERVICE_FILE could name, so only the " +
			"service can show the values"
		if extra := slices.Sorted(maps.Keys(j.extra)); len(extra) > 0 {
			cure = "if one of " + someOf("unknown key", extra) + " holds a value, name the key in a line of " +
				"SPENDSYNC_SERVICE_FILE, or report it"
		}
		find("missing", missing[n], "%s missing or not usable in %s of %s; the last known values stand, which may "+
			"be old: %s", strings.Join(missing[n], ", "), share, entities, cure)
	}
}
