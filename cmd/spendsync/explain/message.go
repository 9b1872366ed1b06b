package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/load/durable"
)

// Message describes the end of a command in three sentences.
type Message struct {
	Happened string
	Excerpt  string // lines that show where a mistake is, printed unchanged; may be empty
	Detail   string // the complete text of the error; not shown on a terminal, see [Message.Rest]
	Safe     string
	Do       string
}

// Error explains the error that ended a command with an exit code.
func Error(err error, code int) Message {
	f, about := factsOf(err), exit.About(code)
	var known cause
	if i := slices.IndexFunc(causes, func(c cause) bool { return c.is(f) }); i >= 0 {
		known = causes[i]
	}
	m := Message{Happened: cmp.Or(f.fill(known.happened), f.words["text"]),
		Safe: cmp.Or(known.safe, f.safe, about.Safe), Do: cmp.Or(f.fill(known.do), about.Do)}
	if !strings.Contains(m.Happened, f.words["text"]) {
		m.Detail = f.words["text"]
	}
	return m
}

// Sentence returns a message with the advice that belongs to the exit code.
func Sentence(happened string, code int) Message {
	about := exit.About(code)
	return Message{Happened: happened, Safe: about.Safe, Do: about.Do}
}

// sentence returns the error's text without the words that repeat its exit code.
func sentence(err error) string {
	return strings.ReplaceAll(cli.OneLine(err.Error()), ": "+durable.ErrStorage.Error(), "")
}

// Rest returns the part of Detail that Happened does not contain. It returns "" if there is no such part.
func (m Message) Rest() string {
	return strings.TrimLeft(strings.TrimPrefix(m.Detail, m.Happened), ";:, ")
}

// Text formats the message as lines: what happened, what is safe, what to do, and the exit code. On a terminal, width
// is the width of the terminal: then Text wraps the lines and leaves out the detail. Elsewhere width is 0.
func (m Message) Text(code, width int) string {
	lines := []string{"spendsync: " + m.Happened}
	if rest := m.Rest(); rest != "" && width == 0 {
		lines = append(lines, "  detail: "+rest)
	}
	if code != exit.OK {
		lines = append(lines, "  safe: "+m.Safe, fmt.Sprintf("  do: %s (exit %d)", m.Do, code))
	}
	if width > 0 {
		for i, l := range lines {
			lines[i] = cli.WrapLine(l, width, "    ")
		}
	}
	if m.Excerpt != "" {
		lines = slices.Insert(lines, 1, m.Excerpt)
	}
	return strings.Join(lines, "\n") + "\n"
}
