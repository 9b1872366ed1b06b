package history

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"spendsync/schema"
)

// KeyTextOf gives the key texts of a table's rows, as in [Memory]: the parts of
// the key but for the account and the version, joined by slashes. A slash in a
// part is ~1 and a tilde is ~0, as in a JSON pointer, so no two keys share a text.
func KeyTextOf[R any](t schema.TableOf[R]) func(row *R) string {
	return identityOf(t).text
}

// identity reads the key of a row as texts.
type identity[R any] struct {
	key            []func(*R) string // texts of what identifies an entity in an account's history
	account, runID textField[R]
}

// textField reaches a text of a row that is never NULL.
type textField[R any] func(*R) *string

// identityOf finds the fields. They are fields of the row itself, not of its frame. A table that lacks one, or in
// which one is neither a plain text nor a day, panics: it is not a table of versions.
func identityOf[R any](t schema.TableOf[R]) identity[R] {
	row := reflect.TypeFor[R]()
	field := func(column string) textField[R] { return fieldOf[R, string](row, column) }
	id := identity[R]{account: field("account_id"), runID: field("_run_id")}
	for _, c := range t.Columns {
		switch {
		case !c.Key || c.Name == "account_id" || c.Name == "version_no":
		case c.Kind == schema.Day:
			day := fieldOf[R, schema.Date](row, c.Name)
			id.key = append(id.key, func(r *R) string { return day(r).String() })
		default:
			text := field(c.Name)
			id.key = append(id.key, func(r *R) string { return *text(r) })
		}
	}
	return id
}

// fieldOf returns a column's field, which is in the row itself.
func fieldOf[R, V any](row reflect.Type, column string) func(*R) *V {
	for i := range row.NumField() {
		if f := row.Field(i); f.Tag.Get("col") == column && f.Type == reflect.TypeFor[V]() {
			return func(r *R) *V { return (*V)(unsafe.Add(unsafe.Pointer(r), f.Offset)) }
		}
	}
	panic(fmt.Sprintf("history: %s has no column %s of type %s", row, column, reflect.TypeFor[V]()))
}

func (id identity[R]) parts(row *R) []string {
	parts := make([]string, len(id.key))
	for i, field := range id.key {
		parts[i] = field(row)
	}
	return parts
}

// text is the key of a row as one text.
func (id identity[R]) text(row *R) string { return keyText(id.parts(row)) }

// compare is the order of the entities of two rows.
func (id identity[R]) compare(a, b *R) int {
	for _, part := range id.key {
		if c := strings.Compare(part(a), part(b)); c != 0 {
			return c
		}
	}
	return 0
}

var escapeKey = strings.NewReplacer("~", "~0", "/", "~1")

func keyText(parts []string) string {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = escapeKey.Replace(p)
	}
	return strings.Join(escaped, "/")
}

// GroupKey returns the key of the group of entities whose keys have that first part.
func GroupKey(first string) string { return keyText([]string{first, ""}) }

// groupOf returns the key of the group of an entity: the first part of its key, and a slash. It is empty if the key
// has no other part.
func groupOf(keyText string) string { return keyText[:strings.IndexByte(keyText, '/')+1] }
