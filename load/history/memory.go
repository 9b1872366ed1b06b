package history

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"spendsync/schema"
)

// Memory is what the rows of a history do not say. It is kept in the manifest, so
// that the Parquet file changes only when a version does.
//
// It is small, because nearly everything is confirmed by every run: what it
// names one by one are the exceptions.
type Memory struct {
	// ObservedAt is the last observation's instant. A run before it is refused,
	// and one at it again counts no absence twice.
	ObservedAt schema.Instant `json:"observed_at,omitzero"`
	// ConfirmedAt is when everything that is not excepted was last confirmed.
	ConfirmedAt schema.Instant `json:"confirmed_at,omitzero"`
	// Excepted are the keys that were last confirmed at another time.
	Excepted map[string]schema.Instant `json:"excepted,omitempty"`
	// Missed counts complete absences in a row.
	Missed map[string]int `json:"missed,omitempty"`
	// Never are the tracked columns that have never been readable, sorted, for
	// keys whose read state is partial. Of a stub and of what is unreadable that
	// is every column, and needs no entry.
	Never map[string][]string `json:"never,omitempty"`
}

// Confirmed is when the current version of a key was last confirmed: all that it
// says has been read at or after this instant. A read confirms if every tracked
// field was readable; so does the first one that could read anything. Of a
// deleted entity it is when a complete listing last lacked it.
func (m Memory) Confirmed(key string) schema.Instant {
	if at, ok := m.Excepted[key]; ok {
		return at
	}
	return m.ConfirmedAt
}

// remember makes the memory of entities. The instant that most of them were
// confirmed at is the rule, the later one of two that share the most.
func remember[R any, P Versioned[R]](entities []*entity[R], at schema.Instant) Memory {
	m := Memory{ObservedAt: at, Excepted: map[string]schema.Instant{}, Missed: map[string]int{},
		Never: map[string][]string{}}
	count := map[schema.Instant]int{}
	for _, th := range entities {
		count[th.confirmed]++
	}
	for c, n := range count {
		if most := count[m.ConfirmedAt]; n > most || (n == most && c > m.ConfirmedAt) {
			m.ConfirmedAt = c
		}
	}
	for _, th := range entities {
		if th.confirmed != m.ConfirmedAt {
			m.Excepted[th.text] = th.confirmed
		}
		if th.missed > 0 {
			m.Missed[th.text] = th.missed
		}
		if P(th.current).FramePtr().ReadState == schema.ReadPartial {
			m.Never[th.text] = th.never
		}
	}
	return m.trim()
}

// trim makes empty maps nil, as they are when the manifest is read back.
func (m Memory) trim() Memory {
	if len(m.Excepted) == 0 {
		m.Excepted = nil
	}
	if len(m.Missed) == 0 {
		m.Missed = nil
	}
	if len(m.Never) == 0 {
		m.Never = nil
	}
	return m
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
	h.Memory.Never = never
	h.Memory, h.Altered = h.Memory.trim(), true
	return h, nil
}

// KeyTextOf gives the key texts of a table's rows, as in [Memory]: the parts of
// the key but for the account and the version, joined by slashes. A slash in a
// part is ~1 and a tilde is ~0, as in a JSON pointer, so no two keys share a text.
func KeyTextOf[R any](t schema.TableOf[R]) func(row *R) string {
	id := identityOf(t)
	return func(row *R) string { return keyText(id.parts(row)) }
}

// identity reaches the texts that say what a row is of.
type identity[R any] struct {
	key            []textField[R] // what identifies an entity in an account's history
	account, runID textField[R]
}

// textField reaches a text of a row that is never NULL.
type textField[R any] func(*R) *string

// identityOf finds the fields. They lie in the row itself, not in its frame. A
// table that lacks one, or in which one is no plain text, panics: it is none of
// settings.
func identityOf[R any](t schema.TableOf[R]) identity[R] {
	row := reflect.TypeFor[R]()
	field := func(column string) textField[R] {
		for i := range row.NumField() {
			if row.Field(i).Tag.Get("col") == column {
				return func(r *R) *string { return reflect.ValueOf(r).Elem().Field(i).Addr().Interface().(*string) }
			}
		}
		panic(fmt.Sprintf("history: table %s has no column %s", t.FullName(), column))
	}
	id := identity[R]{account: field("account_id"), runID: field("_run_id")}
	for _, name := range t.KeyNames() {
		if name != "account_id" && name != "version_no" {
			id.key = append(id.key, field(name))
		}
	}
	return id
}

func (id identity[R]) parts(row *R) []string {
	parts := make([]string, len(id.key))
	for i, field := range id.key {
		parts[i] = *field(row)
	}
	return parts
}

func (id identity[R]) sameEntity(a, b *R) bool {
	return !slices.ContainsFunc(id.key, func(field textField[R]) bool { return *field(a) != *field(b) })
}

var escapeKey = strings.NewReplacer("~", "~0", "/", "~1")

func keyText(parts []string) string {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = escapeKey.Replace(p)
	}
	return strings.Join(escaped, "/")
}
