package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/metrics"
)

// newConfigTopic returns the help topic "help config", which describes every variable and the exit codes.
func newConfigTopic(t *terminal) *cobra.Command {
	show := func() error { return cli.WriteHelp(t.stdout, configHelp()) }
	cmd := &cobra.Command{
		Use: "config", Short: "The variables and the exit codes", Long: configHelp(),
		Example:    "  spendsync help config",
		SuggestFor: []string{"codes", "exit", "exits", "exit-codes", "variables", "environment", "env", "metrics"},
		RunE:       func(*cobra.Command, []string) error { return show() },
	}
	cmd.SetHelpFunc(func(*cobra.Command, []string) { _ = show() })
	return cmd
}

func configHelp() string {
	var b strings.Builder
	b.WriteString("Variables (an empty one counts as unset). They are read from a file first, " + config.FileName +
		" in the working folder or the one that --config names, with a line NAME=value each; the environment wins " +
		"over the file, and --account and --data-dir win over both. A secret may be in a file, which NAME_FILE " +
		"names:\n\n")
	for _, v := range config.Variables() {
		or := ""
		if v.IsSecret {
			or = " or " + config.Prefix + v.Name + "_FILE"
		}
		fmt.Fprintf(&b, "  %s%s%s\n      %s", config.Prefix, v.Name, or, v.Doc)
		switch {
		case strings.HasPrefix(v.Default, "required"):
			fmt.Fprintf(&b, " (%s)", v.Default)
		case v.Default != "":
			fmt.Fprintf(&b, " (default: %s)", v.Default)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nMetrics (" + config.Prefix + "METRICS_FILE, " + config.Prefix + "PUSHGATEWAY_URL):\n\n" +
		metrics.Help())
	b.WriteString("\nMetric of verify --from, whose file lies beside that of sync (FILE-verify.prom for " +
		"FILE.prom):\n\n" +
		metrics.BackupHelp())
	b.WriteString("\nExit codes:\n\n" + exit.Table())
	return b.String()
}
