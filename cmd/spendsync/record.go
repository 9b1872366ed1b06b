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

// recordCommand is "record".
type recordCommand struct{ *call }

func newRecordCommand(a *call) *cobra.Command {
	c := &recordCommand{a}
	return &cobra.Command{
		Use: "record FILE", Short: "Record the shapes of the service's replies, without any value",
		Long: `Sends the requests of 'spendsync check' to the service, and two that it refuses, and writes the shapes of
the replies into a file that can be sent to the maintainers: the paths of keys, and of the values at each the type, the
length and the form (A9999 for C1346). No value, name or secret is in it; a key that could be one is written as its
form. Look at the file before you send it. Nothing is stored anywhere else.`,
		Example: "  spendsync record service.txt",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Advise(exit.Usagef("record takes the name of one file"), "see '%s --help'",
					cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
}

// recorded is what record prints for a program.
type recorded struct {
	File    string `json:"file"`
	Replies int    `json:"replies"`
	Sync    string `json:"sync"` // how a sync of these replies ends
}

// run writes the shapes of the service's replies.
func (c *recordCommand) run(ctx context.Context, name string) error {
	if err := c.setUp(ctx); err != nil {
		return err
	}
	dir, err := c.cfg.StoreDir()
	if err != nil {
		return err
	}
	if err := files.CheckFile("FILE", name, dir); err != nil {
		return err
	}
	j, err := (&runner{c.call}).newJob()
	if err != nil {
		return err
	}
	r := record.New()
	if j.Report, j.API, err = r.Clients(c.cfg, c.clientOptions()); err != nil {
		return err
	}
	defer j.Report.Close()
	defer j.API.Close()
	t, err := check.Try(ctx, j, nil)
	if err != nil {
		return err
	}
	// Two requests that a service refuses, for the form of its errors.
	_, _ = j.API.Campaign(ctx, "C0000000")
	old := schema.DateOf(c.now()) - 2*schema.ReachDays
	_, _ = j.Report.ControlTotals(ctx, old, old)
	if err := ctx.Err(); err != nil {
		return err
	}
	text := r.Shapes("spendsync " + version())
	if err := files.WriteFile(name, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	said := recorded{File: name, Replies: r.Len(), Sync: fmt.Sprintf("exit code %d", t.Run.ExitCode)}
	if c.json {
		return output.JSON(c.stdout, said)
	}
	fmt.Fprintf(c.stdout, "%s: the shapes of %s of the service; a sync of these ends with %s\n", name,
		phrase.Count(said.Replies, "reply"), said.Sync)
	fmt.Fprintln(c.stdout, "It holds no value. Look at it before you send it.")
	return nil
}
