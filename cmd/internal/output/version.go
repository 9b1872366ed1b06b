package output

import "runtime/debug"

// Version is the version of this binary: the linker sets it for a release, the module or the
// commit tells it otherwise.
func Version(linked string) string {
	if linked != "" {
		return linked
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "devel-" + s.Value[:12]
			}
		}
	}
	return "devel"
}
