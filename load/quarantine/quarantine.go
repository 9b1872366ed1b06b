// Package quarantine stores the service's replies for days that could not be proven complete. It keeps the replies of a
// day until the day is proven, or until the replies exceed a limit of age or total size. For each day it has the
// replies of the latest read that did not prove the day. If that read got only an error reply, the pages of an earlier
// read stay too. Complete replies that may belong to another account are kept as well: for each such account, the
// replies of the latest read. The quarantine belongs to no generation: nothing that is published depends on it, and it
// may be deleted.
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
	maxAbout   = 16 << 20            // limit for about.json, which has 150 bytes for each page of replies
	maxBytes   = 256 << 20           // limit for an account, compressed
	maxAge     = 90 * 24 * time.Hour // limit for the age of replies, counted from when they were read
)

// FolderOf returns the quarantine folder of an account in the data directory.
func FolderOf(account string) string { return folderName + "/account=" + account }

// Folder is an account's quarantine.
type Folder struct {
	Disk    durable.Disk
	Dir     string // the data directory
	Account string
}

// Day describes the replies of a day that could not be proven. It is stored as about.json.
type Day struct {
	Date     schema.Date    `json:"day"`
	ReadAt   schema.Instant `json:"read_at"` // when the read began
	RunID    string         `json:"run_id"`
	Version  string         `json:"version"` // of the binary that read the day
	Reason   string         `json:"reason"`
	PageSize int            `json:"page_size"` // number of rows asked for in a page
	// ControlTotal is the service's own sum of the day, as far as it is known.
	ControlTotal manifest.ControlTotal `json:"control_total"`
	Pages        []Reply               `json:"pages"`
	// Refusal is the error reply that ended the read; nil if there was none.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Withheld means that the replies prove the day, but may belong to another account. The day is then not published.
	Withheld  bool     `json:"withheld,omitzero"`
	Campaigns []string `json:"campaigns,omitempty"` // only if Withheld is set
	// Alike is the number of other reads with the same rows.
	Alike int `json:"alike,omitzero"`
	// If the day was read campaign by campaign, Pieces lists the pages of each campaign.
	Pieces []schema.Piece `json:"pieces,omitempty"`

	folder string // name of the day's folder
}

// supersedes reports whether d replaces a stored day of the same date. Withheld must be equal in both. A withheld day
// is replaced only by a day of the same account. Days that share a campaign are of the same account, because campaign
// IDs are unique across accounts.
func (d Day) supersedes(stored Day) bool {
	// an error reply does not replace pages, because pages prove more
	if d.Withheld != stored.Withheld || len(d.Pages) == 0 && len(stored.Pages) > 0 {
		return false
	}
	shared := func(id string) bool { return slices.Contains(stored.Campaigns, id) }
	return len(d.Campaigns)+len(stored.Campaigns) == 0 || slices.ContainsFunc(d.Campaigns, shared)
}

// IsNothing reports whether the only reply is that the service has no such day. No later version of spendsync can prove
// the day from this reply.
func (d Day) IsNothing() bool {
	const notFound, gone = 404, 410
	return len(d.Pages) == 0 && d.Refusal != nil && (d.Refusal.Status == notFound || d.Refusal.Status == gone)
}

// Refusal is an error reply.
type Refusal struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// Reply describes the file of one compressed reply.
type Reply struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	Unpacked int64  `json:"unpacked,omitzero"` // size after decompression; 0 if it is not known
}

// Packed is a compressed reply to be stored.
type Packed struct {
	Content  []byte
	Unpacked int64 // size after decompression; 0 if it is not known
}

// at returns the path of a day's folder.
func (f Folder) at(folder string) string { return filepath.Join(f.Dir, FolderOf(f.Account), folder) }

// Put stores the replies of a day. It writes about.json last, because a folder without this file counts as broken. Then
// Put removes the stored days that d supersedes.
func (f Folder) Put(d Day, replies iter.Seq2[Packed, error]) error {
	stored, broken, err := f.of(d.Date)
	if err != nil {
		return err
	}
	for _, folder := range broken {
		if err := f.remove(folder); err != nil {
			return err
		}
	}
	d.folder = "day=" + d.Date.String()
	isTaken := func(k Day) bool { return k.folder == d.folder }
	for n := 2; slices.ContainsFunc(stored, isTaken); n++ {
		d.folder = fmt.Sprintf("day=%s.%d", d.Date, n)
	}
	if d, err = f.write(d, replies); err != nil {
		return err
	}
	for _, k := range stored {
		if d.supersedes(k) {
			if err := f.remove(k.folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the replies of a day and its about.json, and returns the day with its Pages.
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
	// Sync first, so that no power loss leaves about.json without the replies.
	if err := f.Disk.SyncDir(dir); err != nil {
		return d, err
	}
	if _, _, err := f.Disk.WriteFile(filepath.Join(dir, aboutName), append(about, '\n')); err != nil {
		return d, err
	}
	return d, f.Disk.SyncDir(dir)
}

// Days returns the days in quarantine, sorted by date and then by the time of the read.
func (f Folder) Days() (days []Day, err error) {
	days, _, err = f.read()
	return days, err
}

// of returns the stored days of a date, and the names of the broken folders of that date.
func (f Folder) of(day schema.Date) (stored []Day, broken []string, err error) {
	stored, broken, err = f.read()
	stored = slices.DeleteFunc(stored, func(d Day) bool { return d.Date != day })
	broken = slices.DeleteFunc(broken, func(folder string) bool {
		return !strings.HasPrefix(folder, "day="+day.String())
	})
	return stored, broken, err
}

// read reads the about.json of all days. It also returns the names of broken folders, which are incomplete because a
// run died while it wrote or removed the folder.
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
		text, isDay := strings.CutPrefix(e.Name(), "day=")
		text, _, _ = strings.Cut(text, ".")
		day, err := schema.ParseDate(text)
		if !isDay || err != nil {
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

// Replies yields the decompressed replies of a day in quarantine. A reply is valid only until the next iteration. The
// iteration ends after an error.
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

// Remove removes all replies of a date from the quarantine.
func (f Folder) Remove(day schema.Date) error {
	stored, broken, err := f.of(day)
	for _, k := range stored {
		broken = append(broken, k.folder)
	}
	for _, folder := range broken {
		err = errors.Join(err, f.remove(folder))
	}
	return err
}

// remove removes a folder. It removes about.json first, because replies without about.json do not count.
func (f Folder) remove(folder string) error {
	dir := f.at(folder)
	exists, err := f.Disk.Exists(dir)
	if !exists || err != nil {
		return err
	}
	if err := f.Disk.RemoveIfThere(filepath.Join(dir, aboutName)); err != nil {
		return err
	}
	// Sync first, so that no power loss brings about.json back without the replies.
	if err := f.Disk.SyncDir(dir); err != nil {
		return err
	}
	return f.Disk.RemoveTree(dir)
}

// Prune removes broken and expired days, and then the oldest days until the remaining days fit the limit. It returns
// the number of remaining dates.
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
