package transform

import (
	"strings"

	"spendsync/extract"
	"spendsync/schema"
)

// CanWrite reports whether the key of a reply to "me" can make changes, in the spellings that [Account] knows. NULL
// means that the reply has none of them.
func CanWrite(me extract.Entity) schema.Null[bool] {
	return newAccountReader().canWrite(me)
}

// canWrite is whether the key can make changes.
func (a *accountReader) canWrite(me extract.Entity) schema.Null[bool] {
	r := a.keyInfo(me)
	a.Read = append(a.Read, "scope", "scopes", "permissions") // whichever of them decides
	if can := read(r, optional, yesNo, "can_write", "can_make_changes", "can_write", "can_change", "writable",
		"write"); can.Valid {
		return can
	}
	if only := read(r, optional, yesNo, "can_write", "read_only", "readonly"); only.Valid {
		return schema.Some(!only.V)
	}
	v, _ := r.value("", "scope", "scopes", "permissions")
	switch words := strings.ToLower(string(v)); { // a text or a list of texts

	case strings.Contains(words, "write"):
		return schema.Some(true)
	case strings.Contains(words, "read"):
		return schema.Some(false)
	}
	a.miss("can_write")
	return schema.Null[bool]{}
}
