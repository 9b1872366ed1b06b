package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

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
		if width, err := widthOf(f); err == nil && width > 0 {
			return width
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

// ShowsColor reports whether colors help: on a terminal that supports them, unless NO_COLOR is set
// (https://no-color.org).
func ShowsColor(w io.Writer, environ []string) bool {
	noColor, name := valueOf(environ, "NO_COLOR"), valueOf(environ, "TERM")
	return IsTerminal(w) && noColor == "" && name != "" && name != "dumb"
}

// valueOf is a variable's value; the last one counts.
func valueOf(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// Paint colors a text, if colors help and it has a color.
func Paint(s string, c text.Color, color bool) string {
	if !color || c == 0 || s == "" {
		return s
	}
	return c.EscapeSeq() + s + text.Reset.EscapeSeq()
}

func widthOf(f *os.File) (int, error) {
	width, _, err := term.GetSize(int(f.Fd()))
	return min(width, math.MaxInt16), err
}
