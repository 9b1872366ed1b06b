package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/output"
	"spendsync/cmd/spendsync/answer"
	"spendsync/cmd/spendsync/job"
	"spendsync/extract/adsim"
	"spendsync/load/duck"
	"spendsync/schema"
)

// demoCommand is "demo".
type demoCommand struct {
	app  *app
	dir  string
	rows int // a day
}

func newDemoCommand(a *app) *cobra.Command {
	d := &demoCommand{app: a, dir: "demo-data", rows: 2500}
	cmd := &cobra.Command{
		Use: "demo", Short: "Show the whole job on a simulated account; needs nothing",
		Example: "  spendsync demo\n  spendsync demo --dir /tmp/demo --rows-per-day 20000",
		Long: "Starts the simulated service in this process and syncs its account into ./demo-data as it was nine " +
			"days ago, an hour later,\n" +
			"when people had changed settings, and now, when the service has restated days. Then it asks the " +
			"warehouse a few questions.\n" +
			"The sync is the same as ever; only its address and its clock are others.",
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&d.dir, "dir", d.dir, "folder to sync into")
	cmd.Flags().IntVar(&d.rows, "rows-per-day", d.rows, "about how many rows the simulated report has a day")
	return cmd
}

func (d *demoCommand) run(ctx context.Context) error {
	service := adsim.New(adsim.Config{RowsPerDay: d.rows, RateLimit: -1})
	url, stop, err := serve(service)
	if err != nil {
		return err
	}
	defer stop()
	d.app.environ = append(withoutOurs(d.app.environ), demoVariables(url, d.dir)...)
	if err := d.app.setUp(ctx); err != nil {
		return err
	}
	if err := d.syncs(ctx, service, url); err != nil {
		return err
	}
	fmt.Fprintln(d.app.stdout)
	if err := d.printAsk(ctx, "which_campaigns_pay", "rows=4"); err != nil {
		return err
	}
	return d.printGoOn()
}

// printGoOn prints commands for looking further. They work exactly as printed: the program may not
// be on the path.
func (d *demoCommand) printGoOn() error {
	full, err := filepath.Abs(d.dir)
	if err != nil {
		return err
	}
	program := "spendsync"
	if _, err := exec.LookPath(program); err != nil {
		if program, err = os.Executable(); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(d.app.stdout, `Go on in this shell:
  export SPENDSYNC_DATA_DIR=%[2]s
  %[1]s query        what can be asked by name, such as last_week
  %[1]s status       coverage as a calendar, and the last run
  %[1]s report       one HTML page to look at
  duckdb -readonly %[3]s
`, shellQuote(program), shellQuote(full), shellQuote(filepath.Join(full, duck.FileName)))
	return err
}

// plainPath needs no quotes in a shell.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./+:@%=-]+$`)

func shellQuote(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// demoVariables configure a sync of the simulated account at url into dir.
func demoVariables(url, dir string) []string {
	variables := []string{
		"ADVERTISER_URL=" + url + adsim.APIPrefix, "API_KEY=" + adsim.DefaultKey,
		"REPORT_URL=" + url + adsim.ReportPrefix, "REPORT_USER=" + adsim.DefaultUser,
		"REPORT_PASSWORD=" + adsim.DefaultPassword, "DATA_DIR=" + dir, "ACCOUNT=demo",
		"LOG_FORMAT=text", "LOG_LEVEL=warn", "REQUESTS_PER_MINUTE=120",
	}
	for i := range variables {
		variables[i] = config.Prefix + variables[i]
	}
	return variables
}

// syncs syncs the account as of nine days ago; an hour later, after settings have changed; and
// now, after reviews were decided and two days restated.
func (d *demoCommand) syncs(ctx context.Context, service *adsim.Service, url string) error {
	out, today := d.app.stdout, d.app.now()
	sync := func(at time.Time) error {
		service.SetNow(at)
		d.app.now = func() time.Time { return at }
		return (&runner{d.app}).runJob(ctx, job.Job.Sync)
	}
	then := today.AddDate(0, 0, -9)
	fmt.Fprintf(out, "A simulated account at %s. Syncing into %s as if it were %s:\n", url, d.dir,
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
		yesterday - 10: {Kind: "delete", Row: d.rows / 2}} {
		if _, err := service.Restate(day.String(), r); err != nil {
			return err
		}
	}
	return sync(today)
}

// meddle changes settings as people at the dashboard do. The simulated spend ignores the changes,
// so that there is something to find. It returns the creatives that wait for review.
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
func (d *demoCommand) printAsk(ctx context.Context, name string, params ...string) (err error) {
	q, err := answer.Find(name, params)
	if err != nil {
		return err
	}
	result, err := duck.Ask(ctx, d.dir, q.Question, d.app.loadOptions().DuckDB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	n := answer.Answer{Result: result, Question: q, Width: demoWidth}
	n.Question.Trap = "" // the page and query say how an answer is misread; here it would fill the screen
	if output.IsTerminal(d.app.stdout) {
		n.Width = output.TerminalWidth(d.app.stdout)
	}
	if err := n.Write(ctx, d.app.stdout, "table"); err != nil {
		return err
	}
	_, err = fmt.Fprintln(d.app.stdout)
	return err
}

// demoWidth is the width of the demo's tables without a terminal.
const demoWidth = 120
