// Package ledger computes the numbers and settings of an account from a state: the generated account, the changes
// made to it, and an instant. It changes nothing.
package ledger
