package transform

import (
	"spendsync/extract"
	"spendsync/schema"
)

// AccountRef is the advertiser account that a key acts on, as the service names
// it: what [Account] tells too, before the rest of the account has been read.
func AccountRef(me extract.Entity) (string, error) {
	a := accountReader{findings: &findings{table: schema.AccountSnapshots.Name, intern: NewInterner()}}
	ref := a.account(me)
	return ref, a.err
}
