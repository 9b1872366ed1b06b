package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/output"
)

// The files that init writes beside the configuration.
const (
	keyFile      = "spendsync-api-key"
	passwordFile = "spendsync-report-password"
)

// initCommand is "init".
type initCommand struct {
	app   *app
	in    io.Reader
	lines *bufio.Reader
}

func newInitCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Ask for the five values, write the configuration, and check it",
		Example: "  spendsync init",
		Long: `Asks for the two addresses, the API key, and the user and password of the report. Secrets are not shown
while they are typed. It writes spendsync.env and two files with the secrets into the working folder, readable by their
owner alone, and ends with 'spendsync check'. It replaces no file.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := &initCommand{app: a, in: cmd.InOrStdin(), lines: bufio.NewReader(cmd.InOrStdin())}
			if err := c.write(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "\nWritten: %s, %s, %s. Checking:\n\n", config.FileName, keyFile, passwordFile)
			if err := (&checkCommand{app: a}).run(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "\nNext: %s\n", a.typed("sync"))
			return nil
		},
	}
}

// write asks for the values and writes the files, all or none.
func (c *initCommand) write(ctx context.Context) (err error) {
	names := []string{config.FileName, keyFile, passwordFile}
	for _, name := range names {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return exit.Advise(exit.Usagef("%s is there already, and init replaces no file", name),
				"edit it, or move it away and run 'spendsync init' again")
		}
	}
	var values [5]string
	for i, q := range []struct {
		text   string
		secret bool
		check  func(string) string
	}{
		{"Address of the advertiser API, for example https://ads.example.com/api", false, checkURL},
		{"API key (read scope suffices; not shown)", true, checkSecret},
		{"Address of the spend report, for example https://reports.example.com", false, checkURL},
		{"User of the dashboard", false, checkUser},
		{"Password of that user (not shown)", true, checkSecret},
	} {
		if values[i], err = c.ask(ctx, q.text, q.secret, q.check); err != nil {
			return err
		}
	}
	written := []string{}
	defer func() {
		if err != nil {
			for _, name := range written {
				err = errors.Join(err, os.Remove(name))
			}
		}
	}()
	for _, write := range []struct {
		name string
		do   func() error
	}{
		{keyFile, func() error { return config.WriteSecret(keyFile, config.Secret(values[1])) }},
		{passwordFile, func() error { return config.WriteSecret(passwordFile, config.Secret(values[4])) }},
		{config.FileName, func() error {
			return config.WriteFile(config.FileName, [][2]string{
				{"ADVERTISER_URL", values[0]}, {"API_KEY_FILE", keyFile}, {"REPORT_URL", values[2]},
				{"REPORT_USER", values[3]}, {"REPORT_PASSWORD_FILE", passwordFile},
			})
		}},
	} {
		if err := write.do(); err != nil {
			return exit.Advise(exit.Usagef("%v", err), "run it in a folder that you may write to")
		}
		written = append(written, write.name)
	}
	return nil
}

// ask asks until the answer is usable. Without a terminal the answers are lines of stdin, and the first
// one that is not usable ends the command.
func (c *initCommand) ask(ctx context.Context, question string, secret bool, check func(string) string) (string,
	error) {
	for {
		fmt.Fprintf(c.app.stderr, "%s: ", question)
		text, err := c.read(ctx, secret)
		if err != nil {
			return "", err
		}
		wrong := check(text)
		if wrong == "" {
			return text, nil
		}
		if !c.onTerminal() {
			return "", exit.Advise(exit.Usagef("%s: %s", question, wrong),
				"answer each question with a line of stdin, or run it on a terminal")
		}
		fmt.Fprintf(c.app.stderr, "  %s\n", wrong)
	}
}

func (c *initCommand) onTerminal() bool {
	f, ok := c.in.(*os.File)
	return ok && output.IsTerminal(f)
}

// read reads a line; a secret is not echoed. A signal ends the wait and gives the terminal its echo back.
func (c *initCommand) read(ctx context.Context, secret bool) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	f, _ := c.in.(*os.File)
	hide := secret && c.onTerminal()
	var before *term.State
	if hide {
		before, _ = term.GetState(int(f.Fd()))
	}
	go func() {
		if hide {
			b, err := term.ReadPassword(int(f.Fd()))
			fmt.Fprintln(c.app.stderr)
			got <- answer{string(b), err}
			return
		}
		text, err := c.lines.ReadString('\n')
		if errors.Is(err, io.EOF) && text != "" {
			err = nil
		}
		got <- answer{text, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return "", exit.Usagef("the answers end here: %v", a.err)
		}
		return strings.TrimSpace(a.text), nil
	case <-ctx.Done():
		if before != nil {
			_ = term.Restore(int(f.Fd()), before)
			fmt.Fprintln(c.app.stderr)
		}
		return "", ctx.Err()
	}
}

func checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "this is not an address that begins with https://"
	case u.User != nil:
		return "leave user and password out of the address"
	}
	return ""
}

func checkSecret(text string) string {
	if text == "" {
		return "it must not be empty"
	}
	return ""
}

func checkUser(text string) string {
	switch {
	case text == "":
		return "it must not be empty"
	case strings.ContainsRune(text, ':'):
		return "it has a colon, which HTTP Basic cannot carry"
	}
	return ""
}
