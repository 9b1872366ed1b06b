// Package check looks whether a sync can work here: the variables, the credentials,
// whether both interfaces act on one account, the clock, the volume, the operator's payouts.
// Of each it says whether it is ok, and if not, what to do.
//
// It leaves everything as it was, and none of what it asks the service changes
// anything there.
package check
