// Package market holds advice to the money that it earns: simulated accounts of which the truth is
// known, what each way to choose sources would have earned there, and what the questions say of them.
//
// A [World] is an account drawn from the distributions of a [Kind]: campaigns, sources of all
// qualities and sizes, conversions that arrive for four weeks, limits a day, sources that are new or
// turn. A [Policy] sees every morning what the service has told by then and names sources to block;
// its list is followed for the rest of the world. [Play] returns the profit that this makes by the
// true rates, not by what happened to be told.
//
// The tests play the questions' SQL itself, on a database that is filled anew every morning.
package market
