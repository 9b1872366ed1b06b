package load

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
)

// Replies manages the replies of one day: the stored replies, and the new replies that a run puts into its area. A
// Replies is for one goroutine; several days may be read concurrently.
type Replies struct {
	store *Store
	area  *Area
	day   schema.Date
	read  map[string]*manifest.File // the new replies, by published path
}

// Replies returns the replies of a day.
func (s *Store) Replies(a *Area, day schema.Date) *Replies {
	return &Replies{store: s, area: a, day: day, read: map[string]*manifest.File{}}
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

// Pages returns the stored replies, unpacked one by one. A reply is valid only until the next iteration. Nothing
// follows an error.
func (r *Replies) Pages() iter.Seq2[[]byte, error] {
	a := r.store.Account()
	return manifest.RawPages(r.store.opts.disk, r.store.dir, a, a.RawPages(r.day))
}

// Put stages one new reply, to be published together with its day.
func (r *Replies) Put(page int, body []byte, rows int64) error {
	s := r.store
	path := manifest.RawPath(s.account, r.day, page)
	packed, err := r.area.pack(body)
	if err != nil {
		return err
	}
	sha, size, err := s.opts.disk.WriteFile(r.area.path(path), packed)
	if err != nil {
		return fmt.Errorf("raw reply %s page %d: %w", r.day, page, err)
	}
	r.read[path] = &manifest.File{Kind: manifest.KindRaw, Day: r.day, Rows: rows, Bytes: size, SHA256: sha,
		RunID: r.area.runID, Rules: manifest.PresentRules, Unpacked: int64(len(body))}
	return nil
}

// Count returns the number of new replies.
func (r *Replies) Count() int { return len(r.read) }

// Drop discards all new replies, because the day is read again or is unchanged.
func (r *Replies) Drop() error { return r.DropPages(1, math.MaxInt) }

// DropPages discards the new replies whose number is at least first and less than end. Later replies get lower numbers,
// so that no number is missing.
func (r *Replies) DropPages(first, end int) error {
	disk, page := r.store.opts.disk, 0
	for _, path := range slices.SortedFunc(maps.Keys(r.read), manifest.ByPage) {
		file, staged := r.read[path], r.area.path(path)
		switch page++; {
		case page < first || end <= first:
			continue
		case page < end:
			if err := disk.RemoveIfThere(staged); err != nil {
				return err
			}
		default:
			to := manifest.RawPath(r.store.account, r.day, page-end+first)
			if err := disk.Rename(staged, r.area.path(to)); err != nil {
				return durable.Storage(fmt.Errorf("raw reply %s page %d: %w", r.day, page, err))
			}
			r.read[to] = file
		}
		delete(r.read, path)
	}
	return nil
}

// Quarantine puts the new replies into quarantine, and then the body of the refused reply, if there is one. If there is
// no reply, and the day d has no refusal, Quarantine stores nothing and returns false.
func (r *Replies) Quarantine(d quarantine.Day, refused []byte) (stored bool, err error) {
	s := r.store
	if len(r.read) == 0 && refused == nil && d.Refusal == nil {
		return false, nil
	}
	d.Date, d.RunID, d.Version = r.day, r.area.runID, s.opts.Version
	return true, s.Quarantine().Put(d, func(yield func(quarantine.Packed, error) bool) {
		for _, path := range slices.SortedFunc(maps.Keys(r.read), manifest.ByPage) {
			packed, err := s.opts.disk.ReadFile(r.area.path(path), r.read[path].Bytes)
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
