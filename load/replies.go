package load

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
)

// Replies are the replies of one day: those that are stored, and those that a run is reading, in its area. The methods
// are for one goroutine; several days may be read at the same time.
type Replies struct {
	store *Store
	area  *Area
	day   schema.Date
	read  map[string]*manifest.File // by published path
	same  map[string]bool           // of these, the stored ones that stay published
}

// Replies returns the replies of a day.
func (s *Store) Replies(a *Area, day schema.Date) *Replies {
	return &Replies{store: s, area: a, day: day, read: map[string]*manifest.File{}, same: map[string]bool{}}
}

// damage returns the first damage of the stored replies; nil if they are intact.
func (r *Replies) damage() error {
	a := r.store.Account()
	for _, path := range a.RawPages(r.day) {
		if err := manifest.CheckBytes(r.store.opts.disk, r.store.dir, path, a.Files[path]); err != nil {
			return err
		}
	}
	return nil
}

// Pages returns the stored replies, unpacked one by one, each valid only until the next iteration. Nothing follows an
// error.
func (r *Replies) Pages() iter.Seq2[[]byte, error] {
	a := r.store.Account()
	return manifest.RawPages(r.store.opts.disk, r.store.dir, a, a.RawPages(r.day))
}

// Put keeps one reply that is read, with its fingerprint. It is published only with its day. If the stored reply is the
// same and undamaged, it stays.
func (r *Replies) Put(page int, body []byte, rows int64, fingerprint string) error {
	s := r.store
	if !s.opts.KeepRaw {
		return nil
	}
	path := manifest.RawPath(s.account, r.day, page)
	if known := s.Account().Files[path]; known != nil && fingerprint != "" && known.Fingerprint == fingerprint &&
		manifest.CheckBytes(s.opts.disk, s.dir, path, known) == nil {
		r.read[path], r.same[path] = known, true
		return nil
	}
	packed, err := r.area.pack(body)
	if err != nil {
		return err
	}
	sha, size, err := s.opts.disk.WriteFile(r.area.path(path), packed)
	if err != nil {
		return fmt.Errorf("raw reply %s page %d: %w", r.day, page, err)
	}
	r.read[path] = &manifest.File{Kind: manifest.KindRaw, Day: r.day, Rows: rows, Bytes: size, SHA256: sha,
		RunID: r.area.runID, Fingerprint: fingerprint, Unpacked: int64(len(body))}
	return nil
}

// place returns where a reply that was read is.
func (r *Replies) place(path string) string {
	if r.same[path] {
		return filepath.Join(r.store.dir, path)
	}
	return r.area.path(path)
}

// Count returns how many replies were read.
func (r *Replies) Count() int { return len(r.read) }

// Drop forgets all replies that were read: the reading starts again, or the content of the day is as stored.
func (r *Replies) Drop() error { return r.DropPages(1, math.MaxInt) }

// DropPages forgets the replies that were read with these numbers, the last excluded. Those behind them move up.
func (r *Replies) DropPages(first, end int) error {
	disk, page := r.store.opts.disk, 0
	drop := func(path string) error {
		delete(r.read, path)
		delete(r.same, path)
		return disk.RemoveIfThere(r.area.path(path))
	}
	for _, path := range slices.SortedFunc(maps.Keys(r.read), manifest.ByPage) {
		switch page++; {
		case page < first || end <= first:
		case page < end:
			if err := drop(path); err != nil {
				return err
			}
		default:
			to := manifest.RawPath(r.store.account, r.day, page-end+first)
			content, err := disk.ReadFile(r.place(path), r.read[path].Bytes)
			if err == nil {
				_, _, err = disk.WriteFile(r.area.path(to), content)
			}
			if err != nil {
				return fmt.Errorf("raw reply %s page %d: %w", r.day, page, err)
			}
			file := *r.read[path]
			file.RunID = r.area.runID
			if err := drop(path); err != nil {
				return err
			}
			r.read[to] = &file
		}
	}
	return nil
}

// Quarantine keeps the replies that were read, and after them the refused one. It reports whether something is kept:
// nothing is if the store keeps no replies, or if none came.
func (r *Replies) Quarantine(d quarantine.Day, refused []byte) (kept bool, err error) {
	s := r.store
	if !s.opts.KeepRaw || len(r.read) == 0 && refused == nil && d.Refusal == nil {
		return false, nil
	}
	d.Date, d.RunID, d.Version = r.day, r.area.runID, s.opts.Version
	return true, s.Quarantine().Put(d, func(yield func(quarantine.Packed, error) bool) {
		for _, path := range slices.SortedFunc(maps.Keys(r.read), manifest.ByPage) {
			packed, err := s.opts.disk.ReadFile(r.place(path), r.read[path].Bytes)
			if !yield(quarantine.Packed{Content: packed, Unpacked: r.read[path].Unpacked}, err) {
				return
			}
		}
		if refused != nil {
			packed, err := r.area.pack(refused)
			yield(quarantine.Packed{Content: packed, Unpacked: int64(len(refused))}, err)
		}
	})
}
