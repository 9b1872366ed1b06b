package output

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"spendsync/cmd/internal/wrap"
	"spendsync/load/durable"
)

// JSON writes an answer for programs: one indented value and a newline. As with [QuietPipe], a closed pipe is not an
// error.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return QuietPipe(e.Encode(v))
}

// QuietPipe ends without an error when the reader closes the pipe, as head does. Any other write error is a storage
// error.
func QuietPipe(err error) error {
	var path *fs.PathError
	switch {
	case IsClosedPipe(err):
		return nil
	case errors.As(err, &path):
		return fmt.Errorf("%w: %w", err, durable.ErrStorage)
	}
	return err
}

// IsClosedPipe reports whether a write failed because the reader of the output closed it. A closed connection is
// another error.
func IsClosedPipe(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && errors.Is(path, syscall.EPIPE)
}

// IgnoreBrokenPipe makes a write to a closed pipe an error: by default it ends
// the process with a signal.
func IgnoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }

// IsTerminal reports whether the output is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth is in columns; 80 if it is not known.
func TerminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return min(width, math.MaxInt16)
		}
	}
	return 80
}

// TextWidth returns the width of texts: that of the terminal, but at most 120 columns. Without a terminal, lines are
// not wrapped, for grep and awk read them.
func TextWidth(w io.Writer) int {
	if !IsTerminal(w) {
		return math.MaxInt16
	}
	return min(TerminalWidth(w), 120)
}

// HelpWidth is how many columns a help text may have: those of the terminal, but at most 120; elsewhere 80.
func HelpWidth(out io.Writer) int { return min(TerminalWidth(out), 120) }

// WrapHelp makes a command and the commands below it print their help in the width of a terminal.
func WrapHelp(root *cobra.Command, out io.Writer) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		help := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)) + "\n\n" + cmd.UsageString()
		_, _ = io.WriteString(out, wrap.Help(help, HelpWidth(out))) // a closed terminal shows no error either
	})
}
