// Package check tests whether a sync can work here: the variables, the credentials, whether both
// interfaces act on one account, the clock, the volume, the operator's payouts. For each it reports
// ok, or a problem and its remedy.
//
// It changes nothing here, and its requests change nothing at the service.
package check
