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

// settingsTables returns the version of the tables in which the columns of any versioned table last changed.
func settingsTables() (version int) {
	for _, t := range schema.Tables {
		if t.Versioned {
			version = max(version, t.FilesVersion())
		}
	}
	return version
}
