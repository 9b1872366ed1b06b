package load

import (
	"maps"
	"slices"

	"spendsync/load/manifest"
)

// StagedChange is a set of changes that a run wants to publish. The files of the changes are in the area of the run. A
// StagedChange takes effect only if it is passed to [Store.Publish].
type StagedChange struct {
	manifest.Change
	lines  []lines
	groups map[string][]string // changed groups by name of a table; no entry if more than mostGroups changed
}

// NewStagedChange returns an empty change.
func NewStagedChange() StagedChange {
	return StagedChange{Change: manifest.NewChange(), groups: map[string][]string{}}
}

// PutSettled stages the list of campaigns that are archived and need not be read again.
func (c *StagedChange) PutSettled(campaigns []string) {
	sorted := append([]string{}, slices.Sorted(slices.Values(campaigns))...) // not nil, which would mean unchanged
	c.Settled = slices.Compact(sorted)
}

// mostGroups is the largest number of changed groups of a table for which DuckDB replaces single groups. If more groups
// have changed, it replaces the whole table.
const mostGroups = 100

// adopt takes over the lines and groups of the changes, and schedules the moves and removals of their files.
func (n *generation) adopt(changes []StagedChange) {
	for _, c := range changes {
		maps.Copy(n.groups, c.groups)
		n.lines = append(n.lines, c.lines...)
		for _, path := range slices.Sorted(maps.Keys(c.Files)) {
			if c.Files[path] == nil {
				n.files.removes = append(n.files.removes, path)
			} else {
				n.files.move(path)
			}
		}
	}
}
