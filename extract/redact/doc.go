// Package redact removes the credentials of a request from the service's reply to it: [Secrets.Reply] from a reply that
// is stored, [Secrets.Hide] from a text that is reported.
//
// It alters no numbers and no IDs, logs nothing, and does not know what a reply means.
package redact
