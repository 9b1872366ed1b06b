package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudoterminal with the given width: ptmx is the side of the person, tty the side of the
// program.
func openTerminal(t *testing.T, width int) (ptmx, tty *os.File) {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	size := unix.Winsize{Row: 200, Col: uint16(width)}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &size); err != nil {
		t.Fatal(err)
	}
	return ptmx, tty
}

// onTerminal runs a command on a terminal with the given width, and returns everything that the command writes to the
// terminal.
func onTerminal(t *testing.T, cmd *exec.Cmd, width int, variables ...string) string {
	t.Helper()
	ptmx, tty := openTerminal(t, width)
	defer ptmx.Close()
	cmd.Stdout, cmd.Stderr = tty, tty
	cmd.Env = append(append(cmd.Env, "TERM=xterm"), variables...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	var out bytes.Buffer
	io.Copy(&out, ptmx) // Copy returns an error when the command has closed the terminal
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, out.String())
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

// TestTerminal_AnswersFit prints answers on terminals of three widths. No line is longer than the terminal, and the
// verdict comes first.
func TestTerminal_AnswersFit(t *testing.T) {
	w := newWorld(t).withMarts().synced()
	for _, width := range []int{80, 100, 160} {
		for i, args := range []string{"query which_campaigns_pay", "query --all", "tables spend_daily", "status",
			"query last_week", "query runway", "query", "query int.source_judgement", "query coverage_gaps", "tables",
			"tables creative"} {
			if i > schematest.Times(3, 11, 11) || width > 80 && i > 0 && !(width == 160 && schematest.All()) {
				continue // widths in between give no other layout
			}
			out := onTerminal(t, w.start(t.Context(), strings.Fields(args)...), width)
			for line := range strings.Lines(out) {
				n := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n"))
				if n > width && strings.Contains(strings.TrimSpace(line), " ") { // a single path cannot be wrapped
					t.Errorf("%s: %d columns on a terminal of %d: %s", args, n, width, line)
				}
			}
			if args != "query which_campaigns_pay" {
				continue
			}
			if !regexp.MustCompile(`(?m)^ *verdict  +campaign_`).MatchString(out) ||
				!strings.Contains(out, "$") || !strings.Contains(out, "\x1b[2m-") {
				t.Errorf("no verdict on the left, no dollars, or no color at %d:\n%s", width, out)
			}
			plain := onTerminal(t, w.start(t.Context(), strings.Fields(args)...), width, "NO_COLOR=1")
			if strings.Contains(plain, "\x1b") {
				t.Errorf("NO_COLOR: %q", plain)
			}
			if more := strings.Contains(out, ": --wide\n"); !more {
				t.Errorf("nothing is left out at %d:\n%s", width, out)
			}
		}
	}
}

// TestInit_AsksUntilItIsRight: a person at a terminal enters a wrong password. Init asks again, and the person keeps
// the other answers by pressing Enter. A second init starts with the values that the first one wrote, and keeps other
// lines of the file. With these files, cronjob prints manifests and query answers.
func TestInit_AsksUntilItIsRight(t *testing.T) {
	w := newWorld(t, small)
	dir := t.TempDir()
	advertiser, report := w.env["ADVERTISER_URL"], w.env["REPORT_URL"]
	w.env = map[string]string{}
	start := func(args ...string) *exec.Cmd {
		cmd := w.start(t.Context(), args...)
		cmd.Dir = dir
		return cmd
	}
	dialog := func(want int, answers ...string) string {
		t.Helper()
		ptmx, tty := openTerminal(t, 100)
		defer ptmx.Close()
		cmd := start("init")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tty.Close()
		if _, err := io.WriteString(ptmx, strings.Join(answers, "\n")+"\n"); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_, _ = io.Copy(&out, ptmx)
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != want {
			t.Fatalf("exit %d, want %d: %s", cmd.ProcessState.ExitCode(), want, out.String())
		}
		return out.String()
	}
	text := dialog(exit.OK, "adv_key", advertiser, adsim.DefaultKey, report, adsim.DefaultUser, "hunter2", "acme", "",
		"", "", "", "", adsim.DefaultPassword, "", "")
	for _, part := range []string{"Short name of the account in the warehouse [default]", "Folder of the store [data]",
		"Correct what is wrong", "it is not of the form https://host/path",
		"example https://ads.example.com/api [" + advertiser + "]",
		"Password of that user (not shown) [as before]", "Next: "} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), part) {
			t.Errorf("the dialog lacks %q:\n%s", part, text)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := start(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return string(out)
	}
	run("sync")
	out := run("query", "-c", "SELECT DISTINCT account_id FROM spend_daily", "--format", "csv")
	if !strings.Contains(out, "acme") {
		t.Errorf("query answers %s", out)
	}
	if out = run("cronjob", "--image", "r.test/spendsync:1"); !strings.Contains(out, advertiser) ||
		!strings.Contains(out, "SPENDSYNC_ACCOUNT: acme") ||
		!strings.Contains(out, "--from-file=api-key='"+filepath.Join(dir, keyFile)+"'") {
		t.Errorf("cronjob prints %s", out)
	}
	env := filepath.Join(dir, config.FileName)
	elsewhere := start("status", "--config", env)
	elsewhere.Dir = "/" // a scheduler starts the command in another folder
	if out, err := elsewhere.CombinedOutput(); err != nil || !strings.Contains(string(out), "Account acme") {
		t.Errorf("from another folder: %v: %s", err, out)
	}
	f, err := os.OpenFile(env, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("# ours\nSPENDSYNC_YOUNG_DAYS=4\n")
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	dialog(exit.OK, "", "", "", "", "", "globex", "")
	b, err := os.ReadFile(env)
	if err != nil || !strings.Contains(string(b), "# ours\nSPENDSYNC_YOUNG_DAYS=4\n") ||
		!strings.Contains(string(b), "SPENDSYNC_ACCOUNT=globex\n") || strings.Count(string(b), "ACCOUNT") != 1 {
		t.Errorf("%v: %s", err, b)
	}
	if err := os.WriteFile(env, []byte("SPENDSYNC_ACCOUNT=mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := dialog(exit.Usage); !strings.Contains(text, "init did not write it") {
		t.Errorf("a file of somebody else: %s", text)
	}
}
