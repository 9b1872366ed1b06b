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
	"spendsync/transform"
)

// Trial is what a sync of one finished day, and of one campaign of each status, has understood of the service.
type Trial struct {
	*Result
	Day triedDay

	Account string // that the key acts on; empty: the service does not name it
	Me      extract.Entity
	KeyErr  error // why the key does not count as the account's

	Listing   extract.Listing       // of campaigns
	Campaigns int                   // whose settings were read
	Keys      map[string]int        // keys of replies that values were read from, by stream
	Unread    []schema.EntityRead   // of the settings
	Unknown   []schema.UnknownField // keys that no column shows
	Lacks     []string              // columns that the report does not give
	PageSize  int                   // requested rows per page of the report

	known *Known // what syncs have stored; nil: nothing
	run   *run
	key   func() keyProof
	days  *copiedDays
}

// triedDay is what a trial has read of the report.
type triedDay struct {
	schema.Step
	Tried     bool
	Stored    bool
	Err       error // why its rows are not proven; nil: they are, whoever's they are
	Spend     schema.Money
	Control   string   // how its rows compare with the service's own total
	Campaigns []string // in its rows
}

// Known is the stored state of an account, with which a run compares its reads.
type Known struct {
	*manifest.Account
	stored storedCampaigns
}

// ReadKnown reads what the store in a folder has of an account, without a lock. stored is the account in its manifest.
func ReadKnown(dir, account string, stored *manifest.Account) (*Known, error) {
	campaigns, err := readCampaigns(dir, account, stored)
	return &Known{stored, campaigns}, err
}

// mostTried is how many campaigns a trial reads at most.
const mostTried = 8

// Try syncs one finished day and one campaign of each status into the job's store, which must be empty, and returns
// what was understood. It begins with what syncs have stored, as they do; nil: nothing is. The error means that the
// run did not start.
func (j Job) Try(ctx context.Context, known *Known) (*Trial, error) {
	t := &Trial{known: known}
	j.trial, j.Own = t, nil
	var err error
	t.Result, err = j.readAndPublish(ctx, "check", true, func(_ *manifest.Account, now time.Time) (Plan, error) {
		// Days before the reach of a plan count neither as missing nor as lost.
		p := Plan{Account: j.Account, Today: schema.DateOf(now), Reach: schema.DateOf(now) - 1}
		p.add(p.Reach, "tried", &manifest.Account{}, j.Plan.PageSize)
		return p, nil
	})
	if err != nil {
		return nil, err
	}
	t.addReport(j)
	t.addKey(j)
	t.addSettings()
	return t, nil
}

// CampaignIDs returns the campaigns that are known to be the account's: stored, listed by the key, or in the day's
// rows.
func (t *Trial) CampaignIDs() map[string]bool {
	ids := map[string]bool{}
	if t.known != nil {
		for id := range t.known.stored {
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

// addReport adds the reads of the report.
func (t *Trial) addReport(j Job) {
	t.PageSize = j.Plan.PageSize
	if n := j.Report.Asked().PageSize; n > 0 {
		t.PageSize = n
	}
	if t.days == nil || len(t.days.days) == 0 {
		return
	}
	d := t.days.days[0]
	t.Day = triedDay{Step: d.step, Tried: true, Stored: d.isStaged && t.Run.Published}
	if t.days.withheld == nil || d.err != t.days.withheld {
		t.Day.Err = OfWrongURL(d.err, j.Report, len(t.run.s.known().Days) > 0)
	}
	if d.isUnreachable() {
		t.Day.Err = errors.New(d.step.Message.V)
	}
	if d.read != nil {
		t.Day.Spend, t.Day.Control, t.Day.Campaigns = d.read.sums.Spend, d.read.Control, d.campaigns
	}
	t.Lacks, t.Unknown = t.run.lacks, t.run.unknown
}

// addKey adds whom the key acts on.
func (t *Trial) addKey(j Job) {
	if t.key == nil {
		return
	}
	key := t.key()
	t.Account, t.Me, t.KeyErr = key.who.account, key.who.me, key.err
	if key.err == nil {
		<-key.list.done
		t.Listing = key.list.listing
	}
}

// addSettings adds the reads of the settings, if the run came so far.
func (t *Trial) addSettings() {
	if t.run == nil || t.run.settings == nil {
		return
	}
	s := t.run.settings
	t.Campaigns, t.Unread = s.campaignsRead(), s.lines
	t.Unknown = slices.Concat(t.Unknown, s.undescribed)
	t.Keys = map[string]int{}
	for stream, keys := range s.readKeys {
		t.Keys[stream] = len(keys)
	}
}

// known returns the stored state of the account: from the store or, in a trial, from the store of the syncs.
func (s *session) known() *manifest.Account {
	if s.trial != nil && s.trial.known != nil {
		return s.trial.known.Account
	}
	return s.store.Account()
}

// storedCampaigns returns the campaigns that are stored of the account.
func (s *session) storedCampaigns() (storedCampaigns, error) {
	if s.trial != nil && s.trial.known != nil {
		return s.trial.known.stored, nil
	}
	return readCampaigns(s.DataDir, s.Account, s.store.Account())
}

// Lists reports whether the key's list has a campaign.
func (t *Trial) Lists(campaign string) bool {
	return slices.ContainsFunc(t.Listing.Entities, func(e extract.Entity) bool { return e.ID == campaign })
}

// Problems returns the part of the run's message that follows the stored data.
func (t *Trial) Problems() string {
	_, problems, _ := strings.Cut(t.run.tally.sentence(t.run.preview, true, ""), "; ")
	return problems
}

// ofEachStatus returns the first campaign of each status; without a trial, all of them.
func (n *settingsReader) ofEachStatus(due []dueCampaign) []dueCampaign {
	if n.run.trial == nil {
		return due
	}
	seen := map[string]bool{}
	due = slices.DeleteFunc(due, func(c dueCampaign) bool {
		status := transform.ListedStatus(n.run.Service, c.Entity)
		was := seen[status]
		seen[status] = true
		return was
	})
	return due[:min(len(due), mostTried)]
}
