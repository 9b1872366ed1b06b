package load

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
)

// PutRaw keeps one reply of a day that is being read, with its fingerprint. It is published only with its
// day. If the stored reply is the same and undamaged, it stays.
func (g *Staged) PutRaw(d schema.Date, page int, body []byte, rows int64, fingerprint string) error {
	if !g.store.opts.KeepRaw {
		return nil
	}
	path, day := manifest.RawPath(g.store.account, d, page), g.day(d)
	if known := g.store.Account().Files[path]; known != nil && fingerprint != "" && known.Fingerprint == fingerprint &&
		manifest.CheckBytes(g.store.opts.disk, g.store.dir, path, known) == nil {
		day.raw[path], day.unchanged[path] = known, true
		return nil
	}
	packed, err := g.area.pack(body)
	if err != nil {
		return err
	}
	sha, size, err := g.store.opts.disk.WriteFile(g.area.path(path), packed)
	if err != nil {
		return fmt.Errorf("raw reply %s page %d: %w", d, page, err)
	}
	day.raw[path] = &manifest.File{Kind: manifest.KindRaw, Day: d, Rows: rows, Bytes: size, SHA256: sha,
		RunID: g.area.runID, Fingerprint: fingerprint, Unpacked: int64(len(body))}
	return nil
}

// Quarantine keeps the staged replies of a day, and after them the refused one. It reports whether something is kept:
// nothing is if the store keeps no replies, or if none came.
func (g *Staged) Quarantine(d quarantine.Day, refused []byte) (kept bool, err error) {
	s, day := g.store, g.day(d.Date)
	if !s.opts.KeepRaw || len(day.raw) == 0 && refused == nil && d.Refusal == nil {
		return false, nil
	}
	d.RunID, d.Version = g.area.runID, s.opts.Version
	return true, s.Quarantine().Put(d, func(yield func(quarantine.Packed, error) bool) {
		for _, path := range slices.Sorted(maps.Keys(day.raw)) {
			from := g.area.path(path)
			if day.unchanged[path] {
				from = filepath.Join(s.dir, path)
			}
			packed, err := s.opts.disk.ReadFile(from, day.raw[path].Bytes)
			if !yield(quarantine.Packed{Content: packed, Unpacked: day.raw[path].Unpacked}, err) {
				return
			}
		}
		if refused != nil {
			packed, err := g.area.pack(refused)
			yield(quarantine.Packed{Content: packed, Unpacked: int64(len(refused))}, err)
		}
	})
}

// Withhold keeps the replies of a staged day that must not be published, and forgets the day. It reports whether the
// replies are kept.
func (g *Staged) Withhold(d quarantine.Day) (kept bool, err error) {
	if kept, err = g.Quarantine(d, nil); err != nil {
		return false, err
	}
	return kept, g.Drop(d.Date)
}

// Drop forgets a day.
func (g *Staged) Drop(d schema.Date) error {
	if err := g.DropRaw(d); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.days, d)
	return nil
}

// DropRaw forgets the replies of a day, whose reading starts again or whose
// content is as stored.
func (g *Staged) DropRaw(d schema.Date) error { return g.DropPages(d, 1, math.MaxInt) }

// DropPages forgets the replies of a day with these numbers, the last excluded. Those behind them move up.
func (g *Staged) DropPages(d schema.Date, first, end int) error {
	if end <= first {
		return nil
	}
	day, disk, page := g.day(d), g.store.opts.disk, 0
	drop := func(path string) error {
		delete(day.raw, path)
		delete(day.unchanged, path)
		return disk.RemoveIfThere(g.area.path(path))
	}
	for _, path := range slices.Sorted(maps.Keys(day.raw)) {
		if page++; page >= first && page < end {
			if err := drop(path); err != nil {
				return err
			}
		} else if page >= end {
			from, to := g.area.path(path), manifest.RawPath(g.store.account, d, page-end+first)
			if day.unchanged[path] {
				from = filepath.Join(g.store.dir, path)
			}
			content, err := disk.ReadFile(from, day.raw[path].Bytes)
			if err == nil {
				_, _, err = disk.WriteFile(g.area.path(to), content)
			}
			if err != nil {
				return fmt.Errorf("raw reply %s page %d: %w", d, page, err)
			}
			file := *day.raw[path]
			file.RunID = g.area.runID
			if err := drop(path); err != nil {
				return err
			}
			day.raw[to] = &file
		}
	}
	return nil
}
