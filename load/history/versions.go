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

// Versions is a table's versions with their memory.
type Versions[R any] struct {
	Rows   []R // sorted by key, then version
	Memory Memory
	// Altered reports whether the rows differ from those of their file, which must then be written.
	Altered bool
}

// entity is one key with its versions and its part of the memory.
type entity[R any] struct {
	stored  []R // its versions before this run, oldest first; never written to
	closed  []R // versions that were current, the newest of the stored ones first, as newer ones close them
	current *R  // the newest version now: the newest stored one, or a row of our own

	confirmed schema.Instant // when its current version was last confirmed
	missed    int            // Memory.Missed
	never     []string       // tracked columns that have never been readable, sorted
	seen      bool           // in this run
}

// AddColumn is the history after its table has gained a tracked column: nothing
// that is current has ever been read with it. So its first value is a fill of the
// current version, not a change.
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

// columns are some columns of a table.
type columns []schema.Column

// has reports whether a column of that name is among them.
func (cs columns) has(name string) bool { return cs.index(name) >= 0 }

func (cs columns) index(name string) int {
	return slices.IndexFunc(cs, func(c schema.Column) bool { return c.Name == name })
}
