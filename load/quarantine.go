package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"spendsync/load/catalog"
	"spendsync/schema"
)

// The quarantine keeps the replies of days that could not be proven, one folder a day with
// the latest of them, until the day is proven, they are too old, or there are too many. It is
// no part of a generation: nothing that is published depends on it, and it may be deleted.
const (
	quarantineName  = "quarantine"
	aboutName       = "about.json"
	maxQuarantined  = 256 << 20           // bytes of an account, compressed
	quarantineLimit = 90 * 24 * time.Hour // since the replies were received
)

// QuarantineFolder is where an account's quarantine lies below the data folder.
func QuarantineFolder(account string) string { return quarantineName + "/account=" + account }

// Quarantined is what was received of a day that could not be proven.
type Quarantined struct {
	Day      schema.Date    `json:"day"`
	ReadAt   schema.Instant `json:"read_at"` // when the read began
	RunID    string         `json:"run_id"`
	Version  string         `json:"version"` // of the binary that could not prove the day
	Reason   string         `json:"reason"`
	PageSize int            `json:"page_size"` // rows asked for a page
	// ControlTotal is the service's own total, as far as it gave one.
	ControlTotal ControlTotal      `json:"control_total"`
	Pages        []QuarantinedFile `json:"pages"`
	size         int64
}

// QuarantinedFile is one reply, compressed.
type QuarantinedFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (s *Store) quarantineDir(day schema.Date) string {
	return filepath.Join(s.dir, QuarantineFolder(s.account), "day="+day.String())
}

// Quarantine keeps the replies that are staged of a day, and after them the one that was
// refused, in the place of those that were kept of the day before. It does nothing where no
// replies are kept. The entry counts once its description is there, which is written last.
func (g *Staged) Quarantine(q Quarantined, refused []byte) error {
	s, day := g.store, g.day(q.Day)
	if !s.opts.KeepRaw || len(day.raw) == 0 && refused == nil {
		return nil
	}
	dir, disk := s.quarantineDir(q.Day), s.opts.disk
	if err := s.Release(q.Day); err != nil {
		return err
	}
	if err := disk.MakeDirs(dir); err != nil {
		return err
	}
	add := func(packed []byte) error {
		name := fmt.Sprintf("%04d.json.zst", len(q.Pages)+1)
		sha, size, err := disk.WriteFile(filepath.Join(dir, name), packed)
		q.Pages = append(q.Pages, QuarantinedFile{Name: name, Bytes: size, SHA256: sha})
		return err
	}
	for page := 1; ; page++ {
		path := catalog.RawPath(s.account, q.Day, page)
		if day.raw[path] == nil {
			break
		}
		from := g.staged(path)
		if day.stays[path] {
			from = filepath.Join(s.dir, path)
		}
		packed, err := disk.ReadFile(from)
		if err == nil {
			err = add(packed)
		}
		if err != nil {
			return err
		}
	}
	if refused != nil {
		packed, err := g.pack(refused)
		if err == nil {
			err = add(packed)
		}
		if err != nil {
			return err
		}
	}
	q.RunID, q.Version = g.runID, s.opts.Version
	about, err := json.MarshalIndent(q, "", "  ")
	if err != nil {
		return err
	}
	_, _, err = disk.WriteFile(filepath.Join(dir, aboutName), append(about, '\n'))
	return err
}

// Quarantined are the days in the account's quarantine, the oldest first.
func (s *Store) Quarantined() (days []Quarantined, err error) {
	days, _, err = s.readQuarantine()
	return days, err
}

// readQuarantine reads what is in quarantine. Days that are broken are not whole, because a
// run died while it wrote or removed them.
func (s *Store) readQuarantine() (days []Quarantined, broken []schema.Date, err error) {
	root := filepath.Join(s.dir, QuarantineFolder(s.account))
	entries, err := s.opts.disk.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		text, named := strings.CutPrefix(e.Name(), "day=")
		day, err := schema.ParseDate(text)
		if !named || err != nil {
			continue // not ours
		}
		about, err := s.opts.disk.ReadFile(filepath.Join(root, e.Name(), aboutName))
		if errors.Is(err, fs.ErrNotExist) {
			broken = append(broken, day)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		var q Quarantined
		if err := json.Unmarshal(about, &q); err != nil || q.Day != day {
			broken = append(broken, day)
			continue
		}
		for _, p := range q.Pages {
			q.size += p.Bytes
		}
		days = append(days, q)
	}
	slices.SortFunc(days, func(a, b Quarantined) int { return int(a.Day - b.Day) })
	return days, broken, nil
}

// QuarantinedPages are the replies of a day in the quarantine, unpacked one by one, each the
// loop body's alone. Nothing follows an error.
func (s *Store) QuarantinedPages(q Quarantined) iter.Seq2[[]byte, error] {
	a, paths := &Account{Files: map[string]*FileInfo{}}, []string{}
	for _, p := range q.Pages {
		path := QuarantineFolder(s.account) + "/day=" + q.Day.String() + "/" + filepath.Base(p.Name)
		a.Files[path] = &FileInfo{Kind: KindRaw, Bytes: p.Bytes, SHA256: p.SHA256}
		paths = append(paths, path)
	}
	return catalog.RawPages(s.opts.disk, s.dir, a, paths)
}

// Release removes a day from the quarantine. The description goes first: what is left without
// it counts for nothing.
func (s *Store) Release(day schema.Date) error {
	dir := s.quarantineDir(day)
	there, err := s.opts.disk.Exists(dir)
	if !there || err != nil {
		return err
	}
	if err := s.opts.disk.RemoveIfThere(filepath.Join(dir, aboutName)); err != nil {
		return err
	}
	return s.opts.disk.RemoveTree(dir)
}

// PruneQuarantine removes what is broken and what is too old, and then the oldest until the rest is not too
// much. It returns how many days are left.
func (s *Store) PruneQuarantine() (left int, err error) {
	days, broken, err := s.readQuarantine()
	if err != nil {
		return 0, err
	}
	for _, day := range broken {
		if err := s.Release(day); err != nil {
			return 0, err
		}
	}
	var size int64
	for _, q := range days {
		size += q.size
	}
	for _, q := range days {
		age := s.opts.Now().Sub(q.ReadAt.Time())
		if age <= quarantineLimit && size <= maxQuarantined {
			left++
			continue
		}
		if err := s.Release(q.Day); err != nil {
			return 0, err
		}
		size -= q.size
	}
	return left, nil
}
