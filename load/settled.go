package load

import "slices"

// settledCampaigns are what is staged of Account.Settled and Account.SettledUnclear.
type settledCampaigns struct {
	ids     []string
	unclear map[string]string
}

// PutSettled stages which campaigns are archived and have been read, and of which of them
// something was not understood, with the version of spendsync that did not.
func (g *Staged) PutSettled(campaigns []string, unclear map[string]string) {
	g.settled = &settledCampaigns{slices.Compact(slices.Sorted(slices.Values(campaigns))), unclear}
}
