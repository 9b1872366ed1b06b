package check

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/oklog/ulid/v2"
	"golang.org/x/sys/unix"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// store reads the published account. It returns nil if nothing is published.
func (c *checker) store(dir string) *manifest.Account {
	const name = "store"
	m, err := manifest.Read(dir)
	if errors.Is(err, durable.ErrEmpty) {
		c.ok(name, "%s: nothing is stored yet", dir)
		return nil
	}
	if err == nil {
		var set *durable.Damage
		if set, err = load.FindSetBack(dir, m); set != nil {
			err = set
		}
	}
	if err != nil && exit.Of(err) == exit.Storage {
		c.fail(exit.Usage, name, "repair the volume, or its permissions", "%s", cli.OneLine(err.Error()))
		return nil
	}
	if err != nil {
		c.failErr(name, err)
		return nil
	}
	c.ok(name, "%s: generation %d of %s", dir, m.Generation, cli.Count(len(m.Accounts), "account"))
	return m.Accounts[c.Config.Account]
}

// minSpace is the space that the first sync of a usual account needs, DuckDB's spill included.
const minSpace = 256 << 20

// volume tests whether the data directory allows the file operations of a publication. Before the first sync it uses
// the nearest parent folder that exists.
func (c *checker) volume(dir string) {
	const name = "data directory"
	at := dir
	for !durable.Exists(at) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
	}
	if err := probe(at); err != nil {
		c.fail(exit.Usage, name, "put the whole data directory on one volume that is mounted read-write and supports "+
			"file locks (flock), and give this user the right to write there (in a pod: fsGroup)", "%v", err)
		return
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(at, &fs); err == nil && uint64(fs.Bavail)*uint64(fs.Bsize) < minSpace {
		c.fail(exit.Usage, name, "make the volume larger", "%s has %s free, a generation may need %s", at,
			humanize.IBytes(uint64(fs.Bavail)*uint64(fs.Bsize)), humanize.IBytes(minSpace))
		return
	}
	c.ok(name, "a file was written, renamed and locked in %s, and is removed", at)
}

// probe creates, locks, renames and removes an empty file. Readers of a store ignore the file, because of the prefix of
// its name.
func probe(dir string) error {
	path := filepath.Join(dir, manifest.OwnPrefix+"check-"+ulid.Make().String())
	held, err := durable.OS.Lock(path + ".new")
	if err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return errors.Join(err, held.Close(), os.Remove(path+".new"))
	}
	return errors.Join(held.Close(), os.Remove(path))
}
