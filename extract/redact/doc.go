// Package redact removes credentials from the service's replies: [Secrets.Reply] from a reply that
// is stored, [Secrets.Hide] from a text that is reported.
//
// It alters no numbers and no IDs, logs nothing, and does not know what a reply means.
package redact
