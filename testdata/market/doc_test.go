// Package market measures advice by the money that it earns. In simulated accounts, whose true rates are known, it
// compares the profit of several ways to choose sources, and checks what the questions state about the accounts.
//
// A [World] is an account drawn from the distributions of a [Kind]: campaigns, sources of all qualities and sizes,
// conversions that arrive for four weeks, daily limits, sources that are new or whose rate changes. Every morning, a
// [Policy] sees the numbers that the service has reported so far, and returns the sources to block from then on. [Play]
// returns the profit by the true rates, not by the conversions that happened to be drawn.
//
// The tests run the SQL of the questions, on a database to which every morning adds its numbers.
package market
