package manifest

import "spendsync/schema"

// SettledCampaigns returns the campaigns of an account that need not be read again: archived ones that were read,
// unless the tables have gained columns since.
func (a *Account) SettledCampaigns() []string {
	if a.SettledTables < settingsTables() {
		return nil
	}
	return a.Settled
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
