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

	"spendsync/cmd/spendsync/answer"
	"spendsync/cmd/spendsync/config"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/output"
	"spendsync/extract/adsim"
	"spendsync/load/duck"
	"spendsync/schema"
)

func (a *app) demoCommand() *cobra.Command {
	dir, rows := "demo-data", 2500
	cmd := &cobra.Command{
		Use: "demo", Short: "Show the whole job on a simulated account; needs nothing",
		Example: "  spendsync demo\n  spendsync demo --dir /tmp/demo --rows-per-day 20000",
		Long: "Starts the simulated service in this process and syncs its account into ./demo-data as it was nine " +
			"days ago, an hour later,\n" +
			"when people had changed settings, and now, when the service has restated days. Then it asks the " +
			"warehouse a few questions.\n" +
			"The sync is the same as ever; only its address and its clock are others.",
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
		config.Prefix+"ADVERTISER_URL="+url+adsim.APIPrefix, config.Prefix+"API_KEY="+adsim.DefaultKey,
		config.Prefix+"REPORT_URL="+url+adsim.ReportPrefix, config.Prefix+"REPORT_USER="+adsim.DefaultUser,
		config.Prefix+"REPORT_PASSWORD="+adsim.DefaultPassword,
		config.Prefix+"DATA_DIR="+dir, config.Prefix+"ACCOUNT=demo", config.Prefix+"LOG_FORMAT=text", config.Prefix+
			"LOG_LEVEL=warn", config.Prefix+"REQUESTS_PER_MINUTE=120")
	if err := a.setUp(ctx); err != nil {
		return err
	}
	out := a.stdout
	today := a.now()
	sync := func(at time.Time) error {
		service.SetNow(at)
		a.now = func() time.Time { return at }
		return a.runJob(ctx, job.Job.Sync)
	}
	then := today.AddDate(0, 0, -9)
	fmt.Fprintf(out, "A simulated account at %s. Syncing into %s as if it were %s:\n", url, dir,
		then.Format("Monday, 2 January"))
	if err := sync(then); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nSomebody changes a bid, a limit, pauses a campaign and sends creatives to review. Syncing "+
		"an hour later:")
	reviewed, err := meddle(service)
	if err != nil {
		return err
	}
	if err := sync(then.Add(time.Hour)); err != nil {
		return err
	}
	yesterday := schema.DateOf(today) - 1
	fmt.Fprintf(out, "\nNine days pass; the reviews are decided, and the service restates %s and %s. Syncing now:\n",
		yesterday-11, yesterday-10)
	if err := decide(service, reviewed); err != nil {
		return err
	}
	for day, r := range map[schema.Date]adsim.Restatement{yesterday - 11: {Kind: "multiply", Percent: 104},
		yesterday - 10: {Kind: "delete", Row: rows / 2}} {
		if _, err := service.Restate(day.String(), r); err != nil {
			return err
		}
	}
	if err := sync(today); err != nil {
		return err
	}
	fmt.Fprintln(out)
	st, err := a.status()
	if err != nil {
		return err
	}
	a.printStatus(st, 7)
	for _, ask := range [][]string{{"spend_by_day"}, {"top_campaigns", "rows=5"}, {"sources_to_block", "rows=5"},
		{"restated"}, {"settings_changed"}} {
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

// meddle changes settings as people at the dashboard do. The simulated spend goes
// on as if they had not, so that there is something to be found out. It returns
// the creatives that wait for review.
func meddle(service *adsim.Service) (reviewed []string, err error) {
	sets := []map[string]any{{"default_bid": "1.25"}, {"daily_spend_limit": "500"}, {"status": "paused"}}
	var changes []adsim.Change
	for _, id := range service.CampaignIDs() {
		s, err := service.Settings(id)
		if err != nil {
			return nil, err
		}
		if s.Status != "active" || len(changes) == len(sets) {
			continue
		}
		changes = append(changes, adsim.Change{Campaign: id, Set: sets[len(changes)], Force: true})
		for _, c := range s.Creatives {
			if c.Status == "active" && len(reviewed) < len(changes) {
				reviewed = append(reviewed, c.CreativeID)
			}
		}
	}
	for _, id := range reviewed {
		changes = append(changes, adsim.Change{Creative: id, Set: map[string]any{"status": "pending_review"},
			Force: true})
	}
	for _, c := range changes {
		if err := service.Change(c); err != nil {
			return nil, err
		}
	}
	return reviewed, nil
}

// decide ends the reviews, one this way and the next that way.
func decide(service *adsim.Service, reviewed []string) error {
	for i, id := range reviewed {
		status := []string{"active", "rejected"}[i%2]
		if err := service.Change(adsim.Change{Creative: id, Set: map[string]any{"status": status},
			Force: true}); err != nil {
			return err
		}
	}
	return nil
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
		if !strings.HasPrefix(kv, config.Prefix) {
			rest = append(rest, kv)
		}
	}
	return rest
}

// printAsk asks the warehouse a ready question and shows the answer.
func (a *app) printAsk(ctx context.Context, dir, name string, params ...string) (err error) {
	q, err := answer.Find(name, params)
	if err != nil {
		return err
	}
	result, err := duck.Ask(ctx, dir, q.Question, a.loadOptions().DuckDB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	fmt.Fprintln(a.stdout)
	n := answer.Answer{Result: result, Question: q}
	if output.IsTerminal(a.stdout) {
		n.Width = output.TerminalWidth(a.stdout)
	}
	return n.Write(ctx, a.stdout, "table")
}
