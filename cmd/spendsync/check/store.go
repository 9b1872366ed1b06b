package check

import (
	"errors"
	"path/filepath"

	"spendsync/cmd/spendsync/config"
	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load"
)

// store reads what is published. It is nil where nothing is.
func (c *checker) store() *load.Account {
	const name = "store"
	dir, err := c.Config.StoreDir()
	if err != nil {
		c.fail(exit.Usage, name, "choose another "+config.Prefix+"DATA_DIR", "%v", err)
		return nil
	}
	m, err := load.ReadManifest(dir)
	switch {
	case errors.Is(err, load.ErrEmpty) && orphan(dir) != "":
		c.fail(exit.Usage, name, "restore manifest.json from a backup of the same time, or choose another "+
			config.Prefix+"DATA_DIR; "+
			"a sync refuses to begin here", "%s: manifest.json is missing, but %s is there", dir, orphan(dir))
		return nil
	case errors.Is(err, load.ErrEmpty):
		c.ok(name, "%s: nothing is stored yet", dir)
		return nil
	case errors.Is(err, load.ErrNewer):
		c.fail(exit.Usage, name, exit.About(exit.Newer).Do, "%s", phrase.OneLine(err.Error()))
		return nil
	case errors.Is(err, load.ErrDamaged):
		c.fail(exit.Usage, name, exit.About(exit.Damaged).Do, "%s", phrase.OneLine(err.Error()))
		return nil
	case err != nil:
		c.fail(exit.Usage, name, "mend the volume, or its permissions", "%s", phrase.OneLine(err.Error()))
		return nil
	}
	c.ok(name, "%s: generation %d of %s", dir, m.Generation, phrase.Count(len(m.Accounts), "account"))
	return m.Accounts[c.Config.Account]
}

// orphan is what is left of a store whose manifest is missing; empty: nothing is. A
// first commit that goes on has not put its manifest there yet.
func orphan(dir string) string {
	if isThere(filepath.Join(dir, "commit.json")) {
		return ""
	}
	for _, name := range []string{"warehouse.duckdb", "parquet"} {
		if isThere(filepath.Join(dir, name)) {
			return name
		}
	}
	return ""
}
