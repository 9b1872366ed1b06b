package history

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"spendsync/schema"
)

// KeyTextOf returns a function that returns the key of a row as text, as [Memory] uses it. The parts of the key,
// without the account and the version, are joined by slashes. As in a JSON pointer, a slash in a part is written ~1 and
// a tilde ~0, so different keys have different texts.
func KeyTextOf[R any](t schema.TableOf[R]) func(row *R) string {
	return identityOf(t).text
}

// identity reads the parts of a row's key as texts.
type identity[R any] struct {
	key            []func(*R) string // the parts of an entity's key, without the account
	account, runID textField[R]
}

// textField is a function that returns a pointer to a text field of a row. The field is never NULL.
type textField[R any] func(*R) *string

// identityOf finds the fields of the key in the row type. It panics if the row type lacks one of the fields, or if a
// field is neither a text nor a day, because then the table is not a table of versions.
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

// fieldOf returns the field of a column. It does not look into embedded structs.
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

// text returns the key of a row as one text.
func (id identity[R]) text(row *R) string { return keyText(id.parts(row)) }

// compare compares two rows by the keys of their entities.
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

// GroupKey returns the key of a group. A group has all entities whose keys begin with the given part.
func GroupKey(first string) string { return keyText([]string{first, ""}) }

// groupOf returns the key of an entity's group: the first part of the entity's key, and a slash. If the entity's key
// has only one part, groupOf returns "".
func groupOf(keyText string) string { return keyText[:strings.IndexByte(keyText, '/')+1] }
