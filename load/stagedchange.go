package load

import (
	"maps"
	"slices"

	"spendsync/load/manifest"
)

// StagedChange describes some of the changes that a run publishes. Its new files are in the area of the run. It takes
// effect only if it is passed to [Store.Publish].
type StagedChange struct {
	manifest.Change
	lines  []lines
	groups map[string][]string // by table of versions: the groups that differ, if they are few
}

// NewStagedChange returns a change of nothing.
func NewStagedChange() StagedChange {
	return StagedChange{Change: manifest.NewChange(), groups: map[string][]string{}}
}

// PutSettled stages which campaigns are archived and were read.
func (c *StagedChange) PutSettled(campaigns []string) {
	sorted := append([]string{}, slices.Sorted(slices.Values(campaigns))...) // none is not unchanged
	c.Settled = slices.Compact(sorted)
}

// mostGroups is how many groups of a table may differ for DuckDB to replace these alone.
const mostGroups = 100

// adopt adds what the changes hold besides those of the manifest, and moves their files into place.
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
