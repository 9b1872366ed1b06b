package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"spendsync/load/durable"
)

// WriteJSON writes an answer for programs: one indented value and a newline. As with [QuietPipe], a closed pipe is not
// an error.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return QuietPipe(e.Encode(v))
}

// QuietPipe drops the error of a write to a pipe whose reader (for example head) has ended. All other errors that name
// a file become storage errors.
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

// IsClosedPipe reports whether a write failed because the reader of the pipe, for example head, has ended. It is false
// for errors of network connections.
func IsClosedPipe(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && errors.Is(path, syscall.EPIPE)
}

// IsTerminal reports whether the output is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth returns the terminal's width in columns, or 80 if the width is not known.
func TerminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return min(width, math.MaxInt16)
		}
	}
	return 80
}

// maxText is the maximum width of wrapped texts in columns, even if the terminal is wider.
const maxText = 120

// TextWidth returns the width for wrapping texts: the width of the terminal, but at most [maxText]. If the output is
// not a terminal, it returns a width beyond any line, so that grep and awk see whole lines.
func TextWidth(w io.Writer) int {
	if !IsTerminal(w) {
		return math.MaxInt16
	}
	return min(TerminalWidth(w), maxText)
}

// WriteHelp writes a help text, wrapped to the width of the terminal, but at most [maxText] columns. If the output is
// not a terminal, the width is 80.
func WriteHelp(w io.Writer, help string) error {
	_, err := io.WriteString(w, wrapHelp(help, min(TerminalWidth(w), maxText)))
	return QuietPipe(err)
}

// FitHelp makes a command and its subcommands print their help by [WriteHelp].
func FitHelp(root *cobra.Command, out io.Writer) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		// An error of this write is ignored: it could not be shown either.
		_ = WriteHelp(out, strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))+"\n\n"+cmd.UsageString())
	})
}

// NewTable returns a table of aligned columns with a line below the header; Render writes it.
func NewTable(out io.Writer) table.Writer {
	w := table.NewWriter()
	w.SetOutputMirror(out)
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true, SeparateColumns: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", ""
	style.Box.MiddleVertical, style.Box.MiddleSeparator, style.Box.TopSeparator = "  ", "──", "──"
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	return w
}

// Version returns the version of this binary: the version that the linker set for a release, else the commit.
func Version(linked string) string {
	if b, ok := debug.ReadBuildInfo(); ok && linked == "" {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "devel-" + s.Value[:12]
			}
		}
	}
	return cmp.Or(linked, "devel")
}
