package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
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
func readCampaigns(store *load.Store) (map[string]bool, error) {
	stored, err := load.StoredTable(store, schema.CampaignHistory)
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
	same      int             // finished days with rows that came as they are stored
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

// askedAlone is how many campaigns of a report a run asks for one by one to prove whose
// report it is.
const askedAlone = 5

// proveReport returns what proves that the report is the account's. Its campaigns do, if the
// settings of a proven key have them: rows of a report, and the stubs made of them, prove
// nothing. The error is [exit.ErrOtherReport] if the report is another account's; any other
// error is one that the next run may not meet.
func (r *run) proveReport(ctx context.Context, key keyProof) (by string, err error) {
	if len(r.report.campaigns) == 0 {
		if r.report.same > 0 {
			return fmt.Sprintf("%s of the report as stored", phrase.Count(r.report.same, "finished day")), nil
		}
		return "", nil // the days of the report have no rows
	}
	known, err := readCampaigns(r.store)
	if err != nil {
		return "", err
	}
	listed := 0
	if key.err == nil {
		<-r.campaigns.done
		for _, e := range r.campaigns.listing.Entities {
			known[e.ID] = true
			listed++
		}
	}
	reported := slices.Sorted(maps.Keys(r.report.campaigns))
	for _, id := range reported {
		if known[id] {
			return "the report has campaign " + id + " of the settings", nil
		}
	}
	if r.report.same > 0 {
		return fmt.Sprintf("%s of the report as stored", phrase.Count(r.report.same, "finished day")), nil
	}
	if key.err != nil {
		return "", fmt.Errorf("whose report it is cannot be proven yet: %w", key.err)
	}
	var failed error
	for _, id := range reported[:min(len(reported), askedAlone)] {
		switch _, err := r.API.Campaign(ctx, id); {
		case err == nil:
			return "the key reads campaign " + id + " of the report", nil
		case errors.Is(err, extract.ErrContract) && r.campaigns.listing.Complete: // no ID that the API knows
		case !errors.Is(err, extract.ErrNotFound):
			failed = err
		}
	}
	if l := r.campaigns; failed == nil && len(known) == 0 && l.err != nil {
		failed = l.err
	} else if failed == nil && len(known) == 0 && !l.listing.Complete {
		failed = errors.New(l.listing.Why)
	}
	if errors.Is(failed, extract.ErrContract) && (r.AcceptUnpinned || r.store.Account().Pinned == acceptedUnpinned) {
		return "accepted by the operator: the campaigns of the API are not understood", nil
	}
	if failed != nil {
		return "", fmt.Errorf("whose report it is cannot be proven yet: the campaigns of the API key: %w", failed)
	}
	return "", fmt.Errorf("%w: the report speaks of %s, and the account that the API key acts on has %s: "+
		"the report's user and the API key belong to two accounts",
		exit.ErrOtherReport, someOf("campaign", reported), someOf("campaign", slices.Collect(maps.Keys(known))))
}

// refuseVanished ends a run if nearly all stored keys of several finished days are gone.
func (r *run) refuseVanished() error {
	n := len(r.report.vanished)
	if r.command == "backfill" || n < manyDays || 2*n < r.report.finished {
		return nil
	}
	slices.Sort(r.report.vanished)
	return fmt.Errorf("%w, it seems: nearly all rows that are stored of %s (%s) are gone from it at once, "+
		"and others are in their place; if the service really changed them, 'spendsync backfill' takes them in",
		exit.ErrOtherReport, phrase.Count(n, "finished day"), phrase.Days(r.report.vanished))
}

// withhold takes the days of an unproven report out of the run, and keeps their replies.
func (r *run) withhold(cause error) error {
	for _, day := range r.stored {
		q := quarantine.Day{Date: day, ReadAt: r.readAt[day], Reason: cause.Error(), PageSize: r.Plan.PageSize}
		if err := r.staged.Withhold(q); err != nil {
			return err
		}
		r.quarantined++
	}
	r.stored = nil
	for i := range r.steps {
		if st := &r.steps[i]; st.Outcome == "stored" || st.Outcome == "unchanged" {
			st.Outcome, st.Message = "failed", schema.Some(cause.Error())
		}
	}
	r.tally.matched, r.tally.differs, r.tally.unread = 0, "", 0
	r.tally.proven, r.tally.partial, r.tally.changed, r.tally.unreachable = 0, 0, 0, 0
	r.tally.planned = max(r.tally.planned, 1)
	r.tally.fail("report", cause)
	r.diff, r.rows, r.refused = history.Diff{}, 0, nil
	return nil
}

// dropForeignReport drops the creatives that the report names unless it is proven, and they
// belong to campaigns of the account.
func (r *run) dropForeignReport(s *settings, proven bool) error {
	known, err := readCampaigns(r.store)
	if err != nil {
		return err
	}
	for _, e := range s.listing.Entities {
		known[e.ID] = true
	}
	if proven {
		for id := range r.report.campaigns {
			known[id] = true
		}
	}
	for _, l := range s.reported {
		if proven && known[l.CampaignID] {
			return nil
		}
	}
	s.reported = nil
	return nil
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
