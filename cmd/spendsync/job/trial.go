package job

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"spendsync/extract"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// Trial is the result of a trial sync, which reads one finished day and one campaign of each status into an empty
// store. It shows how well the service's replies are understood.
type Trial struct {
	*Result
	Day triedDay

	Account string // account of the API key; empty: the service names none
	Me      extract.Entity
	KeyErr  error // why the key's account is not proven; nil: it is proven

	Listing   extract.Listing       // of campaigns
	Campaigns int                   // campaigns whose settings were read
	Unread    []schema.EntityRead   // of the settings
	Unknown   []schema.UnknownField // keys without a column

	synced *StoredAccount // what earlier syncs have stored; nil: nothing
	run    *run
}

// triedDay is the report day that a trial has read.
type triedDay struct {
	schema.Step
	Tried     bool
	Stored    bool
	Err       error // why the day is not proven; nil does not prove that the day is of this account
	Spend     schema.Money
	Campaigns []string // in its rows
}

// Try syncs one finished day and one campaign of each status into the job's store, which must be empty, and returns how
// well the replies were understood. The caller passes what earlier syncs have stored, or nil if nothing is stored. The
// replies are compared with it as in a sync. An error means that the run did not start.
func (j Job) Try(ctx context.Context, synced *StoredAccount) (*Trial, error) {
	t := &Trial{synced: synced, run: &run{}}
	if j.trial, j.Own = synced, nil; synced == nil {
		j.trial = &StoredAccount{}
	}
	var err error
	t.Result, err = j.readAndPublish(ctx, "check", true, func(_ *manifest.Account, now time.Time) (Plan, error) {
		// The plan covers only yesterday and today, so that no earlier day counts as missing or lost.
		p := Plan{Account: j.Account, Today: schema.DateOf(now), Reach: schema.DateOf(now) - 1}
		p.add(p.Reach, "tried", &manifest.Account{}, j.Plan.PageSize)
		return p, nil
	}, t.run)
	if err != nil {
		return nil, err
	}
	if days := t.run.days; days != nil && len(days.days) > 0 {
		t.addDay(j, days.days[0], days.withheld)
	}
	if t.run.key != nil {
		key := t.run.key.wait()
		t.Account, t.Me, t.KeyErr = key.who.account, key.who.me, key.err
		if key.err == nil {
			t.Listing = key.list.wait().listing
		}
	}
	if s := t.run.settings; s != nil {
		t.Campaigns, t.Unread = s.campaignsRead(), s.lines
		t.Unknown = slices.Concat(t.Unknown, s.undescribed)
	}
	return t, nil
}

// CampaignIDs returns the campaigns that are stored, in the key's list, or in the report of the tried day.
func (t *Trial) CampaignIDs() map[string]bool {
	ids := map[string]bool{}
	if t.synced != nil {
		for id := range t.synced.stored {
			ids[id] = true
		}
	}
	for _, e := range t.Listing.Entities {
		ids[e.ID] = true
	}
	for _, id := range t.Day.Campaigns {
		ids[id] = true
	}
	return ids
}

// addDay adds what the trial has read of the report. The last argument is the reason why days are kept out of the
// store, or nil if none are kept out.
func (t *Trial) addDay(j Job, d *copiedDay, withheld error) {
	t.Day = triedDay{Step: d.step, Tried: true, Stored: d.isStaged && t.Run.Published}
	switch {
	case d.isUnreachable():
		t.Day.Err = errors.New(d.step.Message.V)
	case withheld == nil || d.err != withheld:
		t.Day.Err = OfWrongURL(d.err, j.Report, len(t.run.s.storedAccount().Days) > 0)
	}
	if d.read != nil {
		t.Day.Spend, t.Day.Campaigns = d.read.sums.Spend, d.campaigns
	}
	t.Unknown = t.run.unknown
}

// Lists reports whether the key's list contains a campaign.
func (t *Trial) Lists(campaign string) bool {
	return slices.ContainsFunc(t.Listing.Entities, func(e extract.Entity) bool { return e.ID == campaign })
}

// Problems returns the run's message about problems. It omits the first part of the message, which is about what was
// published in the trial's own store.
func (t *Trial) Problems() string {
	_, problems, _ := strings.Cut(t.run.tally.sentence(t.run.preview, true, ""), "; ")
	return problems
}
