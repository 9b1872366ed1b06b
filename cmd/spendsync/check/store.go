package check

import (
	"errors"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load"
	"spendsync/load/commit"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// store reads the published account. It returns nil if nothing is published.
func (c *checker) store() *manifest.Account {
	const name = "store"
	dir, err := c.Config.StoreDir()
	if err != nil {
		c.fail(exit.Usage, name, "choose another "+config.Prefix+"DATA_DIR", "%v", err)
		return nil
	}
	m, err := manifest.Read(dir)
	var damage *durable.Damage
	switch {
	case errors.Is(err, durable.ErrEmpty):
		c.ok(name, "%s: nothing is stored yet", dir)
		return nil
	case errors.Is(err, durable.ErrNewer):
		c.fail(exit.Usage, name, exit.About(exit.Newer).Do, "%s", phrase.OneLine(err.Error()))
		return nil
	case errors.Is(err, durable.ErrOlder):
		c.fail(exit.Newer, name, "run a sync of that commit, then this version", "%s", phrase.OneLine(err.Error()))
		return nil
	case errors.As(err, &damage):
		c.fail(exit.Usage, name, damage.Repair+"; a sync refuses to begin here", "%s", phrase.OneLine(err.Error()))
		return nil
	case err != nil:
		c.fail(exit.Usage, name, "repair the volume, or its permissions", "%s", phrase.OneLine(err.Error()))
		return nil
	}
	if u, err := commit.Find(dir); err != nil || u != nil {
		c.unfinished(u, err)
		return m.Accounts[c.Config.Account]
	}
	if d, err := load.FindSetBack(dir, m); err != nil {
		c.fail(exit.Usage, name, "repair the volume, or its permissions", "%s", phrase.OneLine(err.Error()))
		return m.Accounts[c.Config.Account]
	} else if d != nil {
		c.fail(exit.Usage, name, d.Repair+"; a sync refuses to begin here", "%s", d.What)
		return m.Accounts[c.Config.Account]
	}
	c.ok(name, "%s: generation %d of %s", dir, m.Generation, phrase.Count(len(m.Accounts), "account"))
	return m.Accounts[c.Config.Account]
}

// unfinished warns of a commit that has started but not ended. If a folder blocks it, the check of
// the file system reports that.
func (c *checker) unfinished(u *commit.Unfinished, err error) {
	const name = "store"
	if err != nil {
		c.fail(exit.Usage, name, exit.About(exit.Damaged).Do, "%s", phrase.OneLine(err.Error()))
		return
	}
	c.warn(name, "run 'spendsync sync', which finishes it or names the obstacle; leave an active run alone",
		"the commit of generation %d began %s ago and has not ended: %s not in their places yet", u.Generation,
		phrase.Age(c.at.Sub(u.Since.Time())), phrase.Count(len(u.Left), "file"))
}
