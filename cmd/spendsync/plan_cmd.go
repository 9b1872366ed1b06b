package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/output"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

func newPlanCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "plan", Short: "Show which days a sync would read now, why, and at what cost",
		Example: "  spendsync plan\n  spendsync plan --json | jq .requests",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.setUp(cmd.Context()); err != nil {
				return err
			}
			name, known, err := a.knownAccount()
			if err != nil {
				return err
			}
			p := job.PlanDays(name, a.now(), known, a.planOptions())
			if a.json {
				return output.JSON(a.stdout, p)
			}
			return printPlan(a.stdout, p)
		},
	}
}

// knownAccount returns the configured account with its published state; without the variable, the
// only account of the store. If nothing is published, the account is empty.
func (a *app) knownAccount() (string, *manifest.Account, error) {
	name := a.cfg.Account
	dir, err := a.cfg.StoreDir()
	if err != nil {
		return "", nil, err
	}
	m, err := manifest.Read(dir)
	if errors.Is(err, durable.ErrEmpty) {
		return name, manifest.NewAccount(job.ReachFrom(a.now())), nil
	}
	if err != nil {
		return "", nil, err
	}
	if all := m.AccountNames(); len(all) == 1 && !a.cfg.AccountIsSet() {
		name = all[0]
	}
	if m.Accounts[name] == nil {
		return name, manifest.NewAccount(job.ReachFrom(a.now())), nil
	}
	return name, m.Accounts[name], nil
}

func printPlan(w io.Writer, p job.Plan) error {
	fmt.Fprintf(w, "Account %s, today in Chicago is %s, the report reaches back to %s.\n\n", p.Account,
		p.Today, p.Reach)
	t := output.NewTable(w, "day", "why", "requests", "can be read for")
	for _, d := range p.Read {
		t.Row(d.Day.String(), d.Reason, fmt.Sprint(d.Requests), phrase.Count(int(d.DaysLeft), "day"))
	}
	t.Print()
	fmt.Fprintf(w, "\n%s to read, about %s with the control total; %s fresh enough.\n",
		phrase.Count(len(p.Read), "day"), phrase.Count(p.Requests, "request"), phrase.Count(len(p.Keep), "day"))
	if len(p.Gone) > 0 {
		fmt.Fprintf(w, "Never to be read again, and not known in full: %s.\n", phrase.Days(p.Gone))
	}
	return nil
}
