// Package check tests whether a sync can work on this machine. It checks the variables, the credentials, whether both
// interfaces act on the same account, the clock, the volume, and the operator's payouts. For each check it reports ok,
// or a problem and its remedy.
//
// The checks change nothing in the store, and their requests change nothing at the service.
package check
