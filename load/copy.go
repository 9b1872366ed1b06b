package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/commit"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// copyName is the name of the file that marks a folder as a copy for readers. Such a folder has only some files of a
// store; a complete store does not contain this file.
const copyName = "copy.json"

// copyStaging is the staging area of a pull into a copy. No run uses the same folder, because the name of a run's
// staging area contains a dot.
const copyStaging = "staging/copy"

// copyMark is the JSON in copy.json. About tells a person what the folder is.
type copyMark struct {
	Format int    `json:"format"`
	About  string `json:"about"`
}

// Copy is a local folder with the files of one generation of a distant store. A pull brings the folder to another
// generation. The change is a commit, as in a store, so readers never see a mix of generations. If the process dies,
// the folder keeps the former generation, or the next start finishes the commit.
type Copy struct {
	dir   string
	opts  Options
	base  *manifest.Manifest
	root  string // hash of manifest.json; empty if there is none
	store bool
	mark  bool // whether the folder is a copy for readers
	locks []io.Closer
}

// OpenCopy locks a folder so that a pull can bring it to another generation. If store is true, the folder becomes a
// complete store, otherwise a copy for readers with some of the files. A store never becomes a copy for readers:
// OpenCopy then returns [durable.ErrIsStore].
func OpenCopy(ctx context.Context, dir string, store bool, o Options) (_ *Copy, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, durable.Storage(err)
	}
	if err := duck.CheckDir(dir); err != nil {
		return nil, err
	}
	c := &Copy{dir: dir, opts: o.filled(), store: store}
	for _, d := range []string{"", "locks", "staging"} {
		if err := c.opts.disk.MakeDirs(filepath.Join(dir, d)); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	lock, err := waitForLock(c.opts.disk, ctx, dir, "copy.lock", c.opts.LockWait)
	if err != nil {
		return nil, err
	}
	c.locks = append(c.locks, lock)
	if err := c.readBase(ctx); err != nil {
		return nil, err
	}
	if c.base != nil && !c.mark {
		if !store {
			return nil, fmt.Errorf("%s: %w", dir, durable.ErrIsStore)
		}
		if err := c.lockAccounts(); err != nil {
			return nil, err
		}
	}
	return c, commit.TryFolders(c.opts.disk, dir, "copy")
}

// Close releases the locks.
func (c *Copy) Close() error {
	var errs []error
	for _, l := range slices.Backward(c.locks) {
		errs = append(errs, l.Close())
	}
	c.locks = nil
	return durable.Storage(errors.Join(errs...))
}

// readBase finishes a started commit, and then reads the manifest of the folder.
func (c *Copy) readBase(ctx context.Context) (err error) {
	lock, err := lockStore(c.opts.disk, ctx, c.dir, c.opts.LockWait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, durable.Storage(lock.Close())) }()
	if err := c.opts.place(c.dir).End(); err != nil {
		return err
	}
	if c.mark, err = isCopy(c.opts.disk, c.dir); err != nil {
		return err
	}
	c.base, err = manifest.ReadFrom(c.opts.disk, c.dir)
	switch {
	case errors.Is(err, durable.ErrEmpty), c.mark && errors.Is(err, durable.ErrDamaged):
		c.base = nil
		return nil
	case err != nil:
		return err
	}
	c.root, _, err = c.opts.disk.HashFile(filepath.Join(c.dir, manifest.FileName))
	return err
}

// lockAccounts takes the lock of every account, so that no run can write to the store.
func (c *Copy) lockAccounts() error {
	for _, name := range c.base.AccountNames() {
		path := filepath.Join(c.dir, "locks", "account="+name+".lock")
		l, err := c.opts.disk.Lock(path)
		if err != nil {
			return durable.Storage(err)
		}
		if l == nil {
			return fmt.Errorf("account %s in %s: %w", name, c.dir, c.opts.disk.LockedBy(path))
		}
		c.locks = append(c.locks, l)
	}
	return nil
}

// Generation returns the number of the folder's generation and the SHA-256 of manifest.json. They are 0 and empty if
// the folder has no generation.
func (c *Copy) Generation() (number int64, root string) {
	if c.base == nil {
		return 0, ""
	}
	return c.base.Generation, c.root
}

// IsStore reports whether the folder already holds a complete store.
func (c *Copy) IsStore() bool { return c.base != nil && !c.mark }

// Changes reports whether the commit turns a copy for readers into a store, or a new folder into a copy for readers.
func (c *Copy) Changes() bool { return c.mark == c.store }

// StagedManifest returns the staged manifest and the list of all files of its generation. Account files are read from
// the staging area or, if they are not staged, from their published places. StagedManifest returns an error for a
// manifest from a newer version of spendsync, before any file is moved to its place.
func (c *Copy) StagedManifest() (*manifest.Manifest, []SnapshotFile, error) {
	staging := filepath.Join(c.dir, copyStaging)
	m, err := manifest.ReadRoot(c.opts.disk, staging, nil)
	if err != nil {
		return nil, nil, err
	}
	text, err := c.opts.disk.ReadFile(filepath.Join(staging, manifest.FileName), durable.MaxText)
	if err != nil {
		return nil, nil, err
	}
	all := m.Clone()
	for _, name := range m.AccountNames() {
		dir := c.dir
		isStaged, err := c.opts.disk.Exists(filepath.Join(staging, m.AccountFiles[name].Path))
		if isStaged {
			dir = staging
		}
		if err = errors.Join(err, all.Load(c.opts.disk, dir, name)); err != nil {
			return nil, nil, err
		}
	}
	return m, newSnapshot(staging, all, text).Files, nil
}

// Has reports whether the published file at the path of f has the size and the hash of f.
func (c *Copy) Has(f SnapshotFile) (bool, error) { return c.holds(c.dir, f) }

// IsStaged reports whether an earlier attempt has left the complete file in the staging area. If the file is complete,
// IsStaged syncs it, because the attempt may have died before its own sync.
func (c *Copy) IsStaged(f SnapshotFile) (bool, error) {
	staging := filepath.Join(c.dir, copyStaging)
	isStaged, err := c.holds(staging, f)
	if isStaged && err == nil {
		err = c.opts.disk.SyncFile(filepath.Join(staging, f.Path))
	}
	return isStaged, err
}

func (c *Copy) holds(dir string, f SnapshotFile) (bool, error) {
	path := filepath.Join(dir, f.Path)
	info, err := c.opts.disk.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (info.Size() != f.Bytes || !info.Mode().IsRegular()) {
		return false, nil
	} else if err != nil {
		return false, durable.Storage(err)
	}
	sha, _, err := c.opts.disk.HashFile(path)
	return sha == f.SHA256, err
}

// Put stages a file. If the bytes do not have the expected size and hash, it stages nothing and returns a
// [durable.ErrDamaged].
func (c *Copy) Put(f SnapshotFile, from io.Reader) error {
	path := filepath.Join(c.dir, copyStaging, f.Path)
	if err := c.opts.disk.MakeDirs(filepath.Dir(path)); err != nil {
		return err
	}
	// A file left by an earlier attempt may be read-only.
	if err := c.opts.disk.RemoveIfThere(path); err != nil {
		return err
	}
	w, err := c.opts.disk.Create(path)
	if err != nil {
		return err
	}
	// Read one byte more than expected, to notice content that is too long.
	if _, err := io.Copy(w, io.LimitReader(from, f.Bytes+1)); err != nil {
		w.Abort()
		return err
	}
	sha, size, err := w.Finish()
	if err != nil {
		return err
	}
	if sha != f.SHA256 || size != f.Bytes {
		return errors.Join(durable.Damaged(f.Path, "", "it has %d bytes with SHA-256 %s, and should have %d with %s",
			size, sha, f.Bytes, f.SHA256), c.opts.disk.RemoveIfThere(path))
	}
	return nil
}

// Commit brings the folder to the generation of a manifest. The slice lists the files of that generation, with
// manifest.json last. Each of these files is staged or already in its place. Other files of the former generation are
// removed.
func (c *Copy) Commit(ctx context.Context, m *manifest.Manifest, wanted []SnapshotFile) (err error) {
	lock, err := lockStore(c.opts.disk, ctx, c.dir, c.opts.LockWait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, durable.Storage(lock.Close())) }()
	r := commit.Record{RunID: m.RunID, Generation: m.Generation, Staging: copyStaging}
	if c.base != nil {
		r.Base = c.base.Generation
	}
	if !c.store {
		if err := c.putMark(); err != nil {
			return err
		}
		r.Moves = append(r.Moves, commit.Move{From: copyStaging + "/" + copyName, To: copyName})
	}
	keep := map[string]bool{}
	dirs := map[string]bool{filepath.Join(c.dir, copyStaging): true}
	for _, f := range wanted {
		keep[f.Path] = true
		staged := filepath.Join(c.dir, copyStaging, f.Path)
		isStaged, err := c.opts.disk.Exists(staged)
		if err != nil {
			return err
		}
		if !isStaged {
			continue
		}
		if path.Base(f.Path) == duck.FileName {
			if err := c.opts.disk.Chmod(staged, 0o444); err != nil {
				return durable.Storage(err)
			}
		}
		dirs[filepath.Dir(staged)] = true
		r.Moves = append(r.Moves, commit.Move{From: copyStaging + "/" + f.Path, To: f.Path})
	}
	if r.Removes, err = c.unwanted(keep); err != nil {
		return err
	}
	// The names of staged files must be durable before a record relies on them.
	if err := c.opts.disk.SyncNames(filepath.Join(c.dir, "staging"), dirs); err != nil {
		return err
	}
	if err := c.opts.place(c.dir).Write(r, c.base, func() error { return ctx.Err() }); err != nil {
		return err
	}
	c.base, c.mark = m, !c.store
	c.root = wanted[len(wanted)-1].SHA256
	return nil
}

// unwanted returns the files to remove. These are the existing files of the former generation whose paths are not in
// the given map. If a copy for readers becomes a store, copy.json is removed too. Files that are not in the former
// generation are left alone.
func (c *Copy) unwanted(keep map[string]bool) (paths []string, err error) {
	if c.store && c.mark {
		paths = append(paths, copyName)
	}
	if c.base == nil {
		return paths, nil
	}
	for _, part := range c.base.AccountFiles {
		paths = append(paths, part.Path)
	}
	for _, a := range c.base.Accounts {
		for path := range a.Files {
			paths = append(paths, path)
		}
		for path := range a.Ledger {
			paths = append(paths, path)
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		there, existsErr := c.opts.disk.Exists(filepath.Join(c.dir, path))
		err = errors.Join(err, existsErr)
		return keep[path] || !there
	}), err
}

func (c *Copy) putMark() error {
	b, err := json.Marshal(copyMark{1, "some files of a store, for readers; 'spendsync pull' brings them here, and " +
		"replaces them"})
	if err != nil {
		return err
	}
	if err := c.opts.disk.MakeDirs(filepath.Join(c.dir, copyStaging)); err != nil {
		return err
	}
	_, _, err = c.opts.disk.WriteFile(filepath.Join(c.dir, copyStaging, copyName), append(b, '\n'))
	return err
}

// DropStaged removes the files that an earlier attempt has left in the staging area. It keeps the wanted files.
func (c *Copy) DropStaged(wanted []SnapshotFile) error {
	keep := map[string]bool{}
	for _, f := range wanted {
		keep[f.Path] = true
	}
	root := filepath.Join(c.dir, copyStaging)
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return durable.Storage(err)
		}
		rel := filepath.ToSlash(strings.TrimPrefix(path, root+string(os.PathSeparator)))
		if keep[rel] {
			return nil
		}
		return c.opts.disk.RemoveIfThere(path)
	})
}

func isCopy(d durable.Disk, dir string) (bool, error) { return d.Exists(filepath.Join(dir, copyName)) }

// refuseCopy returns [durable.ErrIsCopy] if the folder is a copy for readers, which lacks files of the store.
func refuseCopy(d durable.Disk, dir string) error {
	isReaderCopy, err := isCopy(d, dir)
	if isReaderCopy && err == nil {
		err = fmt.Errorf("%s: %w; 'spendsync pull --all' makes a store, in another folder", dir, durable.ErrIsCopy)
	}
	return err
}
