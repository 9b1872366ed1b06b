package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/transform"
)

// unreadCounter counts the settings that were not understood. One entity without a field is a warning; if most of them
// lack it, the service probably has another name for it, and without a report the old values would silently stay
// current for ever.
//
// Fields that the service itself could not read are not counted: that answer was understood.
type unreadCounter struct {
	kinds    map[string]*kindCounter
	standing []string // fields that are unread, whose last known values stand
	words    []string // fields with a value that the description does not know
	judged   int      // those of standing that the whole run has shown to be unread
}

type kindCounter struct {
	entities int
	bare     int            // with nothing readable but the ID
	missing  map[string]int // by column
	refused  map[string]oddValues
	unnamed  map[string]oddValues
}

// oddValues are values of one column: how many there are, and the first of them.
type oddValues struct {
	count int
	first *transform.FieldError
}

// addOdd counts values by their columns.
func addOdd(to map[string]oddValues, values []*transform.FieldError) {
	for _, e := range values {
		odd := to[e.Column]
		if odd.count++; odd.first == nil {
			odd.first = e
		}
		to[e.Column] = odd
	}
}

// deliveryKind is the delivery status, which is read apart from the rest of a campaign.
const deliveryKind = "delivery status"

// entityKind is the kind of an entity in ops.entity_read.
func entityKind(kind string) string {
	if kind == deliveryKind {
		return "campaign"
	}
	return kind
}

// add counts one entity. columns are those that it should have.
func (c *unreadCounter) add(kind, id string, columns []string, reading transform.Decoded) {
	if c.kinds == nil {
		c.kinds = map[string]*kindCounter{}
	}
	k := c.kinds[kind]
	if k == nil {
		k = &kindCounter{missing: map[string]int{}, refused: map[string]oddValues{}, unnamed: map[string]oddValues{}}
		c.kinds[kind] = k
	}
	k.entities++
	addOdd(k.refused, reading.Refused)
	addOdd(k.unnamed, reading.Unnamed)
	for _, e := range reading.Unnamed {
		c.words = append(c.words, entityKind(kind)+" "+id+" "+e.Column)
	}
	unknown := 0
	for _, column := range reading.Unread {
		if slices.Contains(reading.Withheld, column) {
			continue
		}
		unknown++
		c.standing = append(c.standing, entityKind(kind)+" "+id+" "+column)
		if reading.Message(column).Valid {
			continue // counted as refused
		}
		k.missing[column]++
	}
	if unknown >= len(columns) && len(columns) > 1 {
		k.bare++
	}
}

// notUnderstood returns the findings: at most one for each kind about values, one for each column about words and one
// about missing fields. severityOf returns how grave it is that columns of a kind are not understood.
func (c *unreadCounter) notUnderstood(severityOf func(kind string, columns []string) severity) (findings []finding) {
	add := func(s severity, kind, form string, columns []string, format string, args ...any) {
		f := finding{what: kind, err: fmt.Errorf(format+": %w", append(args, extract.ErrContract)...), severity: s}
		for _, column := range columns {
			f.notes = append(f.notes, noteName("settings", kind, column, form))
		}
		findings = append(findings, f)
	}
	for _, kind := range slices.Sorted(maps.Keys(c.kinds)) {
		k := c.kinds[kind]
		of := phrase.Count(k.entities, "read")
		if columns := slices.Sorted(maps.Keys(k.refused)); len(columns) > 0 {
			first := k.refused[columns[0]]
			add(severityOf(kind, columns), kind, "not-understood", columns, "%s not understood in %d of %s, such as %v",
				strings.Join(columns, ", "), first.count, of, first.first.Error())
		}
		for _, column := range slices.Sorted(maps.Keys(k.unnamed)) {
			if odd := k.unnamed[column]; 2*odd.count > k.entities {
				add(differs, kind, "unknown-word", []string{column},
					"most of %s have a value of %s that the description does not know, such as %v; it is stored, and "+
						"what asks for the known ones leaves them out: update spendsync, or report it",
					of, column, odd.first.Error())
			}
		}
		if k.bare > 0 {
			add(failed, kind, "", nil, "nothing but the ID could be read of %d of %s; update spendsync, or report "+
				"what the raw column holds", k.bare, of)
			continue
		}
		columns := slices.DeleteFunc(slices.Sorted(maps.Keys(k.missing)), func(column string) bool {
			return 2*k.missing[column] <= k.entities
		})
		if len(columns) > 0 {
			add(severityOf(kind, columns), kind, "missing", columns,
				"%s missing from most of %s; the last known values stand, which may be old: "+
					"update spendsync, or report the keys that the raw column holds", strings.Join(columns, ", "), of)
		}
	}
	return findings
}

// fields is how many values of entities were not understood.
func (c *unreadCounter) fields() (n int) {
	n = c.judged
	for _, k := range c.kinds {
		for _, odd := range k.refused {
			n += odd.count
		}
		for _, count := range k.missing {
			n += count
		}
	}
	return n
}

// sentence names the fields whose last known values stand, and those with a value that the description lacks.
func (c *unreadCounter) sentence() (text string) {
	if len(c.standing) > 0 {
		text = ", " + someOf("unread field", c.standing)
	}
	if len(c.words) > 0 {
		text += ", " + someOf("unknown value", c.words)
	}
	return text
}
