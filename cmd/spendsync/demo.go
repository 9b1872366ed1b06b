package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/schema"
)

func (a *app) demoCommand() *cobra.Command {
	dir, rows := "demo-data", 2500
	cmd := &cobra.Command{
		Use: "demo", Short: "Show the whole job on a simulated account; needs nothing",
		Example: "  spendsync demo\n  spendsync demo --dir /tmp/demo --rows-per-day 20000",
		Long: "Starts the simulated service in this process, syncs its account into ./demo-data, lets the service restate some days,\n" +
			"syncs again, and asks the warehouse a few questions. The sync is the same as ever; only its address is another.",
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), dir, rows) },
	}
	cmd.Flags().StringVar(&dir, "dir", dir, "folder to sync into")
	cmd.Flags().IntVar(&rows, "rows-per-day", rows, "about how many rows the simulated report has a day")
	return cmd
}

func (a *app) demo(ctx context.Context, dir string, rows int) error {
	service := adsim.New(adsim.Config{RowsPerDay: rows, RateLimit: -1})
	url, stop, err := serve(service)
	if err != nil {
		return err
	}
	defer stop()
	a.environ = append(withoutOurs(a.environ),
		envPrefix+"ADVERTISER_URL="+url+adsim.APIPrefix, envPrefix+"API_KEY="+adsim.DefaultKey,
		envPrefix+"REPORT_URL="+url+adsim.ReportPrefix, envPrefix+"REPORT_USER="+adsim.DefaultUser, envPrefix+"REPORT_PASSWORD="+adsim.DefaultPassword,
		envPrefix+"DATA_DIR="+dir, envPrefix+"ACCOUNT=demo", envPrefix+"LOG_FORMAT=text", envPrefix+"LOG_LEVEL=warn", envPrefix+"REQUESTS_PER_MINUTE=120")
	if err := a.setUp(ctx); err != nil {
		return err
	}
	out := a.stdout
	sync := func() error {
		if err := a.setUp(ctx); err != nil { // a run of its own
			return err
		}
		return a.sync(ctx, "sync", func(s *load.Store) (plan, error) {
			return planDays(a.cfg.Account, a.now(), s.Account(), a.planOptions()), nil
		})
	}
	fmt.Fprintf(out, "A simulated account at %s; its report reaches back to %s. Syncing into %s:\n", url, planReach(a.now()), dir)
	if err := sync(); err != nil {
		return err
	}
	yesterday := schema.DateOf(a.now()) - 1
	fmt.Fprintf(out, "\nThe service restates %s: a row with more conversions, a row gone. Somebody raises a bid. Syncing again:\n", yesterday)
	if err := raiseBid(service); err != nil {
		return err
	}
	for _, r := range []adsim.Restatement{{Kind: "change", Row: rows / 4}, {Kind: "delete", Row: rows / 2}} {
		if _, err := service.Restate(yesterday.String(), r); err != nil {
			return err
		}
	}
	if err := sync(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	st, err := a.status()
	if err != nil {
		return err
	}
	a.printStatus(st, 7)
	for _, ask := range [][]string{{"spend_by_day"}, {"top_campaigns", "rows=5"}, {"sources_to_block", "rows=5"}, {"restated"}, {"settings_changed"}} {
		if err := a.printAsk(ctx, dir, ask[0], ask[1:]...); err != nil {
			return err
		}
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `
Now open it:
  duckdb -readonly %[1]s
  python3 -c "import duckdb; print(duckdb.connect('%[1]s', read_only=True).sql('FROM spend_daily LIMIT 5'))"
  duckdb -c "SELECT report_date, sum(spend) FROM read_parquet('%[2]s') GROUP BY 1 ORDER BY 1"
and look at it with: SPENDSYNC_DATA_DIR=%[3]s spendsync query | status | verify | plan | tables
`, filepath.Join(full, "warehouse.duckdb"), filepath.Join(full, "parquet", "spend_daily", "*", "*", "data.parquet"), dir)
	return nil
}

// raiseBid changes the newest active campaign as somebody at the dashboard might.
func raiseBid(service *adsim.Service) error {
	for _, id := range service.CampaignIDs() {
		s, err := service.Settings(id)
		if err != nil {
			return err
		}
		if s.Status == "active" {
			return service.Change(adsim.Change{Campaign: id, Set: map[string]any{"default_bid": "1.25"}, Force: true})
		}
	}
	return errors.New("the simulated account has no active campaign")
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

// withoutOurs drops our own variables: the demo runs on its own.
func withoutOurs(environ []string) []string {
	var rest []string
	for _, kv := range environ {
		if !strings.HasPrefix(kv, envPrefix) {
			rest = append(rest, kv)
		}
	}
	return rest
}

// printAsk asks the warehouse a ready question and shows the answer.
func (a *app) printAsk(ctx context.Context, dir, name string, params ...string) (err error) {
	q, err := a.question([]string{name}, queryFlags{params: params}, nil)
	if err != nil {
		return err
	}
	result, err := load.Ask(ctx, dir, q.Question, a.loadOptions())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	fmt.Fprintln(a.stdout)
	n := queryAnswer{result: result, question: q}
	if isTerminal(a.stdout) {
		n.width = terminalWidth(a.stdout)
	}
	return n.write(ctx, a.stdout, "table")
}
