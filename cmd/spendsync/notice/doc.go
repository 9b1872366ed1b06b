// Package notice sends messages about runs and findings to people, and signals to services that raise an alarm if a run
// is missing.
//
// A failed message never changes the exit code of a run. The context limits the time for all receivers together.
// Redirects are not followed. Errors show only the scheme and host of an address, because the rest of most addresses is
// a secret.
package notice
