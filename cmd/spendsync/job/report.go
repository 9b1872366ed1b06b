package job

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// campaignList is the account's list of campaigns, asked for once a run: the report is
// held to it before anything is published, and the settings are read by it.
type campaignList struct {
	done    chan struct{} // closed when the rest is there
	since   schema.Instant
	listing extract.Listing
	err     error
}

// listCampaigns asks for the campaigns while the report is being read.
func (r *run) listCampaigns(ctx context.Context) {
	l := &campaignList{done: make(chan struct{}), since: schema.InstantOf(r.Now())}
	r.campaigns = l
	r.asking.Go(func() {
		defer close(l.done)
		l.listing, l.err = r.API.Campaigns(ctx)
	})
}

// knownCampaigns are the campaigns that the store knows, by ID.
func (r *run) knownCampaigns() (map[string]bool, error) {
	stored, err := load.StoredTable(r.store, schema.CampaignHistory)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, c := range stored {
		known[c.CampaignID] = true
	}
	return known, nil
}

// readCampaigns returns the IDs of the stored campaigns that the advertiser API has described.
// Those that only a report has named are not among them.
func (r *run) readCampaigns() (map[string]bool, error) {
	stored, err := load.StoredTable(r.store, schema.CampaignHistory)
	if err != nil {
		return nil, err
	}
	read := map[string]bool{}
	for i := range stored {
		if stored[i].ReadState != schema.ReadStub {
			read[stored[i].CampaignID] = true
		}
	}
	return read, nil
}

// reportFacts is what the changed days of a run say of whose report it is.
type reportFacts struct {
	campaigns map[string]bool // that have rows in days that changed
	finished  int             // days that were over when they were stored, and have changed
	vanished  []schema.Date   // those of them that lost nearly all of their keys
}

// campaignsOf are the campaigns of rows in key order. A row that names none says nothing of
// the account.
func campaignsOf(rows *schema.SpendRows) (ids []string) {
	last := ""
	for _, row := range rows.All() {
		if row.CampaignID != last {
			last = row.CampaignID
			ids = append(ids, strings.Clone(last))
		}
	}
	return ids
}

// add takes in a day that has changed: its campaigns and rows, and how it was stored.
func (f *reportFacts) add(campaigns []string, rows int64, known *manifest.Day, day schema.Date, diff history.Diff) {
	if f.campaigns == nil {
		f.campaigns = map[string]bool{}
	}
	for _, id := range campaigns {
		f.campaigns[id] = true
	}
	if known == nil || known.Sums.Rows == 0 || !known.WasOver(day) {
		return
	}
	f.finished++
	if rows > 0 && diff.Deleted*nearlyAll.of >= known.Sums.Rows*nearlyAll.share {
		f.vanished = append(f.vanished, day)
	}
}

// nearlyAll is the share of a day's stored keys that must be gone for them to have
// vanished, and manyDays how many such days make a suspicion.
var nearlyAll = struct{ share, of int64 }{9, 10}

const manyDays = 3

// refuseOtherReport stops a run whose report is another account's than the one that the
// API key acts on: the report does not say whose it is, its campaigns do.
func (r *run) refuseOtherReport(ctx context.Context) error {
	if ctx.Err() != nil || len(r.report.campaigns) == 0 {
		return nil
	}
	if err := r.checkCampaigns(); err != nil {
		return err
	}
	n := len(r.report.vanished)
	if r.command == "backfill" || n < manyDays || 2*n < r.report.finished {
		return nil
	}
	slices.Sort(r.report.vanished)
	return fmt.Errorf("%w, it seems: nearly all rows that are stored of %s (%s) are gone from it at once, "+
		"and others are in their place; if the service really changed them, 'spendsync backfill' takes them in",
		exit.ErrOtherReport, phrase.Count(n, "finished day"), phrase.Days(r.report.vanished))
}

// listed is the account's whole list of campaigns; nil where it is not to be had in time.
func (r *run) listed() (ids []string) {
	select {
	case <-r.campaigns.done:
	case <-time.After(identityWait):
		return nil
	}
	if r.campaigns.err != nil || !r.campaigns.listing.Complete {
		return nil
	}
	for _, e := range r.campaigns.listing.Entities {
		ids = append(ids, e.ID)
	}
	return ids
}

// checkCampaigns refuses a report that shares no campaign with what the account lists or the
// store knows. Campaign IDs are the service's own, so two accounts have none in common. A
// few that nobody knows are not a sign: a campaign may be newer than the list. Where
// nothing is known, everything passes.
func (r *run) checkCampaigns() error {
	isReported := func(id string) bool { return r.report.campaigns[id] }
	account := r.listed()
	if slices.ContainsFunc(account, isReported) {
		return nil // the store need not be asked
	}
	known, err := r.knownCampaigns()
	if err != nil {
		return err
	}
	account = slices.AppendSeq(account, maps.Keys(known))
	if len(account) == 0 || slices.ContainsFunc(account, isReported) {
		return nil
	}
	return fmt.Errorf("%w: the report speaks of %s, and the account that the API key acts on has %s: "+
		"the report's user and the API key belong to two accounts",
		exit.ErrOtherReport,
		someOf("campaign", slices.Collect(maps.Keys(r.report.campaigns))), someOf("campaign", account))
}

// someOf names the first of some IDs, and how many different ones there are.
func someOf(what string, ids []string) string {
	const shown = 3
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	text := strings.Join(ids[:min(len(ids), shown)], ", ")
	if len(ids) > shown {
		text += ", ..."
	}
	return fmt.Sprintf("%s (%s)", phrase.Count(len(ids), what), text)
}
