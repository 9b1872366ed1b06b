package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
)

// The files that init writes beside the configuration.
const (
	keyFile      = "spendsync-api-key"
	passwordFile = "spendsync-report-password"
)

// initCommand is "init".
type initCommand struct {
	*call
	in     io.Reader
	lines  *bufio.Reader
	values map[string]string // answer for each variable; at first the answers of an earlier init
}

func newInitCommand(a *call) *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Ask for the values of an account, write the configuration, and check it",
		Example: "  spendsync init",
		Long: `Asks for the two addresses, the API key, the user and password of the report, the account's name and the
folder of the store. Secrets are not shown while they are typed. It writes spendsync.env and two files with the secrets
into the working folder, readable by their owner alone, and ends with 'spendsync check'. On a terminal it asks again if
that fails. Where it has written these files before, Enter keeps an answer; it replaces no other file, and no other line
of spendsync.env.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := &initCommand{call: a, in: cmd.InOrStdin(), lines: bufio.NewReader(cmd.InOrStdin())}
			return c.run(cmd.Context())
		},
	}
}

// run asks the questions, writes the files and runs the checks. On a terminal it repeats this until the checks pass.
func (c *initCommand) run(ctx context.Context) error {
	if err := c.readOwn(); err != nil {
		return err
	}
	environ := c.environ
	for again := false; ; again = true {
		changed, err := c.ask(ctx)
		if err != nil {
			return err
		}
		if again && !changed {
			return exit.Advise(exit.Usagef("no answer was changed"), "run 'spendsync init' again with right ones")
		}
		if err := c.write(); err != nil {
			return err
		}
		fmt.Fprintf(c.stdout, "\nWritten: %s, %s, %s. Checking:\n\n", config.FileName, keyFile, passwordFile)
		c.environ = environ // forget what the last round's check added to the environment
		err = (&checkCommand{c.call}).run(ctx)
		if err == nil {
			fmt.Fprintf(c.stdout, "\nNext: %s\n", typed("sync"))
			return nil
		}
		if !c.onTerminal() || ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(c.stderr, "\nCorrect what is wrong; Enter keeps an answer.\n\n")
	}
}

// question asks for the value of one variable.
type question struct {
	name, text, usual string
	secret            bool
}

var questions = []question{
	{"ADVERTISER_URL", "Address of the advertiser API, for example https://ads.example.com/api", "", false},
	{"API_KEY", "API key (read scope suffices; not shown)", "", true},
	{"REPORT_URL", "Address of the spend report, for example https://reports.example.com", "", false},
	{"REPORT_USER", "User of the dashboard", "", false},
	{"REPORT_PASSWORD", "Password of that user (not shown)", "", true},
	{"ACCOUNT", "Short name of the account in the warehouse", "default", false},
	{"DATA_DIR", "Folder of the store", "data", false},
}

// readOwn reads the answers of an earlier init, and refuses to replace files that init did not write.
func (c *initCommand) readOwn() error {
	c.values = map[string]string{}
	text, err := cli.ReadFile(config.FileName, cli.MaxSecret)
	own := err == nil && strings.HasPrefix(string(text), config.FileHeading)
	for _, name := range []string{config.FileName, keyFile, passwordFile} {
		if _, err := os.Lstat(name); !own && !errors.Is(err, fs.ErrNotExist) {
			return exit.Advise(exit.Usagef("%s is there already, init did not write it, and replaces no such "+
				"file", name), "edit it, or move it away and run 'spendsync init' again")
		}
	}
	if !own {
		return nil
	}
	environ, err := config.WithFile(nil, config.FileName)
	if err != nil {
		return err
	}
	c.values = config.FromEnviron(environ)
	for name, file := range map[string]string{"API_KEY": keyFile, "REPORT_PASSWORD": passwordFile} {
		secret, err := config.ReadSecret(name, "", file)
		if err == nil {
			c.values[name] = string(secret)
		}
	}
	return nil
}

// ask asks all questions and reports whether an answer changed.
func (c *initCommand) ask(ctx context.Context) (changed bool, err error) {
	for _, q := range questions {
		answer, err := c.answer(ctx, q)
		if err != nil {
			return false, err
		}
		changed = changed || answer != c.values[q.name]
		c.values[q.name] = answer
	}
	return changed, nil
}

// write writes the files with absolute paths, because a scheduler starts the command in another folder. After an error
// each file is either complete or unchanged.
func (c *initCommand) write() error {
	var lines [][2]string
	for _, q := range questions {
		value := [2]string{q.name, c.values[q.name]}
		switch q.name {
		case "API_KEY":
			value = [2]string{"API_KEY_FILE", keyFile}
		case "REPORT_PASSWORD":
			value = [2]string{"REPORT_PASSWORD_FILE", passwordFile}
		}
		if q.name == "DATA_DIR" || value[0] != q.name {
			path, err := filepath.Abs(value[1])
			if err != nil {
				return exit.Usagef("the working folder has no name: %v", err)
			}
			value[1] = path
		}
		lines = append(lines, value)
	}
	err := errors.Join(cli.WriteSecret(keyFile, c.values["API_KEY"]+"\n"),
		cli.WriteSecret(passwordFile, c.values["REPORT_PASSWORD"]+"\n"),
		config.WriteFile(config.FileName, lines))
	if err != nil {
		return exit.Advise(exit.Usagef("%v", err), "run it in a folder that you may write to")
	}
	return nil
}

// answer repeats a question until its answer is valid. An empty answer keeps the previous answer or the default.
// Without a terminal each answer is a line of stdin, and the first invalid answer ends the command.
func (c *initCommand) answer(ctx context.Context, q question) (string, error) {
	kept := cmp.Or(c.values[q.name], q.usual)
	offer := ""
	switch {
	case kept != "" && q.secret:
		offer = " [as before]"
	case kept != "":
		offer = " [" + kept + "]"
	}
	for {
		fmt.Fprintf(c.stderr, "%s%s: ", q.text, offer)
		text, err := c.read(ctx, q.secret)
		if err != nil && (kept == "" || c.onTerminal() || ctx.Err() != nil) {
			return "", err
		}
		text = cmp.Or(text, kept)
		why := q.refuses(text)
		if why == "" {
			return text, nil
		}
		if !c.onTerminal() {
			return "", exit.Advise(exit.Usagef("%s: %s", q.text, why),
				"answer each question with a line of stdin, or run it on a terminal")
		}
		fmt.Fprintln(c.stderr, "  "+why)
	}
}

// refuses returns why an answer is invalid, or an empty text if the answer is valid.
func (q question) refuses(answer string) string {
	switch {
	case answer == "":
		return "it must not be empty"
	case strings.HasSuffix(q.name, "_URL") && config.Address(answer) == nil:
		return "it is not of the form https://host/path"
	}
	return ""
}

func (c *initCommand) onTerminal() bool {
	f, ok := c.in.(*os.File)
	return ok && cli.IsTerminal(f)
}

// read reads a line; a secret is not echoed. If a signal ends the wait, read restores the terminal's echo.
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
			fmt.Fprintln(c.stderr)
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
			return "", exit.Advise(exit.Usagef("stdin ends before this answer (%v)", a.err),
				"answer each question with a line of stdin, or set the variables instead: 'spendsync help config'")
		}
		return strings.TrimSpace(a.text), nil
	case <-ctx.Done():
		if before != nil {
			_ = term.Restore(int(f.Fd()), before)
			fmt.Fprintln(c.stderr)
		}
		return "", ctx.Err()
	}
}
