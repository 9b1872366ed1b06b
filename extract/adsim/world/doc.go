// Package world holds the mutable state of one account: changes of settings, restatements and deposits.
package world
