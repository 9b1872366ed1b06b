// Package settingslog keeps the replies of the settings, one pack for each Chicago day with new ones: the service has
// no history of the settings, and a later version of spendsync may read more of them. A reply is kept if it differs
// from the last kept reply of the same entity, which an index names. Packs are removed when they are too old or too
// large in total, and then their replies are kept again at the next reading.
package settingslog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

const (
	maxBytes = 64 << 20            // of an account, compressed
	maxAge   = 40 * 24 * time.Hour // since they were received
)

// Reply is a line of a pack: a reply of the service about one entity.
type Reply struct {
	At    schema.Instant `json:"at"`             // when it was received
	Seen  schema.Instant `json:"seen,omitempty"` // when the reading that it is of had ended
	Kind  string         `json:"kind"`
	Of    string         `json:"of,omitempty"` // the campaign that a creative is of
	ID    string         `json:"id,omitempty"`
	Reply string         `json:"reply"` // as received, without credentials
}

// last is a line of the index: which reply of an entity is the last, and in which pack.
type last struct {
	Kind string      `json:"kind"`
	ID   string      `json:"id,omitempty"`
	Hash string      `json:"hash"`
	Seen schema.Date `json:"seen"`
}

// Store is where the replies of an account are kept.
type Store struct {
	Disk    durable.Disk
	Dir     string // the data folder
	Account string
	Files   map[string]*manifest.File // that are published of the account
	Log     *slog.Logger
}

// Collector collects the replies of one reading of the settings that are new. Nil collects
// none. It may be used by several goroutines.
type Collector struct {
	Seen  schema.Date // the day of the pack
	Gone  []string    // packs that are too old or too much, by their paths
	Added int64       // replies that are new

	mu    sync.Mutex
	index map[[2]string]last
	added []Reply
}

// Collect prepares to collect. A lost or damaged index costs no reply: all are kept once more.
func (s Store) Collect(now time.Time) *Collector {
	c := &Collector{Seen: schema.DateOf(now), Gone: s.outlived(now), index: map[[2]string]last{}}
	path := manifest.RepliesIndexPath(s.Account)
	info := s.Files[path]
	if info == nil {
		return c
	}
	lines, err := s.Unpack(path, info)
	d := json.NewDecoder(bytes.NewReader(lines))
	for err == nil && d.More() {
		var l last
		err = d.Decode(&l)
		pack := manifest.RepliesPath(s.Account, l.Seen)
		if err == nil && s.Files[pack] != nil && !slices.Contains(c.Gone, pack) {
			c.index[[2]string{l.Kind, l.ID}] = l
		}
	}
	if err != nil {
		s.Log.Warn("it is not known which replies of the settings are kept; all are kept once more", "error", err)
		clear(c.index)
	}
	return c
}

// Unpack are the lines of a file, after checking its bytes.
func (s Store) Unpack(path string, info *manifest.File) ([]byte, error) {
	dec, err := manifest.NewUnpacker()
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return manifest.RawPage(s.Disk, s.Dir, path, info, dec, nil)
}

// Check compares a file with its published bytes and number of lines.
func (s Store) Check(path string, info *manifest.File) error {
	lines, err := s.Unpack(path, info)
	if err != nil {
		return err
	}
	return manifest.CountRows(path, info, int64(bytes.Count(lines, []byte("\n"))), nil)
}

// packs are the paths of the packs, the oldest first.
func (s Store) packs() (paths []string) {
	for path, f := range s.Files {
		if f.Kind == manifest.KindReplies && f.Day > 0 {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return int(s.Files[a].Day - s.Files[b].Day) })
	return paths
}

// outlived are the packs that are too old, and then the oldest until the rest is not too much.
func (s Store) outlived(now time.Time) (gone []string) {
	size := int64(0)
	packs := s.packs()
	for _, path := range packs {
		size += s.Files[path].Bytes
	}
	for _, path := range packs {
		if now.Sub(s.Files[path].Day.Start()) <= maxAge && size <= maxBytes {
			break
		}
		gone, size = append(gone, path), size-s.Files[path].Bytes
	}
	return gone
}

// Has reports whether a reply is the last one of its entity. Nil has none.
func (c *Collector) Has(kind, id string, reply []byte) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index[[2]string{kind, id}].Hash == hashOf(reply)
}

func hashOf(reply []byte) string {
	sum := sha256.Sum256(reply)
	return hex.EncodeToString(sum[:16])
}

// Add adds a reply about an entity if it differs from the last one.
func (c *Collector) Add(r Reply) {
	if c == nil || len(r.Reply) == 0 {
		return
	}
	l := last{Kind: r.Kind, ID: r.ID, Hash: hashOf([]byte(r.Reply)), Seen: c.Seen}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.index[[2]string{r.Kind, r.ID}].Hash == l.Hash {
		return
	}
	c.index[[2]string{r.Kind, r.ID}] = l
	c.added = append(c.added, r)
	c.Added++
}

// Lines are the new replies of a reading that ended at an instant, as a pack has them.
func (c *Collector) Lines(seen schema.Instant) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, r := range c.added {
		r.Seen = seen
		if err := e.Encode(r); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// Readings returns the kept replies, grouped by reading, the oldest reading first. It skips a damaged pack
// with a warning. Nothing follows an error.
func (s Store) Readings() iter.Seq2[[]Reply, error] {
	return func(yield func([]Reply, error) bool) {
		for _, path := range s.packs() {
			lines, err := s.Unpack(path, s.Files[path])
			if errors.Is(err, durable.ErrDamaged) {
				s.Log.Warn("kept replies of the settings cannot be read; the others are", "error", err)
				continue
			}
			var reading []Reply
			d := json.NewDecoder(bytes.NewReader(lines))
			for err == nil && d.More() {
				var r Reply
				if err = d.Decode(&r); err != nil {
					break
				}
				if len(reading) > 0 && reading[0].Seen != r.Seen {
					if !yield(reading, nil) {
						return
					}
					reading = nil
				}
				reading = append(reading, r)
			}
			if err != nil || len(reading) > 0 {
				if !yield(reading, err) || err != nil {
					return
				}
			}
		}
	}
}

// Index is the new index, and how many lines it has.
func (c *Collector) Index() (lines []byte, rows int64, err error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	keys := slices.Collect(maps.Keys(c.index))
	slices.SortFunc(keys, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, key := range keys {
		if err := e.Encode(c.index[key]); err != nil {
			return nil, 0, err
		}
	}
	return b.Bytes(), int64(len(keys)), nil
}
