package output

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"

	"golang.org/x/term"
)

// Paged passes the output of write to out, through the caller's $PAGER or less if out is a terminal and the output
// has more lines than the screen. Without a person at the keyboard, with an empty PAGER or cat, or if the pager is
// not installed, the output goes directly to out: nothing waits for a key press that cannot come.
func Paged(out io.Writer, environ []string, write func(io.Writer) error) error {
	f, ok := out.(*os.File)
	if !ok || !IsTerminal(out) || !term.IsTerminal(int(os.Stdin.Fd())) {
		return write(out)
	}
	command := pagerOf(environ)
	_, height, err := term.GetSize(int(f.Fd()))
	if command == "" || err != nil || height < 2 {
		return write(out)
	}
	p := &pager{out: f, command: command, environ: environ, height: height}
	err = write(p)
	return errors.Join(err, p.end())
}

// pagerOf is the command that shows long answers; empty: none.
func pagerOf(environ []string) string {
	command, chosen := lookUp(environ, "PAGER")
	if !chosen {
		command = "less"
	}
	if t, _ := lookUp(environ, "TERM"); t == "" || t == "dumb" {
		return ""
	}
	words := strings.Fields(command)
	if len(words) == 0 || words[0] == "cat" {
		return ""
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return ""
	}
	return command
}

// lookUp is a variable's value and whether it is set; the last one counts.
func lookUp(environ []string, name string) (string, bool) {
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// pager holds back output as long as it fits on the screen; the first line that does not fit starts the command.
type pager struct {
	out     *os.File
	command string
	environ []string
	height  int

	held  bytes.Buffer
	lines int
	cmd   *exec.Cmd // nil: not started
	pipe  io.WriteCloser
}

func (p *pager) Write(b []byte) (int, error) {
	if p.pipe != nil {
		return p.pipe.Write(b)
	}
	p.held.Write(b)
	if p.lines += bytes.Count(b, []byte("\n")); p.lines < p.height {
		return len(b), nil
	}
	if err := p.start(); err != nil {
		return 0, err
	}
	_, err := p.pipe.Write(p.held.Bytes())
	return len(b), err
}

func (p *pager) start() error {
	p.cmd = exec.Command("sh", "-c", p.command)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = p.out, os.Stderr, p.environ
	if _, chosen := lookUp(p.environ, "LESS"); !chosen {
		p.cmd.Env = append(slices.Clone(p.environ), "LESS=FRX")
	}
	pipe, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	// From here on interrupts are for the pager: ending before the pager would leave it on a terminal that the shell
	// believes to be its own. The output itself is complete.
	signal.Ignore(os.Interrupt)
	p.pipe = pipe
	return nil
}

// end shows the output that was held back, or waits until the reader has quit the pager. The exit code of the pager
// is ignored.
func (p *pager) end() error {
	if p.pipe == nil {
		_, err := p.out.Write(p.held.Bytes())
		return err
	}
	err := p.pipe.Close()
	var exit *exec.ExitError
	if wait := p.cmd.Wait(); !errors.As(wait, &exit) {
		err = cmp.Or(err, wait)
	}
	return err
}
