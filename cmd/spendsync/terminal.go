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

// terminal is where a command answers, and how: to a person or to a program.
type terminal struct {
	stdout, stderr io.Writer
	environ        []string     // our variables among them
	json           bool         // --json: the answer
	jsonLog        *slog.Logger // of the end of the command; nil: it is text
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

// endIncomplete ends a command that did what matters and could not do the rest.
func (t *terminal) endIncomplete(happened string) error {
	happened = cli.OneLine(happened)
	t.lastLines(slog.LevelWarn, explain.Sentence(happened, exit.Partial), exit.Partial)
	return &exit.Outcome{Code: exit.Partial, Happens: happened}
}

// lastLines print the end of a command: a JSON object in JSON logs, otherwise three lines for a person,
// wrapped at words on a terminal.
func (t *terminal) lastLines(level slog.Level, m explain.Message, code int, attrs ...any) {
	if t.jsonLog != nil {
		if m.Detail != "" {
			attrs = append(attrs, "detail", m.Detail)
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
