package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/assistant"
	"spendsync/cmd/spendsync/bounded"
	"spendsync/load/duck"
)

// A question that somebody wrote is answered by a process of its own, this program once more: what it needs is not
// known before. questionFolder is the variable by which that process finds the folder of the store, and knows that it
// is the one to answer.
const questionFolder = "_SPENDSYNC_QUESTION"

// questionMemory is DuckDB's memory limit for such a question, unless SPENDSYNC_DUCKDB_MEMORY names another one, and
// beyondEngine what the process may need besides.
const questionMemory, beyondEngine = 1 << 30, 1 << 30

// storeOfQuestion returns the folder of the store, if this is the process of a question.
func (c *call) storeOfQuestion() (dir string, ok bool) {
	for _, line := range c.environ {
		if value, found := strings.CutPrefix(line, questionFolder+"="); found {
			return value, true
		}
	}
	return "", false
}

// asksApart reports whether questions are answered by other processes: not by those themselves, nor in a test.
func (c *call) asksApart() bool {
	_, ok := c.storeOfQuestion()
	return !ok && c.apart
}

// questionOptions are DuckDB's for a question that somebody wrote.
func (c *call) questionOptions() duck.Options {
	o := c.loadOptions().DuckDB
	if memory, ok := bytesOf(o.Memory); c.cfg.DuckDBMemory == "" && (!ok || memory > questionMemory) {
		o.Memory = fmt.Sprintf("%dMiB", questionMemory>>20)
	}
	return o
}

// runApart runs this program once more, for a question that may take so long.
func (c *call) runApart(ctx context.Context, dir string, args []string, stdin io.Reader, stdout, stderr io.Writer,
	atMost time.Duration) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	memory, _ := bytesOf(c.questionOptions().Memory)
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), questionFolder+"="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	return bounded.Run(ctx, cmd, bounded.Limits{Memory: cmp.Or(memory, questionMemory) + beyondEngine, Time: atMost})
}

// size is a number of bytes as DuckDB takes it.
var size = regexp.MustCompile(`^([0-9.]+) *([KMGT]?)(i?)B?$`)

func bytesOf(text string) (int64, bool) {
	m := size.FindStringSubmatch(strings.ToUpper(strings.Replace(text, "i", "", 1)))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	return int64(n * math.Pow(1024, float64(strings.Index(" KMGT", cmp.Or(m[2], " "))))), err == nil
}

// queryApart answers the question of a query command in a process of its own.
func (c *queryCommand) queryApart(ctx context.Context, stdin io.Reader) error {
	if c.sql != "-" {
		stdin = nil
	}
	err := c.runApart(ctx, c.cfg.DataDir, os.Args[1:], stdin, c.stdout, c.stderr, c.timeout)
	var exceeded *bounded.Error
	var end *exec.ExitError
	switch {
	case errors.As(err, &exceeded):
		return exit.Advise(exit.Usagef("%s", exceeded.Message), "ask for fewer days or rows; --timeout and "+
			"SPENDSYNC_DUCKDB_MEMORY allow more")
	case errors.As(err, &end):
		return &exit.Outcome{Code: end.ExitCode()} // it said why
	}
	return err
}

// askApart answers the questions of an assistant, one after another, each in a process of its own.
func (c *call) askApart() func(context.Context, string, assistant.Request) (string, error) {
	var one sync.Mutex
	return func(ctx context.Context, dir string, r assistant.Request) (string, error) {
		one.Lock()
		defer one.Unlock()
		in, err := json.Marshal(r)
		if err != nil {
			return "", err
		}
		var out, said bytes.Buffer
		err = c.runApart(ctx, dir, append(os.Args[1:], "--answer"), bytes.NewReader(in), &out, &said, assistant.MaxTime)
		if err != nil {
			return "", errors.Join(err, errors.New(said.String()))
		}
		var reply assistant.Reply
		if err := json.Unmarshal(out.Bytes(), &reply); err != nil {
			return "", err
		}
		if reply.Error != "" {
			return "", errors.New(reply.Error)
		}
		return reply.Text, nil
	}
}

// answerOne answers the request on stdin, in a process of its own.
func answerOne(ctx context.Context, w assistant.Warehouse, in io.Reader, out io.Writer) error {
	var r assistant.Request
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return exit.Usagef("--answer: stdin: %v", err)
	}
	text, err := w.Answer(ctx, r)
	reply := assistant.Reply{Text: text}
	if err != nil {
		reply.Error = err.Error()
	}
	return json.NewEncoder(out).Encode(reply)
}
