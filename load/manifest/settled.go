package manifest

import (
	"slices"

	"spendsync/schema"
)

// SettledFor returns the campaigns of an account that a version of spendsync need not read again: archived
// ones that were read. Campaigns that another version did not fully understand are read again, and so are
// all if the tables have gained columns since.
func (a *Account) SettledFor(version string) []string {
	if a.SettledTables < settingsTables() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(a.Settled), func(id string) bool {
		by, unclear := a.SettledUnclear[id]
		return unclear && by != version
	})
}

// settingsTables returns the version in which a table of versions last gained a column.
func settingsTables() (version int) {
	for _, t := range schema.Tables {
		if t.Versioned {
			version = max(version, t.FilesVersion())
		}
	}
	return version
}
