package transform

import (
	"spendsync/extract"
	"spendsync/extract/service"
)

// AccountRef is the advertiser account that a key acts on, as the service names
// it: what [Account] returns too, before the rest of the account has been read.
func AccountRef(s *service.Service, me extract.Entity) (string, error) {
	a := newAccountReader(s)
	ref := a.account(me)
	return ref, a.Err()
}
