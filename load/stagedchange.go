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

// NewStagedChange returns a part that changes nothing.
func NewStagedChange() StagedChange {
	return StagedChange{Change: manifest.NewChange(), groups: map[string][]string{}}
}

// PutSettled stages which campaigns are archived and were read.
func (p *StagedChange) PutSettled(campaigns []string) {
	sorted := append([]string{}, slices.Sorted(slices.Values(campaigns))...) // none is not unchanged
	p.Settled = slices.Compact(sorted)
}

// mostGroups is how many groups of a table may differ for DuckDB to replace these alone.
const mostGroups = 100

// adopt takes over what the parts bring besides the changes of the manifest, and lets their files take their places.
func (n *generation) adopt(parts []StagedChange) {
	for _, p := range parts {
		maps.Copy(n.groups, p.groups)
		n.lines = append(n.lines, p.lines...)
		for _, path := range slices.Sorted(maps.Keys(p.Files)) {
			if p.Files[path] == nil {
				n.files.removes = append(n.files.removes, path)
			} else {
				n.files.move(path)
			}
		}
	}
}
