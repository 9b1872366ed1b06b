package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/nearest"
	"spendsync/cmd/spendsync/job"
	"spendsync/load/manifest"
)

func newAcceptCommand(a *call) *cobra.Command {
	withdraw := false
	cmd := &cobra.Command{
		Use: "accept NOTE", Short: "Accept a difference that 'spendsync status' lists: it ends no run with exit 4",
		Long: `Accepts a difference between the stored data and what the service states of it or promises to send. The
note stands from now on: 'spendsync status', ops.note and mart.data_quality show it, and it
ends no run with exit 4. A note that three runs have seen stands by itself, unless it may mean that older values are
wrong. Only differences whose data is stored have a note: a day that is missing or not proven, or anything else that
is lost, ends each run as before.`,
		Example: "  spendsync repair accept report.day-total.above\n" +
			"  spendsync repair accept --withdraw report.day-total.above",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Advise(exit.Usagef("%s takes one note, and %d are given", cmd.CommandPath(), len(args)),
					"name a note that 'spendsync status' lists")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return (&runner{a}).runRepair(cmd.Context(), func(j job.Job, ctx context.Context) (*job.Result, error) {
				return j.Accept(ctx, args[0], withdraw, func(known []manifest.Note) error {
					return unknownNote(args[0], known)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&withdraw, "withdraw", false, "withdraw the note: it ends runs with exit 4 again")
	return cmd
}

// unknownNote is the error for a note that the account does not have.
func unknownNote(name string, known []manifest.Note) error {
	var names []string
	for _, n := range known {
		names = append(names, n.Name)
	}
	if len(names) == 0 {
		return exit.Advise(exit.Usagef("there is no note %q: the account has none", name),
			"see 'spendsync status' after the next run")
	}
	return exit.Advise(exit.Usagef("there is no note %q%s", name, nearest.DidYouMean(name, names)),
		"name one of: %s", strings.Join(names, ", "))
}

// noteState returns in a word or two whether a note stands, and why.
func noteState(n manifest.Note) string {
	switch {
	case n.Decision != "" && n.Stands():
		return "accepted"
	case n.Decision != "":
		return "withdrawn"
	case n.Stands():
		return "standing"
	case n.ByHand:
		return "to be accepted by hand"
	}
	return fmt.Sprintf("seen in %d of %d runs", n.Runs, manifest.RunsToStand)
}
