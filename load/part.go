package load

import (
	"maps"
	"slices"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// Part is a part of what a run publishes: a value. Its new files are in the area of the run. A part that is not handed
// to [Store.Publish] is not published.
type Part struct {
	manifest.Change
	stale   map[schema.Date]string // of days with few other rows: the private file of the stored rows to delete, or ""
	lines   []lines
	learned map[string]schema.Date // campaigns whose past became known, with its first day
}

// NewPart returns a part that changes nothing.
func NewPart() Part {
	return Part{Change: manifest.NewChange(), stale: map[schema.Date]string{}, learned: map[string]schema.Date{}}
}

// PutSettled stages which campaigns are archived and were read, and which of them were not fully understood,
// with the version of spendsync that read them.
func (p *Part) PutSettled(campaigns []string, unclear map[string]string) {
	sorted := append([]string{}, slices.Sorted(slices.Values(campaigns))...) // none is not unchanged
	p.Settled, p.SettledUnclear = slices.Compact(sorted), unclear
}

// learn records the first day of a campaign whose past became known.
func learn(learned map[string]schema.Date, id string, day schema.Date) {
	if known, is := learned[id]; !is || day < known {
		learned[id] = day
	}
}

// take takes over what the parts bring besides the changes of the manifest, and lets their files take their places.
func (n *generation) take(parts []Part) {
	for _, p := range parts {
		maps.Copy(n.stale, p.stale)
		maps.Copy(n.confirmed, p.Confirmations)
		n.lines = append(n.lines, p.lines...)
		for id, day := range p.learned {
			learn(n.learned, id, day)
		}
		for _, path := range slices.Sorted(maps.Keys(p.Files)) {
			if p.Files[path] == nil {
				n.files.removes = append(n.files.removes, path)
			} else {
				n.files.move(path)
			}
		}
	}
}
