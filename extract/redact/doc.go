// Package redact removes the credentials of a request from what the service answers to it: [Secrets.Reply] from a reply
// that is stored, [Secrets.Hide] from a text that is reported.
//
// It alters no number and no ID, logs nothing and knows nothing of what a reply means.
package redact
