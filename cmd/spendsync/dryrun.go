package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/spendsync/job"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// showPlan prints the plan of a sync that would start now. It sends no request to the service.
func (c *call) showPlan(ctx context.Context) error {
	if err := c.setUp(ctx); err != nil {
		return err
	}
	dir := c.cfg.DataDir
	known := manifest.NewAccount(job.ReachFrom(c.now()))
	m, err := manifest.Read(dir)
	switch {
	case err == nil && m.Accounts[c.cfg.Account] != nil:
		known = m.Accounts[c.cfg.Account]
	case err != nil && !errors.Is(err, durable.ErrEmpty):
		return err
	}
	p := job.PlanDays(c.cfg.Account, c.now(), known, c.planOptions())
	var text strings.Builder
	printPlan(&text, p)
	return c.answer(p, text.String())
}

func printPlan(w io.Writer, p job.Plan) {
	fmt.Fprintf(w, "Account %s, today in Chicago is %s, the report reaches back to %s.\n\n", p.Account,
		p.Today, p.Reach)
	t := cli.NewTable(w)
	t.AppendHeader(table.Row{"day", "why", "requests", "can be read for"})
	for _, d := range p.Read {
		t.AppendRow(table.Row{d.Day, d.Reason, fmt.Sprint(d.Requests), cli.Count(int(d.DaysLeft), "day")})
	}
	t.Render()
	fmt.Fprintf(w, "\n%s to read, about %s with the control total; %s fresh enough. A day of several pages that does "+
		"not add up costs at most 2 times its pages and one request for each campaign more.\n",
		cli.Count(len(p.Read), "day"), cli.Count(p.Requests, "request"), cli.Count(len(p.Keep), "day"))
	if len(p.Gone) > 0 {
		fmt.Fprintf(w, "Never to be read again, and not known in full: %s.\n", cli.Days(p.Gone))
	}
}
