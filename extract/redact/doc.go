// Package redact removes the credentials of a request from what the service answers to it:
// [Redactor] from a reply that is stored, [Secrets] from texts that are reported.
//
// It alters no number and no ID, logs nothing and knows nothing of what a reply means.
package redact
