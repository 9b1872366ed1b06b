// Package quarantine keeps the replies of days that could not be proven, until the day is
// proven, they are too old, or there are too many. Of each day it keeps the latest replies that
// were refused, and also the latest complete ones of every account that they may be of.
// It does not belong to a generation: nothing published depends on it, and it may be
// deleted.
package quarantine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

const (
	folderName = "quarantine"
	aboutName  = "about.json"
	maxAbout   = 16 << 20            // of the description of a day: a page takes 150 bytes
	maxBytes   = 256 << 20           // of an account, compressed
	maxAge     = 90 * 24 * time.Hour // since the replies were received
)

// FolderOf returns the quarantine folder of an account in the data directory.
func FolderOf(account string) string { return folderName + "/account=" + account }

// Folder is an account's quarantine.
type Folder struct {
	Disk    durable.Disk
	Dir     string // the data folder
	Account string
}

// Day is the received part of a day that could not be proven.
type Day struct {
	Date     schema.Date    `json:"day"`
	ReadAt   schema.Instant `json:"read_at"` // when the read began
	RunID    string         `json:"run_id"`
	Version  string         `json:"version"` // of the binary that could not prove the day
	Reason   string         `json:"reason"`
	PageSize int            `json:"page_size"` // rows asked for a page
	// ControlTotal is the service's own total, as far as it gave one.
	ControlTotal manifest.ControlTotal `json:"control_total"`
	Pages        []Reply               `json:"pages"`
	// Refusal is the error reply that ended the read; nil: the read ended with a page.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Withheld reports that the replies prove the day, and that only their account was not proven.
	Withheld  bool     `json:"withheld,omitzero"`
	Campaigns []string `json:"campaigns,omitempty"` // of a withheld day
	// Alike is how many other reads had the same rows.
	Alike int `json:"alike,omitzero"`
	// Pieces are what the pages answered, if the day was read campaign by campaign.
	Pieces []schema.Piece `json:"pieces,omitempty"`

	folder string // its name
}

// supersedes reports whether a day takes the place of one that is kept of the same date. A
// complete reply stays until one of the same account comes: IDs of campaigns are the service's own.
func (d Day) supersedes(kept Day) bool {
	if d.Withheld != kept.Withheld || len(d.Pages) == 0 && len(kept.Pages) > 0 { // a refusal has no rows
		return false
	}
	shared := func(id string) bool { return slices.Contains(kept.Campaigns, id) }
	return len(d.Campaigns)+len(kept.Campaigns) == 0 || slices.ContainsFunc(d.Campaigns, shared)
}

// IsNothing reports whether the service states that it has nothing of the day: no version can prove it by that.
func (d Day) IsNothing() bool {
	const notFound, gone = 404, 410
	return len(d.Pages) == 0 && d.Refusal != nil && (d.Refusal.Status == notFound || d.Refusal.Status == gone)
}

// Refusal is a reply with the status of an error.
type Refusal struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// Reply is one reply, compressed.
type Reply struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	Unpacked int64  `json:"unpacked,omitzero"` // its size once decompressed; 0: not known
}

// Packed is a compressed reply to be kept.
type Packed struct {
	Content  []byte
	Unpacked int64 // its size once decompressed; 0: not known
}

// at returns the path of a folder of replies.
func (f Folder) at(folder string) string { return filepath.Join(f.Dir, FolderOf(f.Account), folder) }

// Put keeps the replies of a day, compressed. They count once their description exists, which is
// written last. The kept ones that they supersede are removed after that.
func (f Folder) Put(d Day, replies iter.Seq2[Packed, error]) error {
	kept, broken, err := f.of(d.Date)
	if err != nil {
		return err
	}
	for _, folder := range broken {
		if err := f.remove(folder); err != nil {
			return err
		}
	}
	d.folder = "day=" + d.Date.String()
	taken := func(k Day) bool { return k.folder == d.folder }
	for n := 2; slices.ContainsFunc(kept, taken); n++ {
		d.folder = fmt.Sprintf("day=%s.%d", d.Date, n)
	}
	if d, err = f.write(d, replies); err != nil {
		return err
	}
	for _, k := range kept {
		if d.supersedes(k) {
			if err := f.remove(k.folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the replies of a day into its folder, and returns the day with them.
func (f Folder) write(d Day, replies iter.Seq2[Packed, error]) (Day, error) {
	dir := f.at(d.folder)
	if err := f.Disk.MakeDirs(dir); err != nil {
		return d, err
	}
	for packed, err := range replies {
		if err != nil {
			return d, err
		}
		name := fmt.Sprintf("%04d.json.zst", len(d.Pages)+1)
		sha, size, err := f.Disk.WriteFile(filepath.Join(dir, name), packed.Content)
		if err != nil {
			return d, err
		}
		d.Pages = append(d.Pages, Reply{Name: name, Bytes: size, SHA256: sha, Unpacked: packed.Unpacked})
	}
	about, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return d, err
	}
	// No power loss leaves the description without the replies.
	if err := f.Disk.SyncDir(dir); err != nil {
		return d, err
	}
	if _, _, err := f.Disk.WriteFile(filepath.Join(dir, aboutName), append(about, '\n')); err != nil {
		return d, err
	}
	return d, f.Disk.SyncDir(dir)
}

// Days returns the days in quarantine, oldest first, and of one date in the order in which they were read.
func (f Folder) Days() (days []Day, err error) {
	days, _, err = f.read()
	return days, err
}

// of returns the kept replies of a date, and the names of its broken folders.
func (f Folder) of(day schema.Date) (kept []Day, broken []string, err error) {
	kept, broken, err = f.read()
	kept = slices.DeleteFunc(kept, func(d Day) bool { return d.Date != day })
	broken = slices.DeleteFunc(broken, func(folder string) bool {
		return !strings.HasPrefix(folder, "day="+day.String())
	})
	return kept, broken, err
}

// read reads the quarantine. Broken folders are incomplete, because a
// run died while it wrote or removed them.
func (f Folder) read() (days []Day, broken []string, err error) {
	root := filepath.Join(f.Dir, FolderOf(f.Account))
	entries, err := f.Disk.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		text, named := strings.CutPrefix(e.Name(), "day=")
		text, _, _ = strings.Cut(text, ".")
		day, err := schema.ParseDate(text)
		if !named || err != nil {
			continue // not ours
		}
		about, err := f.Disk.ReadFile(filepath.Join(root, e.Name(), aboutName), maxAbout)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrDamaged) {
			broken = append(broken, e.Name())
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		q := Day{folder: e.Name()}
		if err := json.Unmarshal(about, &q); err != nil || q.Date != day {
			broken = append(broken, e.Name())
			continue
		}
		days = append(days, q)
	}
	slices.SortFunc(days, func(a, b Day) int {
		return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.ReadAt, b.ReadAt))
	})
	return days, broken, nil
}

// Replies are the replies of a day in the quarantine, unpacked one by one, each the
// loop body's alone. Nothing follows an error.
func (f Folder) Replies(d Day) iter.Seq2[[]byte, error] {
	a, paths := &manifest.Account{Files: map[string]*manifest.File{}}, []string{}
	for _, p := range d.Pages {
		path := FolderOf(f.Account) + "/" + d.folder + "/" + filepath.Base(p.Name)
		a.Files[path] = &manifest.File{Kind: manifest.KindRaw, Rows: int64(d.PageSize), Bytes: p.Bytes,
			SHA256: p.SHA256, Unpacked: p.Unpacked}
		paths = append(paths, path)
	}
	return manifest.RawPages(f.Disk, f.Dir, a, paths)
}

// Remove removes everything of a day from the quarantine.
func (f Folder) Remove(day schema.Date) error {
	kept, broken, err := f.of(day)
	for _, k := range kept {
		broken = append(broken, k.folder)
	}
	for _, folder := range broken {
		err = errors.Join(err, f.remove(folder))
	}
	return err
}

// remove removes a folder. The description goes first: replies without it do not count.
func (f Folder) remove(folder string) error {
	dir := f.at(folder)
	there, err := f.Disk.Exists(dir)
	if !there || err != nil {
		return err
	}
	if err := f.Disk.RemoveIfThere(filepath.Join(dir, aboutName)); err != nil {
		return err
	}
	// No power loss brings the description back without the replies.
	if err := f.Disk.SyncDir(dir); err != nil {
		return err
	}
	return f.Disk.RemoveTree(dir)
}

// Prune removes broken and expired days, and then the oldest until the rest fits the limit. It returns the number of
// remaining days.
func (f Folder) Prune(now time.Time) (left int, err error) {
	days, broken, err := f.read()
	if err != nil {
		return 0, err
	}
	for _, folder := range broken {
		if err := f.remove(folder); err != nil {
			return 0, err
		}
	}
	var size int64
	dates := map[schema.Date]bool{}
	for _, d := range slices.Backward(days) {
		for _, p := range d.Pages {
			size += p.Bytes
		}
		if now.Sub(d.ReadAt.Time()) <= maxAge && size <= maxBytes {
			dates[d.Date] = true
			continue
		}
		if err := f.remove(d.folder); err != nil {
			return 0, err
		}
	}
	return len(dates), nil
}
