package transform

import (
	"strings"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

// CanWrite reports whether an API key can make changes, from a reply to "me". It returns NULL if the reply has none of
// the keys and values that [Account] knows.
func CanWrite(s *service.Service, me extract.Entity) schema.Null[bool] {
	return newAccountReader(s).canWrite(me)
}

// canWrite reports whether the API key can make changes. If that is unknown, it returns NULL and records can_write as
// unread.
func (a *accountReader) canWrite(me extract.Entity) schema.Null[bool] {
	r := a.keyInfo(me)
	a.Read = append(a.Read, r.names("scope")...) // scope is a known key, even if it is not used below
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
