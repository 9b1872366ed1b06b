package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/page"
	"spendsync/cmd/spendsync/pagedata"
	"spendsync/load/durable"
)

// reportCommand is "report".
type reportCommand struct {
	*call

	out     string
	from    string
	summary bool
}

// pageName and summaryName are the default names of the written files.
const pageName, summaryName = "spendsync-report.html", "spendsync-summary.html"

func newReportCommand(a *call) *cobra.Command {
	c := &reportCommand{call: a, out: pageName}
	cmd := &cobra.Command{
		Use: "report", Short: "Write one HTML file to look at: spend, sources, creatives, bids, money left, gaps",
		Long: `Writes what the warehouse knows as one HTML file with a sentence for each question that says what to do.

The file needs nothing but itself: no network, no script. It is light or dark as its reader's screen, prints on A4, and
is readable on a phone. Its numbers are those of the views in schema mart, as of the last read of the report; the same
warehouse gives the same file. With --summary it is one sheet of A4 for each account, for a mail or a printer. The
DuckDB file is opened read-only and nothing is asked of the service. Without --account all accounts follow each
other.`,
		Example: `  spendsync report
  spendsync report --account acme --out acme.html
  spendsync report --summary
  spendsync report --out - | mail -a "Content-Type: text/html" a@acme.test`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.summary && !cmd.Flags().Changed("out") {
				c.out = summaryName
			}
			return c.run(cmd.Context())
		},
	}
	addFrom(cmd, &c.from)
	cmd.Flags().StringVar(&c.out, "out", c.out, "file to write; it appears when it is whole; - is stdout; "+
		"of --summary "+summaryName)
	cmd.Flags().BoolVar(&c.summary, "summary", false, "write one sheet of A4 for each account: tiles, tasks, spend, "+
		"campaigns")
	return cmd
}

func (c *reportCommand) run(ctx context.Context) error {
	dir, err := c.openStore(ctx, c.from)
	if err != nil {
		return err
	}
	toStdout := c.out == "-"
	switch {
	case c.out == "":
		return exit.Usagef("--out: a file, or - for stdout")
	case toStdout && c.json:
		return exit.Usagef("--json and --out -: which one is to be on stdout?")
	case !toStdout:
		if err := cli.CheckFile("--out", c.out, dir); err != nil {
			return err
		}
	}
	r, err := pagedata.Read(ctx, dir, c.account, c.loadOptions())
	if err != nil {
		return warehouseErr(err, dir)
	}
	write := page.Write
	if c.summary {
		write = page.WriteSummary
	}
	if toStdout {
		return cli.QuietPipe(write(c.stdout, r))
	}
	if err := cli.WriteFile(c.out, func(w io.Writer) error { return write(w, r) }); err != nil {
		return err
	}
	return c.reportWritten(c.out, r)
}

// reportWritten prints the path of the file and the time of its numbers.
func (c *reportCommand) reportWritten(out string, r page.Page) error {
	full, err := filepath.Abs(out)
	if err != nil {
		return errors.Join(err, exit.ErrUsage)
	}
	info, err := os.Stat(full)
	if err != nil {
		return durable.Storage(err)
	}
	size := info.Size()
	type part struct {
		Account      string `json:"account"`
		AsOf         string `json:"as_of"`
		LastWholeDay string `json:"last_whole_day"`
	}
	var parts []part
	for _, acc := range r.Accounts {
		parts = append(parts, part{acc.Name, acc.AsOf(), acc.LastWholeDay()})
	}
	return c.answer(map[string]any{"file": full, "bytes": size, "accounts": parts},
		fmt.Sprintf("%s: %s KB, %s\n", full, cli.Grouped(size/1000), accountsText(r)))
}

func accountsText(r page.Page) string {
	if len(r.Accounts) != 1 {
		return fmt.Sprintf("%d accounts", len(r.Accounts))
	}
	acc := r.Accounts[0]
	if acc.AsOf() == "" {
		return fmt.Sprintf("account %s, no day of the report is proven yet", acc.Name)
	}
	return fmt.Sprintf("account %s as of %s", acc.Name, acc.AsOfText())
}
