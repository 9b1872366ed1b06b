package check

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// The space that a generation needs in addition to the stored data: the DuckDB file is copied and
// grows, and DuckDB may spill data that does not fit into its memory.
const (
	spaceTimes = 2
	spaceLeast = 256 << 20
)

// volume checks the data directory: rights, one file system, room, locks. It
// changes nothing, not even the time of last access of a file.
func (c *checker) volume() {
	dir, err := c.Config.StoreDir()
	if err != nil {
		return // reported already
	}
	at, err := existing(dir)
	if err != nil {
		c.fail(exit.Usage, "data directory", "choose another "+config.Prefix+"DATA_DIR", "%v", err)
		return
	}
	if !c.writable(dir, at) {
		return
	}
	c.oneFileSystem(dir, at)
	c.space(dir, at)
	c.locks(dir)
}

// existing is the folder itself, or the nearest above it that is there.
func existing(dir string) (string, error) {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			return dir, nil
		case err == nil:
			return "", &os.PathError{Op: "open", Path: dir, Err: unix.ENOTDIR}
		case !errors.Is(err, os.ErrNotExist):
			return "", err
		}
		dir = filepath.Dir(dir)
	}
}

// folders are those of the store that a run writes into.
func folders(dir string) []string {
	all := []string{dir}
	for _, name := range []string{"staging", "locks", "parquet", "raw", "ledger"} {
		if path := filepath.Join(dir, name); isThere(path) {
			all = append(all, path)
		}
	}
	return all
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// writable asks the system whether we may write, by access(2).
func (c *checker) writable(dir, at string) bool {
	const name = "data directory"
	look := []string{at}
	if at == dir {
		look = folders(dir)
	}
	for _, path := range look {
		if err := unix.Access(path, unix.W_OK|unix.X_OK|unix.R_OK); err != nil {
			c.fail(exit.Usage, name, "give user "+uidText()+" the right to write there (in a pod: fsGroup), and "+
				"mount it read-write", "%s: %v", path, err)
			return false
		}
	}
	if at != dir {
		c.ok(name, "%s is not there yet; %s can be written to", dir, at)
	} else {
		c.ok(name, "%s can be written to", dir)
	}
	return true
}

// oneFileSystem checks that staged files can be renamed to their places, and that the locks and
// renames of the file system are reliable.
func (c *checker) oneFileSystem(dir, at string) {
	const name = "file system"
	if kind := remoteFileSystem(at); kind != "" {
		c.warn(name, "use a local volume: the locks and the renames of others cannot be relied on", "%s is on %s",
			at, kind)
		return
	}
	if at != dir {
		return
	}
	n, clones, err := tryRenames(dir)
	if err != nil {
		c.fail(exit.Usage, name, "put the whole data directory on one volume, without links and mounts below it, "+
			"and give user "+uidText()+" the right to write everywhere in it: a run renames files from staging to "+
			"their places, "+
			"and its commit could not end", "%v", err)
		return
	}
	c.ok(name, "one for all of the data directory; an empty file was renamed into each of %s and back",
		phrase.Count(n, "folder"))
	c.writes(dir, clones)
}

// writes reports the bytes that each generation writes in addition to its changes.
func (c *checker) writes(dir string, clones bool) {
	const name = "bytes written"
	m, err := manifest.ReadRoot(durable.OS, dir, nil)
	switch {
	case err != nil:
		return // the check "store" reports it
	case clones:
		c.ok(name, "a generation writes what has changed: the file system shares the rest with the one before")
	default:
		c.ok(name, "a generation writes the DuckDB file whole, %s, and %s a day at a run an hour: this file system "+
			"cannot share what has not changed (XFS and Btrfs can)", phrase.Bytes(uint64(m.Warehouse.Bytes)),
			phrase.Bytes(24*uint64(m.Warehouse.Bytes)))
	}
}

// space compares the room on the volume with what the next generation needs.
func (c *checker) space(dir, at string) {
	const name = "space"
	var fs unix.Statfs_t
	if err := unix.Statfs(at, &fs); err != nil {
		c.fail(exit.Usage, name, "repair the volume", "%s: %v", at, err)
		return
	}
	free := uint64(fs.Bavail) * uint64(fs.Bsize)
	need := uint64(spaceLeast)
	if m, err := manifest.ReadRoot(durable.OS, dir, nil); err == nil {
		need += spaceTimes * uint64(m.Warehouse.Bytes)
	}
	switch do := "make the volume larger"; {
	case free < need:
		c.fail(exit.Usage, name, do, "%s free, a generation may need %s", phrase.Bytes(free), phrase.Bytes(need))
	case fs.Files > 0 && fs.Ffree < 1000:
		c.fail(exit.Usage, name, do, "%d inodes free; a first sync makes some hundred files", fs.Ffree)
	case free < 2*need:
		c.warn(name, do, "%s free, a generation may need %s", phrase.Bytes(free), phrase.Bytes(need))
	default:
		c.ok(name, "%s free, a generation needs at most %s", phrase.Bytes(free), phrase.Bytes(need))
	}
}

// locks reports who holds the locks of the account and of the store.
func (c *checker) locks(dir string) {
	const name = "lock"
	for _, l := range []struct{ file, whose string }{
		{"account=" + c.Config.Account + ".lock", "account " + c.Config.Account}, {"store.lock", "the store"},
	} {
		path := filepath.Join(dir, "locks", l.file)
		if isLocked(path) {
			c.warn(name, "wait for it; a lock dies with its process", "%s: %v", l.whose, durable.OS.LockedBy(path))
			return
		}
	}
	c.ok(name, "no run of %s is active", c.Config.Account)
}

// isLocked reports whether a lock is held, by trying it for an instant.
func isLocked(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return true
	}
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // closing does it, too
	return false
}
