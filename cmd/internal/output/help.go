package output

import (
	"cmp"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/wrap"
)

// WrapHelp makes a command and the commands below it print their help in the width of a terminal.
func WrapHelp(root *cobra.Command, out io.Writer) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		help := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)) + "\n\n" + cmd.UsageString()
		_, _ = io.WriteString(out, wrap.Help(help, HelpWidth(out))) // a closed terminal shows no error either
	})
}

// HelpWidth is how many columns a help text may have: those of the terminal, but at most 120; elsewhere 80.
func HelpWidth(out io.Writer) int { return min(TerminalWidth(out), 120) }
