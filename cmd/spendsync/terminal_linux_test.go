package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"spendsync/schema/schematest"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/sys/unix"
)

// onTerminal runs a command on a terminal of that width and returns everything that it writes there.
func onTerminal(t *testing.T, cmd *exec.Cmd, width int, variables ...string) string {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer ptmx.Close()
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	size := unix.Winsize{Row: 200, Col: uint16(width)}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &size); err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = tty, tty
	cmd.Env = append(append(cmd.Env, "TERM=xterm", "NO_COLOR=", "LESS=FRX"), variables...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	var out bytes.Buffer
	io.Copy(&out, ptmx) // it ends with an error when the command has closed the terminal
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, out.String())
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

// TestTerminal_AnswersFit asks on terminals of three widths: no line is longer than the terminal, the verdict comes
// first, and colors depend on the variables alone.
func TestTerminal_AnswersFit(t *testing.T) {
	w := newSyncedWorld(t)
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, width := range []int{80, 100, 160} {
		for _, args := range []string{"query which_campaigns_pay", "query last_week", "query runway",
			"query --all", "query", "query mart.source_judgement", "query coverage_gaps", "tables", "tables creative",
			"tables spend_daily",
			"query which_campaigns_pay --wide", "status"} {
			if (width == 100 || width == 160 && !schematest.All()) && // nothing between is laid out differently
				!strings.HasPrefix(args, "query which") {
				continue
			}
			out := onTerminal(t, w.start(t.Context(), strings.Fields(args)...), width)
			for line := range strings.Lines(out) {
				n := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n"))
				if n > width && strings.Contains(strings.TrimSpace(line), " ") { // a path alone cannot be broken
					t.Errorf("%s: %d columns on a terminal of %d: %s", args, n, width, line)
				}
			}
			if args != "query which_campaigns_pay" {
				continue
			}
			if !regexp.MustCompile(`(?m)^ *verdict  +campaign_`).MatchString(escapes.ReplaceAllString(out, "")) ||
				!strings.Contains(out, "$") || !escapes.MatchString(out) {
				t.Errorf("no verdict on the left, no dollars or no color at %d:\n%s", width, out)
			}
			if more := strings.Contains(out, ": --wide\n"); !more {
				t.Errorf("nothing is left out at %d:\n%s", width, out)
			}
		}
	}
	for _, variable := range []string{"NO_COLOR=1", "TERM=dumb", "TERM="} {
		for _, args := range []string{"query which_campaigns_pay", "status"} {
			out := onTerminal(t, w.start(t.Context(), strings.Fields(args)...), 100, variable)
			if escapes.MatchString(out) {
				t.Errorf("%s: %s has colors:\n%s", variable, args, out)
			}
		}
	}
}
