package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/files"
	"spendsync/cmd/internal/output"
	"spendsync/cmd/spendsync/check"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/cmd/spendsync/record"
	"spendsync/schema"
)

func newRecordCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "record FILE", Short: "Record what the service answers, without names, numbers and secrets",
		Long: `Sends the requests of 'spendsync check' to the service, and two that it refuses, and writes the
replies into a file that can be sent to the maintainers: structure, types, lengths and forms stay; every name, ID,
text, number and secret is replaced, alike wherever it comes again, so that sums and keys still add up. Look at the
file before you send it. 'go run ./cmd/adsim -record FILE' serves it. Nothing is stored anywhere else.

What stays as it came: the keys and words of the service's description, 0 and 1, zeros at the ends of numbers,
punctuation, times of day, the numbers of pages, and the days that the report was asked for.`,
		Example: "  spendsync record service.json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Advise(exit.Usagef("record takes the name of one file"), "see '%s --help'",
					cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.record(cmd.Context(), args[0]) },
	}
}

// recorded is what record prints for a program.
type recorded struct {
	File    string `json:"file"`
	Replies int    `json:"replies"`
	Bytes   int    `json:"bytes"`
	Sync    string `json:"sync"` // how a sync of these replies ends
}

// record writes a recording of the service.
func (a *app) record(ctx context.Context, name string) error {
	if err := a.setUp(ctx); err != nil {
		return err
	}
	dir, err := a.cfg.StoreDir()
	if err != nil {
		return err
	}
	if err := files.CheckFile("FILE", name, dir); err != nil {
		return err
	}
	j, err := (&runner{a}).newJob()
	if err != nil {
		return err
	}
	r := record.New(a.now)
	if j.Report, j.API, err = r.Clients(a.cfg, a.clientOptions()); err != nil {
		return err
	}
	defer j.Report.Close()
	defer j.API.Close()
	j.AcceptUnpinned = true
	t, err := check.Try(ctx, j, nil)
	if err != nil {
		return err
	}
	// Two requests that a service refuses, for the form of its errors.
	_, _ = j.API.Campaign(ctx, "C0000000")
	old := schema.DateOf(a.now()) - 2*schema.ReachDays
	_, _ = j.Report.ControlTotals(ctx, old, old)
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := r.Recording(a.cfg.Service(), "spendsync "+version())
	if err != nil {
		return err
	}
	err = files.WriteFile(name, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err != nil {
		return err
	}
	n, more := r.Len()
	said := recorded{File: name, Replies: n, Bytes: len(text), Sync: fmt.Sprintf("exit code %d", t.Run.ExitCode)}
	if a.json {
		return output.JSON(a.stdout, said)
	}
	all := ""
	if more {
		all = "the first "
	}
	fmt.Fprintf(a.stdout, "%s: %s%s of the service, %s; a sync of these ends with %s\n", name, all,
		phrase.Count(n, "answer"), phrase.Bytes(uint64(len(text))), said.Sync)
	fmt.Fprintln(a.stdout, "Names, IDs, texts, numbers and secrets are replaced. Look at it before you send it.")
	return nil
}
