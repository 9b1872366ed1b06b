package transform

import (
	"strings"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

// CanWrite reports whether the key of a reply to "me" can make changes, in the spellings that [Account] knows. NULL
// means that the reply has none of them.
func CanWrite(s *service.Service, me extract.Entity) schema.Null[bool] {
	return newAccountReader(s).canWrite(me)
}

// canWrite is whether the key can make changes.
func (a *accountReader) canWrite(me extract.Entity) schema.Null[bool] {
	r := a.keyInfo(me)
	a.Read = append(a.Read, r.names("scope")...) // whichever of them decides
	if can := read(r, optional, yesNo, "can_write"); can.Valid {
		return can
	}
	if only := read(r, optional, yesNo, "can_write", "read_only"); only.Valid {
		return schema.Some(!only.V)
	}
	v, _ := r.value(r.names("scope")...)
	switch words := strings.ToLower(string(v)); { // a text or a list of texts

	case strings.Contains(words, "write"):
		return schema.Some(true)
	case strings.Contains(words, "read"):
		return schema.Some(false)
	}
	a.miss("can_write")
	return schema.Null[bool]{}
}
