//go:build cgo

package crash

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain crashes the process if it is asked to.
func TestMain(m *testing.M) {
	how := os.Getenv("TEST_CRASH")
	if how == "" {
		os.Exit(m.Run())
	}
	ExitsWithCode("sample")
	switch how {
	case "panic":
		panic("of the test")
	case "panic in a goroutine":
		go panic("of the test")
	case "fatal error":
		m := map[int]int{}
		for range 8 {
			go func() {
				for {
					m[1]++
				}
			}()
		}
	case "abort":
		_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
	}
	time.Sleep(time.Minute)
	os.Exit(42)
}

func TestExitsWithCode(t *testing.T) {
	for _, how := range []string{"panic", "panic in a goroutine", "fatal error", "abort"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "TEST_CRASH="+how)
		out, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != Code {
			t.Errorf("%s: %v", how, err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "sample: the program crashed") ||
			!strings.HasSuffix(last, "(exit 1)") {
			t.Errorf("%s: the last line is %q", how, last)
		}
	}
}
