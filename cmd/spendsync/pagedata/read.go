package pagedata

import (
	"context"
	"errors"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/page"
	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/queries"
)

// Kept are the views that several questions or views ask: they are answered once, each after those that it asks.
var Kept = []duck.Kept{{View: "threshold"}, {View: "intraday_hourly"}, {View: "day_maturity"}, {View: "campaign_day"},
	{View: "break_day"}, {View: "change_log"}, {View: "breaks"}, {View: "campaign_performance"},
	{View: "source_window"}, {View: "source_performance", Where: "spend > 0 OR clicks > 0"}, {View: "source_judgement"},
	{View: "source_block_candidates"}, {View: "daily_pacing"}, {View: "budget_runway"}}

// questions are the ready questions whose answers the page shows, as tables of schema page, with as many rows as it
// needs.
var (
	questions = []string{"which_campaigns_pay", "last_week", "yesterday", "month", "campaigns_at_limit"}
	rows      = map[string]string{"last_week": "100000", "campaigns_at_limit": "100000", "yesterday": "0"}
)

// Read reads all that a report shows, of one generation.
func Read(ctx context.Context, dir, account string, o load.Options) (r page.Page, err error) {
	m, err := manifest.Read(dir)
	if err != nil {
		return r, err
	}
	s, err := duck.OpenSession(ctx, dir, o.DuckDB)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	accounts, err := s.Accounts(ctx, account)
	if err != nil {
		return r, err
	}
	r = page.Page{Version: o.Version, Schema: m.SchemaVersion}
	for _, name := range accounts {
		a, err := readAccount(ctx, s, name)
		if duck.IsUnknownName(err) {
			return r, exit.Advise(exit.Usagef("the warehouse in %s was published by another version of spendsync: %v",
				dir,
				err), "run 'spendsync repair rebuild', which gives it this version's views; the next sync does so, too")
		}
		if err != nil {
			return r, err
		}
		r.Accounts = append(r.Accounts, a)
	}
	return r, nil
}

// readAccount asks the questions of one account, and then its sections.
func readAccount(ctx context.Context, s *duck.Session, name string) (a page.Account, err error) {
	if err := prepare(ctx, s, name); err != nil {
		return a, err
	}
	a.Name = name
	if a.Head, err = table(ctx, s, read("head")); err != nil {
		return a, err
	}
	for _, of := range sections() {
		for i := range of.Blocks {
			b, err := table(ctx, s, of.sql[i])
			if err != nil {
				return a, err
			}
			of.Blocks[i].Columns, of.Blocks[i].Rows = b.Columns, b.Rows
		}
		a.Sections = append(a.Sections, of.Section)
	}
	return a, nil
}

// prepare makes the tables and macros that the sections use.
func prepare(ctx context.Context, s *duck.Session, account string) error {
	if err := s.Keep(ctx, account, Kept); err != nil {
		return err
	}
	statements := []string{"CREATE SCHEMA page"}
	for _, name := range questions {
		q, err := queries.Find(name)
		if err != nil {
			return err
		}
		statements = append(statements, "CREATE TABLE page."+name+" AS "+q.With(map[string]string{"rows": rows[name]}))
	}
	for _, made := range strings.SplitAfter(read("prepare"), ";\n") {
		if strings.TrimSpace(made) != "" {
			statements = append(statements, made)
		}
	}
	return s.Define(ctx, statements...)
}

func table(ctx context.Context, s *duck.Session, sql string) (b page.Block, err error) {
	t, err := s.Query(ctx, sql)
	return page.Block{Columns: t.Columns, Rows: t.Rows}, err
}
