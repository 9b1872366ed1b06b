package main

import (
	"context"
	"path/filepath"
	"strconv"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/payouts"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/schema"
)

// ownFiles reads the operator's own files when a run wants them; nil: there are none.
func (a *app) ownFiles(dir string) (job.ReadOwn, error) {
	if len(a.cfg.Payouts) == 0 {
		return nil, nil
	}
	format, err := payouts.ParseFormat(a.cfg.TrackerFormat)
	if err != nil {
		return nil, exit.Usagef("%v", err)
	}
	return func(ctx context.Context, campaigns map[string]bool) (*payouts.Own, error) {
		o := payouts.Options{Paths: a.cfg.Payouts, Columns: a.cfg.Tracker, Format: format,
			Today: schema.DateOf(a.now()), Campaigns: campaigns}
		if err := a.addKnown(ctx, dir, &o); err != nil {
			a.log.Warn("your own files are not compared with the stored days", "error", err)
		}
		return payouts.Read(ctx, o)
	}, nil
}

// addKnown adds the sources of the account, and what the service counted on finished days of the last weeks.
func (a *app) addKnown(ctx context.Context, dir string, o *payouts.Options) error {
	if !durable.Exists(filepath.Join(dir, duck.FileName)) {
		return nil
	}
	s, err := duck.OpenSession(ctx, dir, duck.Options{Memory: payouts.DefaultMemory, Threads: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	of := " FROM main.spend_daily WHERE account_id = " + schema.QuoteText(a.cfg.Account)
	sources, err := s.Query(ctx, "SELECT DISTINCT source_id"+of+" AND source_id <> ''")
	if err != nil {
		return err
	}
	counts, err := s.Query(ctx, "SELECT campaign_id, datediff('day', DATE '1970-01-01', report_date), sum(clicks), "+
		"sum(conversions)"+of+" AND report_date BETWEEN DATE '"+(o.Today-schema.ReachDays).String()+"' AND DATE '"+
		(o.Today-2).String()+"' GROUP BY ALL")
	if err != nil {
		return err
	}
	o.Sources, o.Counts = map[string]bool{}, map[payouts.CampaignDay]payouts.Counts{}
	for _, row := range sources.Rows {
		o.Sources[row[0].V] = true
	}
	for _, row := range counts.Rows {
		day, err := strconv.Atoi(row[1].V)
		if err != nil {
			return err
		}
		clicks, _ := strconv.ParseFloat(row[2].V, 64) // unknown ones are not compared
		conversions, _ := strconv.ParseFloat(row[3].V, 64)
		o.Counts[payouts.CampaignDay{Campaign: row[0].V, Day: schema.Date(day)}] = payouts.Counts{clicks, conversions}
	}
	return nil
}
