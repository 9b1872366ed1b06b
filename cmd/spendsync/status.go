package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/notice"
	"spendsync/load"
	"spendsync/load/commit"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// accountStatus is what 'status --json' prints about one account.
type accountStatus struct {
	Account     string                `json:"account"`
	LastRun     *schema.Run           `json:"last_run"` // runs that only read the operator's own files do not count
	OwnRun      *schema.Run           `json:"last_run_of_own_files,omitempty"`
	Pinned      string                `json:"pinned_account"` // the service's name of the account, if known
	FreshestDay *schema.DayCoverage   `json:"newest_complete_day"`
	States      map[string]int        `json:"states"`
	AtRisk      []schema.Date         `json:"days_at_risk"`
	Lost        []schema.Date         `json:"days_lost"`
	Coverage    []schema.DayCoverage  `json:"coverage"`
	Notes       []manifest.Note       `json:"notes"`
	Unknown     []schema.UnknownField `json:"unknown_fields"`
	Unread      []schema.EntityRead   `json:"unread_settings"`
	Quarantined []quarantinedDay      `json:"days_in_quarantine"`
}

// quarantinedDay is a day whose replies do not prove that it is complete. The replies are kept for a later version.
type quarantinedDay struct {
	Day     schema.Date    `json:"day"`
	ReadAt  schema.Instant `json:"read_at"`
	Version string         `json:"version"` // version of spendsync that could not prove the day
	Reason  string         `json:"reason"`
	// IsNothing is true if the service answered that it has nothing for the day. No later version can prove the day
	// from such replies.
	IsNothing bool `json:"is_nothing,omitzero"`
}

type storeStatus struct {
	DataDir     string          `json:"data_dir"`
	Generation  int64           `json:"generation"`
	PublishedAt schema.Instant  `json:"published_at"`
	Accounts    []accountStatus `json:"accounts"`
	// Unfinished is a commit that started and did not end, or nil if there is no such commit.
	Unfinished *commit.Unfinished `json:"unfinished_commit,omitempty"`
	// Pushed has the last generation that was pushed to each bucket.
	Pushed map[string]int64 `json:"pushed_generations,omitempty"`
}

// statusCommand is "status".
type statusCommand struct {
	*call
	weeks int
	from  string
}

func newStatusCommand(a *call) *cobra.Command {
	c := &statusCommand{call: a, weeks: 7}
	cmd := &cobra.Command{
		Use: "status", Short: "Show coverage as a calendar, freshness, and days at risk",
		Example: "  spendsync status\n  spendsync status --weeks 0\n" +
			"  spendsync status --from s3://acme-spend/store\n" +
			"  spendsync status --json | jq '.accounts[].days_at_risk'",
		Long: `Shows what is published, from the manifest and the ledger alone. It takes no lock and asks the service
nothing.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	addFrom(cmd, &c.from)
	cmd.Flags().IntVar(&c.weeks, "weeks", c.weeks, "weeks of the calendar to show; 0 shows all")
	return cmd
}

func (c *statusCommand) run(ctx context.Context) error {
	if c.weeks < 0 {
		return exit.Advise(exit.Usagef("--weeks %d: must be a whole number from 0", c.weeks),
			"give how many weeks to show; 0 shows all")
	}
	dir, err := c.openStore(ctx, c.from)
	if err != nil {
		return err
	}
	st, err := c.status(dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	c.print(&text, st)
	return c.answer(st, cli.WrapText(text.String(), cli.TextWidth(c.stdout)))
}

func (c *statusCommand) status(dir string) (*storeStatus, error) {
	unfinished, err := commit.Find(dir)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Read(dir)
	if errors.Is(err, durable.ErrEmpty) && unfinished != nil {
		return nil, fmt.Errorf("%w, and the commit of the first generation has not ended: the next 'spendsync sync' "+
			"ends it, or says what stands in its way", err)
	}
	if err != nil {
		return nil, err
	}
	st := &storeStatus{DataDir: dir, Generation: m.Generation, PublishedAt: m.PublishedAt, Unfinished: unfinished}
	if err := notice.Read(durable.OS, dir, notice.Pushed, &st.Pushed); err != nil {
		return nil, err
	}
	if only := c.account; only != "" && m.Accounts[only] == nil {
		return nil, warehouseErr(&duck.AccountError{Account: only, Has: m.AccountNames()}, dir)
	}
	for _, name := range m.AccountNames() {
		if c.account != "" && name != c.account {
			continue
		}
		s, err := c.ofAccount(dir, name, m.Accounts[name])
		if err != nil {
			return nil, err
		}
		st.Accounts = append(st.Accounts, s)
	}
	return st, nil
}

// ofAccount returns the status of one account.
func (c *statusCommand) ofAccount(dir, name string, known *manifest.Account) (s accountStatus, err error) {
	s = accountStatus{Account: name, States: map[string]int{}, Coverage: known.Coverage(name, c.now()),
		Unknown: known.Unknown, Unread: known.UnreadRows(name), Pinned: known.Pinned, Notes: known.Notes}
	for i, c := range s.Coverage {
		s.States[c.State]++
		if c.State == schema.StateComplete || c.State == schema.StateFinal {
			s.FreshestDay = &s.Coverage[i]
		}
		if c.DaysUntilUnreachable == 0 && (c.State == schema.StateLost || c.State == schema.StatePartial) {
			s.Lost = append(s.Lost, c.ReportDate)
		}
	}
	for _, c := range job.AtRisk(s.Coverage) {
		s.AtRisk = append(s.AtRisk, c.ReportDate)
	}
	isOwn := func(run *schema.Run) bool { return run.Command == job.OwnFiles }
	// An account without own files has no run that reads them, and the search for such a run would read the whole
	// ledger.
	if known.Own.Inputs != "" || len(known.Own.Found) > 0 {
		if s.OwnRun, err = manifest.LastRunThat(dir, name, isOwn); err != nil {
			return s, err
		}
	}
	s.LastRun, err = manifest.LastRunThat(dir, name, func(run *schema.Run) bool { return !isOwn(run) })
	if err != nil {
		return s, err
	}
	kept, err := load.Quarantined(dir, name)
	if err != nil {
		return s, err
	}
	for _, d := range kept {
		if d.IsNothing() && d.Date < known.Since { // the day precedes the account's first day
			continue
		}
		s.Quarantined = append(s.Quarantined, quarantinedDay{d.Date, d.ReadAt, d.Version, d.Reason, d.IsNothing()})
	}
	return s, nil
}

// maxUnread is the maximum number of unread settings that are named in the output of status.
const maxUnread = 3

// dayMark shows a day's state by a sign and by a color. The sign alone is sufficient without colors.
type dayMark struct {
	state, sign, means string
	color              text.Color
}

func (m dayMark) shown(color bool) string {
	if color {
		return m.color.Sprint(m.sign)
	}
	return m.sign
}

var dayMarks = []dayMark{
	{schema.StateFinal, "■", "final: complete, beyond the reach", text.FgHiGreen},
	{schema.StateComplete, "●", "complete, may be restated", text.FgGreen},
	{schema.StateOpen, "◐", "open: the day is not over", text.FgCyan},
	{schema.StatePartial, "◔", "partial: read before it was over, or with a row that was refused", text.FgYellow},
	{schema.StateMissing, "○", "missing, still readable", text.FgHiYellow},
	{schema.StateLost, "✗", "lost", text.FgRed},
}

func (c *statusCommand) print(w io.Writer, st *storeStatus) {
	color := cli.IsTerminal(c.stdout)
	ago := func(at schema.Instant) string { return cli.Age(c.now().Sub(at.Time())) + " ago" }
	fact := func(about, format string, args ...any) {
		fmt.Fprintf(w, "  %-19s  %s\n", about, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(w, "%s, generation %d, published %s\n", st.DataDir, st.Generation, ago(st.PublishedAt))
	if u := st.Unfinished; u != nil {
		fmt.Fprintf(w, "\nUNFINISHED COMMIT  generation %d, begun %s: %s not in their places yet, so some files may "+
			"be newer than the manifest. An active run will finish it; otherwise run 'spendsync sync', which finishes "+
			"it or names the obstacle\n", u.Generation, ago(u.Since), cli.Count(len(u.Left), "file"))
	}
	for address, generation := range st.Pushed {
		if strings.HasPrefix(c.cfg.Bucket, address) && generation < st.Generation {
			fmt.Fprintf(w, "\nNOT PUSHED  the last push of this store to %s was of generation %d: 'spendsync push' "+
				"pushes this one, or names the obstacle\n", address, generation)
		}
	}
	for _, s := range st.Accounts {
		fmt.Fprintf(w, "\nAccount %s\n\n", s.Account)
		printCalendar(w, s.Coverage, c.weeks, color)
		fmt.Fprintln(w)
		for _, m := range dayMarks {
			if n := s.States[m.state]; n > 0 {
				fmt.Fprintf(w, "  %s %4d  %s\n", m.shown(color), n, m.means)
			}
		}
		fmt.Fprintln(w)
		if d := s.FreshestDay; d != nil {
			fact("newest complete day", "%s, read %s", d.ReportDate, ago(d.LastReadAt.V))
		}
		if r := s.LastRun; r != nil {
			fact("last run", "%s, exit %d: %s", ago(r.FinishedAt), r.ExitCode, r.Message.V)
			if r.IdentityProof.Valid {
				fact("proven by", "%s", r.IdentityProof.V)
			}
		}
		if r := s.OwnRun; r != nil && (r.Published || r.ExitCode != exit.OK) {
			fact("your own files", "%s, exit %d: %s", ago(r.FinishedAt), r.ExitCode, r.Message.V)
		}
		if s.Pinned != "" {
			fact("advertiser account", "%s%s", s.Pinned, twins(st.Accounts, s))
		}
		if len(s.AtRisk) > 0 {
			fact("AT RISK", "%s: unproven, and leaving the reach within %d days", cli.Days(s.AtRisk), job.RiskDays)
		}
		if len(s.Lost) > 0 {
			fact("lost", "%s", cli.Days(s.Lost))
		}
		tellQuarantine(fact, s.Quarantined)
		for _, n := range s.Notes {
			fact("note", "%s, %s: %s", n.Name, noteState(n, c.call), cli.OneLine(n.Message))
		}
		for i, u := range s.Unread {
			if i == maxUnread {
				fact("unread settings", "%d more: FROM ops.entity_read", len(s.Unread)-i)
				break
			}
			means := "the last known value stands"
			if u.Message.V == job.NeverRead {
				means = job.NeverRead
			}
			fact("unread setting", "%s, since %s: %s", strings.TrimSpace(u.EntityType+" "+u.EntityID+" "+u.Field),
				u.FirstSeenAt.Time().In(schema.Chicago()).Format("2006-01-02 15:04"), means)
		}
		for _, u := range s.Unknown {
			if u.Stream == "spend_report" { // the fields of other streams are described only in part
				fact("unknown field", "%s %s (%s), kept in the raw replies", u.Stream, u.Path, u.SampleType)
			}
		}
	}
}

// tellQuarantine prints the days in quarantine, whose replies are kept for a later version, and the days that the
// service refuses.
func tellQuarantine(fact func(about, format string, args ...any), kept []quarantinedDay) {
	days := map[bool][]schema.Date{}
	last := map[bool]quarantinedDay{}
	for _, q := range kept {
		days[q.IsNothing], last[q.IsNothing] = append(days[q.IsNothing], q.Day), q
	}
	if q, ok := last[false]; ok {
		fact("in quarantine", "%s; after an update run 'spendsync repair replay'. %s by version %s: %s",
			cli.Days(days[false]), q.Day, q.Version, cli.OneLine(q.Reason))
	}
	if q, ok := last[true]; ok {
		fact("refused", "%s; ask the service why, each sync asks again. %s: %s", cli.Days(days[true]), q.Day,
			cli.OneLine(q.Reason))
	}
}

// twins returns a clause that names the other accounts in the store whose numbers are of the same advertiser, or "" if
// there is none.
func twins(all []accountStatus, of accountStatus) string {
	var names []string
	for _, s := range all {
		if s.Account != of.Account && s.Pinned == of.Pinned {
			names = append(names, s.Account)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", which is here as " + strings.Join(names, ", ") + ", too: sums over all accounts count it twice"
}

// printCalendar prints a line for each week, Monday first.
func printCalendar(w io.Writer, coverage []schema.DayCoverage, weeks int, color bool) {
	if len(coverage) == 0 {
		return
	}
	byDay := map[schema.Date]schema.DayCoverage{}
	for _, c := range coverage {
		byDay[c.ReportDate] = c
	}
	monday := func(d schema.Date) schema.Date { return d - schema.Date((d.Weekday()+6)%7) }
	first, last := monday(coverage[0].ReportDate), coverage[len(coverage)-1].ReportDate
	if weeks > 0 {
		first = max(first, monday(last)-schema.Date(7*(weeks-1)))
	}
	fmt.Fprintf(w, "             %s\n", "Mo    Tu    We    Th    Fr    Sa    Su")
	for m := first; m <= last; m += 7 {
		var b strings.Builder
		fmt.Fprintf(&b, "  %s  ", m.Start().Format("2006 Jan"))
		for d := m; d < m+7; d++ {
			c, ok := byDay[d]
			if !ok {
				b.WriteString("      ")
				continue
			}
			for _, mark := range dayMarks {
				if mark.state == c.State {
					fmt.Fprintf(&b, "%2d %s  ", d.Start().Day(), mark.shown(color))
				}
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
