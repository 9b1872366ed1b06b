// Package ledger computes the numbers and settings of an account at one instant, from the generated account and the
// changes made to it. It changes neither.
package ledger
