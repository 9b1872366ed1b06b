package load

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/settingslog"
	"spendsync/schema"
)

// replyStore is the store of the replies of an account's settings.
func (s *Store) replyStore() settingslog.Store {
	return settingslog.Store{Disk: s.opts.disk, Dir: s.dir, Account: s.account, Files: s.Account().Files,
		Log: s.opts.Log}
}

// CollectReplies prepares to collect the replies of the settings. It returns nil if replies are not kept.
func (s *Store) CollectReplies() *settingslog.Collector {
	if !s.opts.KeepRaw {
		return nil
	}
	return s.replyStore().Collect(s.opts.Now())
}

// KeptReplies returns the kept replies of the settings, by readings.
func (s *Store) KeptReplies() iter.Seq2[[]settingslog.Reply, error] { return s.replyStore().Readings() }

// PutReplies stages the new replies, after those of the same day. seen is when their reading ended.
func (g *Staged) PutReplies(c *settingslog.Collector, seen schema.Instant) error {
	if c == nil || c.Added == 0 && len(c.Gone) == 0 {
		return nil
	}
	g.replies = &stagedReplies{files: map[string]*manifest.File{}, gone: c.Gone}
	s := g.store
	if c.Added > 0 {
		path, rows := manifest.RepliesPath(s.account, c.Seen), c.Added
		var old []byte
		unpacked := int64(0) // size of the lines that are packed already; -1: not recorded
		if info := s.Account().Files[path]; info != nil {
			err := manifest.CheckBytes(s.opts.disk, s.dir, path, info)
			if err == nil {
				old, err = s.opts.disk.ReadFile(filepath.Join(s.dir, path), info.Bytes)
				rows, unpacked = rows+info.Rows, cmp.Or(info.Unpacked, -1)
			}
			if errors.Is(err, durable.ErrDamaged) {
				s.opts.Log.Warn("the replies of the settings that were kept today are lost", "error", err)
				rows, unpacked = c.Added, 0
			} else if err != nil {
				return err
			}
		}
		lines, err := c.Lines(seen)
		if err == nil {
			err = g.putReplies(path, &manifest.File{Day: c.Seen, Rows: rows, Unpacked: unpacked}, old, lines)
		}
		if err != nil {
			return err
		}
	}
	index, rows, err := c.Index()
	if err != nil {
		return err
	}
	return g.putReplies(manifest.RepliesIndexPath(s.account), &manifest.File{Rows: rows}, nil, index)
}

// putReplies stages a file of lines. Its first lines are packed already: info has their unpacked size, or -1.
func (g *Staged) putReplies(path string, info *manifest.File, packed, lines []byte) error {
	more, err := g.pack(lines)
	if err != nil {
		return err
	}
	if info.Unpacked >= 0 {
		info.Unpacked += int64(len(lines))
	} else {
		info.Unpacked = 0 // as in the stored file: not known
	}
	info.Kind, info.RunID = manifest.KindReplies, g.runID
	info.SHA256, info.Bytes, err = g.store.opts.disk.WriteFile(g.staged(path), append(packed, more...))
	g.replies.files[path] = info
	return err
}

// addReplies adds the staged replies of the settings.
func (c *contribution) addReplies() {
	if c.g.replies == nil {
		return
	}
	for _, path := range c.g.replies.gone {
		c.Files[path] = nil
		c.files.removes = append(c.files.removes, path)
	}
	for _, path := range slices.Sorted(maps.Keys(c.g.replies.files)) {
		c.put(path, c.g.replies.files[path])
	}
}
