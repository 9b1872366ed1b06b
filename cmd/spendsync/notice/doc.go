// Package notice reports runs and findings to people, and to services that notice when a run is missing.
//
// A receiver never affects the exit code of a run. All receivers together take at most the time of their context.
// Redirects are not followed. Errors show only the scheme and host of an address, because the rest of the address is a
// secret for most receivers.
package notice
