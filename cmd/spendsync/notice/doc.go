// Package notice reports runs and findings to people, and to services that notice when a run is missing.
//
// It promises that a receiver never changes how a run ends, that all receivers together cost at
// most the time of their context, that no redirect is followed, and that no error shows more of an
// address than its scheme and host: the rest is the secret of most receivers.
package notice
