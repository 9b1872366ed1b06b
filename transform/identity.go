package transform

import (
	"spendsync/extract"
	"spendsync/extract/service"
)

// AccountRef returns the advertiser account that an API key acts on, as the service names it.
func AccountRef(s *service.Service, me extract.Entity) (string, error) {
	a := newAccountReader(s)
	ref := a.account(me)
	return ref, a.Err()
}
