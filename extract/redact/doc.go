// Package redact removes credentials from what the service sends. [Secrets.Reply] removes them from a reply before it
// is stored, and [Secrets.Hide] from a text before people see it.
//
// It alters no numbers and no IDs, logs nothing, and does not know what a reply means.
package redact
