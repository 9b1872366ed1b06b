package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/answer"
	"spendsync/cmd/spendsync/explain"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/shop"
	"spendsync/extract/adsim"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/queries"
)

// demoCommand is "demo".
type demoCommand struct {
	*call
	dir   string
	rows  int // rows of the report per day
	again bool
}

func newDemoCommand(a *call) *cobra.Command {
	d := &demoCommand{call: a, rows: 800}
	cmd := &cobra.Command{
		Use: "demo", Short: "Show the whole job on a simulated account; needs nothing",
		Example: "  spendsync demo\n  spendsync demo --data-dir /tmp/demo --rows-per-day 20000",
		Long: `Starts the simulated service in this process, with the account of a shop, and syncs three weeks of it
into ./demo-data: each morning, and in the last five hours each hour (mart.intraday_hourly has an amount for these
alone). In these weeks a campaign's conversions stop being counted and come back, the creatives of one campaign are
clicked ever less, people change bids and limits, and the service restates days. Then it asks the warehouse which
campaigns pay.

The syncs are the same as ever but for the address and the clock, and the last one alone makes the views. The folder
belongs to the demo. If the demo is complete there, it only asks; --again begins afresh.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&d.rows, "rows-per-day", d.rows, "about how many rows the simulated report has a day, from 1 "+
		"to 1000000")
	cmd.Flags().BoolVar(&d.again, "again", false, "remove the complete demo in the folder and begin afresh")
	return cmd
}

func (d *demoCommand) run(ctx context.Context) error {
	if d.rows < 1 || d.rows > 1_000_000 {
		return exit.Advise(exit.Usagef("--rows-per-day %d: must be a whole number from 1 to 1000000", d.rows),
			"give a number such as 800")
	}
	if err := d.place(); err != nil {
		return err
	}
	folder, err := shop.OpenFolder(d.dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	d.environ = append(withoutOurs(d.environ), demoVariables("http://127.0.0.1", d.dir, "")...)
	if folder.IsComplete() && !d.again {
		if err := d.configure(ctx); err != nil {
			return err
		}
		again := []string{"demo", "--again"}
		if d.dir != demoDir {
			again = append(again, "--data-dir", d.dir)
		}
		fmt.Fprintf(d.stdout, "The demo is already in %s ('%s' begins afresh).\n\n", d.dir, typed(again...))
	} else if err := d.play(ctx, folder); err != nil {
		return err
	}
	if err := d.printAsk(ctx, "which_campaigns_pay", "rows=8"); err != nil {
		return err
	}
	return d.printGoOn()
}

// place sets the demo's folder: --data-dir or, without it, [demoDir]. The caller's SPENDSYNC_DATA_DIR has no effect.
func (d *demoCommand) place() error {
	if d.account != "" && d.account != demoAccount {
		return exit.Advise(exit.Usagef("--account %s: the account of the demo is %q", d.account, demoAccount),
			"leave --account out")
	}
	d.dir = cmp.Or(d.dataDir, demoDir)
	return nil
}

// demoDir is the folder of the demo unless --data-dir names another; demoAccount is its account.
const (
	demoDir     = "demo-data"
	demoAccount = "demo"
)

// demoBeside looks for the store of a demo next to the data directory, if err reports that the data directory has no
// store. It returns the folder of that store, or "" if there is none.
func (c *call) demoBeside(err error) string {
	if c.cfg == nil || !errors.Is(err, durable.ErrEmpty) {
		return ""
	}
	dir := filepath.Join(filepath.Dir(c.cfg.DataDir), demoDir)
	if _, err := manifest.ReadRoot(durable.OS, dir, nil); err != nil || dir == filepath.Clean(c.cfg.DataDir) {
		return ""
	}
	if here, err := os.Getwd(); err == nil {
		if near, err := filepath.Rel(here, dir); err == nil && filepath.IsLocal(near) {
			return near
		}
	}
	return dir
}

// play builds the store of the demo from scratch.
func (d *demoCommand) play(ctx context.Context, folder *shop.Folder) (err error) {
	if err := folder.Clear(); err != nil {
		return err
	}
	today := d.now()
	fmt.Fprintln(d.stdout, "A simulated shop, three weeks of its life, into "+d.dir+":")
	s, err := shop.New(d.rows, today)
	if err != nil {
		return err
	}
	url, stop, err := serve(s.Handler())
	if err != nil {
		return err
	}
	defer stop()
	temp, err := os.MkdirTemp("", "spendsync-demo-")
	if err != nil {
		return durable.Storage(err)
	}
	defer func() {
		if rmErr := os.RemoveAll(temp); err == nil { // keep a sync's error, which determines the exit code
			err = rmErr
		}
	}()
	payouts := filepath.Join(temp, "payouts.csv")
	if err := os.WriteFile(payouts, []byte(s.Payouts()), 0o600); err != nil {
		return durable.Storage(err)
	}
	d.environ = append(withoutOurs(d.environ), demoVariables(url, d.dir, payouts)...)
	if err := d.syncs(ctx, s); err != nil {
		return err
	}
	dir, err := filepath.Abs(d.dir)
	if err == nil {
		err = config.WriteFile(filepath.Join(d.dir, config.FileName), [][2]string{{"DATA_DIR", dir},
			{"ACCOUNT", demoAccount}})
	}
	if err != nil {
		return durable.Storage(err)
	}
	return folder.Finish()
}

// syncs runs a sync at each time of the story. Views and marts take a quarter of a sync's time. So only the last sync
// makes them: the earlier generations are never queried.
func (d *demoCommand) syncs(ctx context.Context, s *shop.Shop) error {
	times, real := s.Times(), d.now
	defer func() { d.now, d.only = real, nil }()
	d.only = func([]queries.Query) []queries.Query { return nil }
	shown := cli.NewScreen(d.stderr)
	bar := shown.Progress("syncs", "", len(times), nil)
	defer bar.Done()
	r := &runner{d.call}
	restated := 0
	for i, t := range times {
		if !shown.Terminal && i%10 == 0 {
			fmt.Fprintf(d.stdout, "  %s: sync %d of %d\n", t.Format("Monday, 2 January"), i+1, len(times))
		}
		if err := s.MoveTo(t); err != nil {
			return err
		}
		d.now = func() time.Time { return t }
		if i == len(times)-1 {
			d.only = nil
		}
		if err := d.configure(ctx); err != nil {
			return err
		}
		last, err := r.serviceJob(ctx, func(j job.Job, ctx context.Context) (*job.Result, error) {
			j.Progress = nil // the demo shows one bar, which counts the syncs
			return j.Sync(ctx)
		})
		if err != nil {
			return err
		}
		if code := int(last.Run.ExitCode); code != exit.OK && code != exit.DayAtRisk {
			bar.Done()
			d.lastLines(0, explain.Run(last), code)
			return &exit.Outcome{Code: code, Happens: last.Run.Message.V}
		}
		restated += int(last.Run.Restatements)
		bar.Step()
	}
	bar.Done()
	return d.print(cli.WrapLine(fmt.Sprintf("%d syncs; meanwhile the service changed rows of past days %s times, "+
		"mostly for late conversions: spend_change has the old and new numbers.", len(times),
		cli.Grouped(int64(restated))), cli.TextWidth(d.stdout), "") + "\n\n")
}

// printGoOn prints commands with which the user can look further into the demo. They work as printed, in the folder
// where the demo was started.
func (d *demoCommand) printGoOn() error {
	text := "Go on:\n"
	of := []string{"--config", filepath.Join(d.dir, config.FileName)}
	for _, args := range [][]string{{"query", "sources_to_block"}, {"status"}, {"report"}} {
		text += "  " + typed(append(args, of...)...) + "\n"
	}
	_, err := io.WriteString(d.stdout, text)
	return err
}

// demoVariables returns the variables for a sync that reads the simulated service at url and stores into the folder
// dir.
func demoVariables(url, dir, payouts string) []string {
	variables := []string{
		"ADVERTISER_URL=" + url + adsim.APIPrefix, "API_KEY=" + adsim.DefaultKey,
		"REPORT_URL=" + url + adsim.ReportPrefix, "REPORT_USER=" + adsim.DefaultUser,
		"REPORT_PASSWORD=" + adsim.DefaultPassword, "DATA_DIR=" + dir, "ACCOUNT=" + demoAccount, "PAYOUTS=" + payouts,
		"LOG_FORMAT=text", "LOG_LEVEL=error", "REQUESTS_PER_MINUTE=120",
	}
	for i := range variables {
		variables[i] = config.Prefix + variables[i]
	}
	return variables
}

// serve runs the simulated service on a free port of this machine.
func serve(h http.Handler) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "the simulated service:", err)
		}
	}()
	return "http://" + l.Addr().String(), func() { srv.Close() }, nil
}

// withoutOurs removes the variables of spendsync, because the demo sets its own.
func withoutOurs(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		return strings.HasPrefix(kv, config.Prefix)
	})
}

// printAsk asks the warehouse a ready question and shows the answer.
func (d *demoCommand) printAsk(ctx context.Context, name string, params ...string) error {
	q, err := answer.Find(name, params)
	if err != nil {
		return err
	}
	table, err := answer.FindFormat("table")
	if err != nil {
		return err
	}
	q.Trap = "" // do not show how the answer is misread: this would fill the screen, and the page and query show it
	c := &queryCommand{call: d.call, rows: -1, width: demoWidth}
	if err := c.query(ctx, q, table); err != nil {
		return err
	}
	_, err = fmt.Fprintln(d.stdout)
	return err
}

// demoWidth is the width of the demo's tables without a terminal.
const demoWidth = 120
