package check

import (
	"errors"

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
