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
	lines []lines
}

// NewStagedChange returns an empty change.
func NewStagedChange() StagedChange {
	return StagedChange{Change: manifest.NewChange()}
}

// PutSettled stages the list of campaigns that are archived and need not be read again.
func (c *StagedChange) PutSettled(campaigns []string) {
	sorted := append([]string{}, slices.Sorted(slices.Values(campaigns))...) // never nil, because nil means unchanged
	c.Settled = slices.Compact(sorted)
}

// adopt adds the staged rows of the changes to the generation, and schedules the moves and removals of the changed
// files.
func (n *generation) adopt(changes []StagedChange) {
	for _, c := range changes {
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
