package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/load/manifest"
)

func newAcceptCommand(a *call) *cobra.Command {
	undo := false
	cmd := &cobra.Command{
		Use: "accept FORM|DATE", Short: "Accept a difference, or a day as it is stored: it ends no run with exit 4",
		Long: `Accepts a difference that 'spendsync status' lists, up to its present size, or a day that is partial or
doubtful, by its date, as it is stored. It ends no run with exit 4 from now on; a larger difference is a new
one, and so is
another content of the day. 'spendsync status', ops.note and mart.data_quality show it. A day that is missing has
nothing to accept.`,
		Example: "  spendsync repair accept report.day-total.above\n" +
			"  spendsync repair accept 2026-03-08\n" +
			"  spendsync repair accept --undo report.day-total.above",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return (&runner{a}).runRepair(cmd.Context(), func(j job.Job, ctx context.Context) (*job.Result, error) {
				return j.Accept(ctx, args[0], undo, func(known []string) error {
					return nothingToAccept(args[0], undo, known)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "take an acceptance back: it ends runs with exit 4 again")
	return cmd
}

// nothingToAccept returns the error for a name that is not in names. The parameter names lists what the account can
// accept. If undo is true, it lists what the account can take back.
func nothingToAccept(name string, undo bool, names []string) error {
	what := "accept"
	if undo {
		what = "take back"
	}
	if len(names) == 0 {
		return exit.Advise(exit.Usagef("there is no %q to %s: the account has nothing", name, what),
			"see 'spendsync status' after the next run")
	}
	return exit.Advise(exit.Usagef("there is no %q to %s%s", name, what, cli.DidYouMean(name, names)),
		"name one of: %s", strings.Join(names, ", "))
}

// noteState describes whether a person has accepted a difference and, if so, how long ago and up to which size.
func noteState(n manifest.Note, c *call) string {
	if n.Accepted == nil {
		if n.Size == 0 {
			return "not accepted"
		}
		return n.SizeText(n.Size) + ", not accepted"
	}
	text := fmt.Sprintf("accepted %s ago", cli.Age(c.now().Sub(n.Accepted.At.Time())))
	if n.Accepted.Size > 0 {
		text += " up to " + n.SizeText(n.Accepted.Size)
	}
	if !n.IsAccepted() {
		text += ", and it is " + n.SizeText(n.Size) + " now"
	}
	return text
}
