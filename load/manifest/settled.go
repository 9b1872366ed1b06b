package manifest

import "spendsync/schema"

// SettledCampaigns returns the campaigns that need not be read again. If the tables have gained columns since these
// campaigns were read, it returns nil.
func (a *Account) SettledCampaigns() []string {
	if a.SettledTables < settingsTables() {
		return nil
	}
	return a.Settled
}

// settingsTables returns the newest version of the tables that changed the columns of a table of versions.
func settingsTables() (version int) {
	for _, t := range schema.Tables {
		if t.Versioned {
			version = max(version, t.FilesVersion())
		}
	}
	return version
}
