package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/output"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// newPlanCommand is the name of 'sync --dry-run' in earlier versions.
func newPlanCommand(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "plan", Short: "The same as 'sync --dry-run'",
		Example: "  spendsync sync --dry-run\n  spendsync sync --dry-run --json | jq .requests",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.showPlan(cmd.Context()) },
	}
}

// showPlan prints the plan of a sync that would begin now, and asks the service nothing.
func (c *call) showPlan(ctx context.Context) error {
	if err := c.setUp(ctx); err != nil {
		return err
	}
	accounts, err := c.knownAccounts()
	if err != nil {
		return err
	}
	for i, account := range accounts {
		p := job.PlanDays(account.name, c.now(), account.known, c.planOptions())
		if c.json {
			err = output.JSON(c.stdout, p)
		} else {
			if i > 0 {
				fmt.Fprintln(c.stdout)
			}
			err = printPlan(c.stdout, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// knownAccount is an account with its published state.
type knownAccount struct {
	name  string
	known *manifest.Account
}

// knownAccounts returns the configured account with its published state; without the variable, all
// accounts of the store. If nothing is published, the account is empty.
func (c *call) knownAccounts() ([]knownAccount, error) {
	dir, err := c.cfg.StoreDir()
	if err != nil {
		return nil, err
	}
	nothing := []knownAccount{{c.cfg.Account, manifest.NewAccount(job.ReachFrom(c.now()))}}
	m, err := manifest.Read(dir)
	if errors.Is(err, durable.ErrEmpty) {
		return nothing, nil
	}
	if err != nil {
		return nil, err
	}
	names := []string{c.cfg.Account}
	if all := m.AccountNames(); len(all) > 0 && !c.cfg.AccountIsSet() {
		names = all
	}
	var accounts []knownAccount
	for _, name := range names {
		if m.Accounts[name] == nil {
			return nothing, nil
		}
		accounts = append(accounts, knownAccount{name, m.Accounts[name]})
	}
	return accounts, nil
}

// knownAccount returns the only account that [call.knownAccounts] finds.
func (c *call) knownAccount() (string, *manifest.Account, error) {
	accounts, err := c.knownAccounts()
	if err != nil {
		return "", nil, err
	}
	if len(accounts) > 1 {
		return "", nil, exit.Advise(exit.Usagef("the store has %s, and none is chosen",
			phrase.Count(len(accounts), "account")), "name one with --account or in %sACCOUNT", config.Prefix)
	}
	return accounts[0].name, accounts[0].known, nil
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
