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
	"syscall"

	"golang.org/x/term"

	"spendsync/load/durable"
)

// JSON answers a program: one indented value and a newline.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// QuietPipe ends quietly when whoever reads the answer has read enough, such as
// head. Another trouble of writing is one of storage.
func QuietPipe(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, syscall.EPIPE):
		return nil
	case errors.As(err, &path):
		return fmt.Errorf("%w: %w", err, durable.ErrStorage)
	}
	return err
}

// IgnoreBrokenPipe makes a write to a closed pipe an error: by default it ends
// the process with a signal.
func IgnoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }

// IsTerminal says whether a person looks at what is written.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth is in columns; a terminal that does not say has 80.
func TerminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, err := widthOf(f); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

func widthOf(f *os.File) (int, error) {
	width, _, err := term.GetSize(int(f.Fd()))
	return min(width, math.MaxInt16), err
}
