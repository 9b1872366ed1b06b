package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/exit"
)

// allCommands calls a function for each command in a tree of commands.
func allCommands(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		allCommands(sub, do)
	}
}

func TestHelp_EveryCommandHasExamples(t *testing.T) {
	n := 0
	root := newApp(nil, nil, nil).commands()
	allCommands(root, func(c *cobra.Command) {
		n++
		if c.Name() == "help" || strings.Contains(c.CommandPath(), "completion") {
			return // a command of cobra
		}
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s: short %q, example %q", c.CommandPath(), c.Short, c.Example)
		}
		for line := range strings.Lines(c.Example) {
			if len(line) > 81 {
				t.Errorf("%s: an example of %d columns: %q", c.CommandPath(), len(line)-1, line)
			}
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: an example that is not indented: %q", c.CommandPath(), line)
			}
			checkExample(t, root, c.CommandPath(), strings.TrimSpace(line))
		}
	})
	if n < 20 {
		t.Errorf("%d commands", n)
	}
}

// TestHelp_FitsATerminal checks that the help of every command is at most 80 columns wide if the output is not a
// terminal. Only lines with commands to paste may be longer, and wrapping loses no word.
func TestHelp_FitsATerminal(t *testing.T) {
	var out bytes.Buffer
	root := newApp(nil, &out, &out).commands()
	allCommands(root, func(c *cobra.Command) {
		if c.Name() == "guide" {
			return // this topic is a page of its own, not the help of a command
		}
		out.Reset()
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		help := out.String()
		for line := range strings.Lines(help) {
			line = strings.TrimRight(line, "\n")
			pasted := strings.Contains(c.Long+"\n"+c.Example+"\n", line+"\n") && strings.HasPrefix(line, "  ")
			if utf8.RuneCountInString(line) > 80 && !pasted && strings.ContainsRune(strings.TrimSpace(line), ' ') {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		if want := strings.Fields(c.Long); !slices.Equal(strings.Fields(help)[:len(want)], want) {
			t.Errorf("%s: the help has other words than its text:\n%s", c.CommandPath(), help)
		}
	})
}

// checkExample checks that the command in an example exists, and has the flags of the example.
func checkExample(t *testing.T, root *cobra.Command, from, line string) {
	t.Helper()
	call, ok := strings.CutPrefix(strings.TrimPrefix(line, "source <("), "spendsync ")
	if !ok {
		return // the second line of a command
	}
	cmd, _, err := root.Find(strings.Fields(strings.TrimSuffix(call, ")")))
	if err != nil || cmd == root {
		t.Errorf("%s: %s: there is no such command", from, line)
		return
	}
	call, _, _ = strings.Cut(call, " | ")
	for _, word := range strings.Fields(call) {
		if flag, ok := strings.CutPrefix(word, "--"); ok && flag != "" {
			flag, _, _ = strings.Cut(flag, "=")
			if cmd.Flag(flag) == nil && root.PersistentFlags().Lookup(flag) == nil {
				t.Errorf("%s: %s: there is no flag --%s", from, line, flag)
			}
		}
	}
}

func TestCompletion_OfEveryShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), []string{"completion", shell}, nil, &out, &errOut); code != exit.OK ||
			!strings.Contains(out.String(), "spendsync") {
			t.Errorf("%s: exit %d: %s", shell, code, errOut.String())
		}
	}
	// The completions that a shell requests while a person types.
	for typed, want := range map[string][]string{
		"ver":                 {"verify\t", "version\t"},
		"query last":          {"last_week"},
		"query --format parq": {"parquet"},
		"tables ops.st":       {"ops.step"},
		"tables sp":           {"spend\nspend_known_at\nspend_on_stopped\nspend_change\nspend_daily\n"},
		"tables int.bi":       {"int.bid_state\n"},
		"query mart.t":        {"mart.to_do\n"},
		"help ":               {"config\t", "guide\t", "status\t"},
		"help stat":           {"status\t"},
		"sync --fr":           {"--from\t"},
		"tables ":             {"campaign\n", "mart.to_do\n"},
		"sync ":               nil, // no file names, because the command has no arguments
		"repair rep":          {"replay\t"},

		"query which_campaigns_pay --param r": {"rows=\t"},
		"query campaign_at --param ":          {"day=\n"},
		"query --param ":                      nil,
	} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), append([]string{"__complete"}, strings.Split(typed, " ")...), nil, &out, &errOut)
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%q: %q does not offer %q", typed, out.String(), w)
			}
		}
		// Names with another beginning are not offered. Working tables are not offered before their schema is typed.
		if strings.HasPrefix(typed, "tables sp") && strings.Contains(out.String(), "campaign") ||
			typed == "tables " && strings.Contains(out.String(), "int.") {
			t.Errorf("%q offers %q", typed, out.String())
		}
		files := !strings.HasSuffix(out.String(), ":4\n") && // ShellCompDirectiveNoFileComp
			!strings.HasSuffix(out.String(), ":6\n") // and ShellCompDirectiveNoSpace
		if code != exit.OK || files {
			t.Errorf("%q: exit %d, offers files: %t: %s", typed, code, files, out.String())
		}
	}
}

// TestHelp_StatesADefaultOnce checks that the usage text of each flag states the default only once.
func TestHelp_StatesADefaultOnce(t *testing.T) {
	allCommands(newApp(nil, nil, nil).commands(), func(c *cobra.Command) {
		for line := range strings.Lines(c.Flags().FlagUsages()) {
			if strings.Count(line, "(default") > 1 {
				t.Errorf("%s: %s", c.CommandPath(), line)
			}
		}
	})
}
