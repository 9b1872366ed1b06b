package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/explain"
)

// terminal holds the streams of a command, and whether a person or a program reads them.
type terminal struct {
	stdout, stderr io.Writer
	environ        []string     // including the variables of spendsync
	json           bool         // --json: answers are JSON
	jsonLog        *slog.Logger // log for the last line of the command; if nil, the line is plain text
}

// print writes a text for a person.
func (t *terminal) print(text string) error {
	_, err := io.WriteString(t.stdout, text)
	return cli.QuietPipe(err)
}

// answer writes an answer, as JSON for a program or as text for a person.
func (t *terminal) answer(answer any, text string) error {
	if t.json {
		return cli.WriteJSON(t.stdout, answer)
	}
	return t.print(text)
}

// endIncomplete ends a command whose main work succeeded and whose other work failed, with exit code 4.
func (t *terminal) endIncomplete(happened string) error {
	happened = cli.OneLine(happened)
	t.lastLines(slog.LevelWarn, explain.Sentence(happened, exit.Partial), exit.Partial)
	return &exit.Outcome{Code: exit.Partial, Happens: happened}
}

// lastLines prints the last lines of a command. In JSON logs this is one object; otherwise there are three lines for a
// person, wrapped on a terminal.
func (t *terminal) lastLines(level slog.Level, m explain.Message, code int, attrs ...any) {
	if t.jsonLog != nil {
		if rest := m.Rest(); rest != "" {
			attrs = append(attrs, "detail", rest)
		}
		attrs = append(attrs, "exit_code", code, "means", exit.About(code).Means, "safe", m.Safe, "do", m.Do)
		t.jsonLog.Log(context.Background(), level, m.Happened, attrs...)
		return
	}
	width := 0
	if cli.IsTerminal(t.stderr) {
		width = cli.TerminalWidth(t.stderr)
	}
	fmt.Fprint(t.stderr, m.Text(code, width))
}
