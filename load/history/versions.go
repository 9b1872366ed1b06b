package history

import (
	"fmt"
	"maps"
	"slices"

	"spendsync/schema"
)

// Versioned is a pointer to a row that embeds a [schema.Frame].
type Versioned[R any] interface {
	*R
	FramePtr() *schema.Frame
}

// Versions are the rows of a table of versions, and the [Memory] that belongs to these rows.
type Versions[R any] struct {
	Rows   []R // sorted by key, then version
	Memory Memory
	// Altered means that the rows differ from the stored file, so that the file must be written.
	Altered bool
}

// entity has the versions of one key, and the state of the key from the memory.
type entity[R any] struct {
	stored  []R // the stored versions, oldest first; never written to
	closed  []R // ended versions to write, beginning with the last stored version, whose end is now set
	current *R  // the newest version: the last stored version, or a new row

	confirmed schema.Instant // when the current version was last confirmed
	missed    int            // see Memory.Missed
	never     []string       // tracked columns that have never been read, sorted
	seen      bool           // whether this observation contains the entity
}

// AddColumn returns the history of a table that has gained a tracked column. It marks the column as never read in all
// current versions, so that the first value of the column completes the current version and is not a change.
func AddColumn[R any, P Versioned[R]](t schema.TableOf[R], h Versions[R], column string) (Versions[R], error) {
	if !slices.ContainsFunc(t.Tracked(), func(c schema.Column) bool { return c.Name == column }) {
		return h, fmt.Errorf("%s has no column %q that can be tracked", t.FullName(), column)
	}
	keyText, never := KeyTextOf(t), maps.Clone(h.Memory.Never)
	if never == nil {
		never = map[string][]string{}
	}
	h.Rows = slices.Clone(h.Rows)
	for i := range h.Rows {
		f := P(&h.Rows[i]).FramePtr()
		key := keyText(&h.Rows[i])
		if !f.IsCurrent || f.ReadState == schema.ReadStub || f.ReadState == schema.ReadUnreadable ||
			slices.Contains(never[key], column) {
			continue
		}
		f.ReadState = schema.ReadPartial
		never[key] = slices.Sorted(slices.Values(append([]string{column}, never[key]...)))
	}
	h.Memory.Never, h.Altered = never, true
	if len(never) == 0 {
		h.Memory.Never = nil
	}
	return h, nil
}

type columns []schema.Column

// has reports whether the columns include a column called name.
func (cs columns) has(name string) bool { return cs.index(name) >= 0 }

func (cs columns) index(name string) int {
	return slices.IndexFunc(cs, func(c schema.Column) bool { return c.Name == name })
}
