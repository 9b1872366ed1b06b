package manifest

import (
	"slices"

	"spendsync/schema"
)

// SettledFor are the campaigns of an account that need not be read again by a version of
// spendsync: archived ones that have been read, but not those of which another version did
// not understand something, and none where the tables have gained columns since.
func (a *Account) SettledFor(version string) []string {
	if a.SettledTables < settingsTables() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(a.Settled), func(id string) bool {
		by, unclear := a.SettledUnclear[id]
		return unclear && by != version
	})
}

// settingsTables is the version in which a table of versions last gained a column.
func settingsTables() (version int) {
	for _, t := range schema.Tables {
		if t.Versioned {
			version = max(version, t.FilesVersion())
		}
	}
	return version
}
