package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/check"
	"spendsync/cmd/spendsync/explain"
)

// checkCommand is "check".
type checkCommand struct{ *call }

func newCheckCommand(a *call) *cobra.Command {
	c := &checkCommand{a}
	return &cobra.Command{
		Use: "check", Short: "Check that a sync can work here: variables, credentials, clock, volume",
		Long: `Checks all that a sync needs, and says of each thing whether it is ok, and if not, what to do. It is a
sync of one finished day and of one campaign of each status into a temporary folder, which is removed, and it reports
what it understood of the service. In the store it writes, locks and renames one empty file, and leaves nothing. It
sends about twenty requests to the service, and one more for every hundred campaigns; none of them changes anything.

Exit 0: a sync ends with 0, too; 2: the configuration or this machine; 3: credentials, or two accounts; 4: a sync
stores the report and lacks something else; 5: the service cannot be reached; 6: it answers outside its contract; 8:
the store is damaged. Of several the first line decides.`,
		Example: "  spendsync check\n  spendsync check --json | jq -r '.checks[] | select(.state != \"ok\") | .do'",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
}

// run makes the checks and prints them.
func (c *checkCommand) run(ctx context.Context) error {
	err := c.setUp(ctx)
	o := check.Options{Config: c.cfg, ConfigErr: err, Client: c.clientOptions(), Now: c.now}
	if err == nil {
		o.Job = (&runner{c.call}).newJob()
	}
	answer := check.Run(ctx, o)
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.endCheck(answer)
}

// endCheck prints the findings and returns an error with the exit code of the first failed check.
func (c *checkCommand) endCheck(answer check.Findings) error {
	if c.json {
		if err := cli.WriteJSON(c.stdout, answer); err != nil {
			return err
		}
	} else {
		printChecks(c.stdout, answer.Checks, cli.TextWidth(c.stdout))
	}
	n := map[string]int{}
	for _, l := range answer.Checks {
		n[l.State]++
	}
	happened := fmt.Sprintf("%d checks: %d ok, %s, %d failed", len(answer.Checks), n[check.OK],
		cli.Count(n[check.Warning], "warning"), n[check.Failed])
	if answer.ExitCode == exit.OK {
		fmt.Fprintln(c.stderr, "spendsync:", happened)
		return nil
	}
	m := explain.Sentence(happened, answer.ExitCode)
	for _, l := range answer.Checks {
		if l.State == check.Failed {
			m.Happened = fmt.Sprintf("%s: %s; %s", l.Check, l.Found, happened)
			m.Safe, m.Do = "check changes nothing", l.Do
			if cli.IsTerminal(c.stdout) { // the terminal already shows the full text
				m.Happened, m.Do = fmt.Sprintf("%s; the first is the %s", happened, l.Check), "what its line says"
			}
			break
		}
	}
	c.lastLines(slog.LevelError, m, answer.ExitCode)
	return &exit.Outcome{Code: answer.ExitCode, Happens: happened}
}

func printChecks(w io.Writer, lines []check.Line, width int) {
	wide := 0
	for _, l := range lines {
		wide = max(wide, len(l.Check))
	}
	column := len("warning  ") + wide + 2
	for _, l := range lines {
		fmt.Fprint(w, cli.Entry(fmt.Sprintf("%-7s  %s", l.State, l.Check), l.Found, column, width))
		if l.Do != "" {
			fmt.Fprint(w, cli.Entry("", "> "+l.Do, column, width))
		}
		for _, line := range l.Paste {
			fmt.Fprintln(w, line)
		}
	}
}
