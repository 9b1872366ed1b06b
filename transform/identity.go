package transform

import "spendsync/extract"

// AccountRef is the advertiser account that a key acts on, as the service names
// it: what [Account] returns too, before the rest of the account has been read.
func AccountRef(me extract.Entity) (string, error) {
	a := newAccountReader()
	ref := a.account(me)
	return ref, a.Err()
}
