package bounded

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	switch os.Getenv("BOUNDED_CHILD") {
	case "memory":
		var all [][]byte
		for range 400 {
			b := make([]byte, 10<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			all = append(all, b)
			time.Sleep(10 * time.Millisecond)
		}
		os.Exit(len(all) & 1)
	case "time":
		time.Sleep(time.Minute)
	case "code":
		os.Exit(7)
	case "":
		os.Exit(m.Run())
	}
}

func child(what string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BOUNDED_CHILD="+what)
	return cmd
}

func TestRun_KillsWhatExceedsItsLimits(t *testing.T) {
	for what, says := range map[string]string{"memory": "more than 200 MiB", "time": "longer than 2s"} {
		began := time.Now()
		err := Run(t.Context(), child(what), Limits{Memory: 200 << 20, Time: 2 * time.Second})
		var exceeded *Error
		if !errors.As(err, &exceeded) || !strings.Contains(exceeded.Message, says) ||
			time.Since(began) > 20*time.Second {
			t.Errorf("%s: %v after %v", what, err, time.Since(began))
		}
	}
}

func TestRun_ReturnsTheEndOfOthers(t *testing.T) {
	err := Run(t.Context(), child("code"), Limits{Memory: 1 << 30, Time: time.Minute})
	var end *exec.ExitError
	if !errors.As(err, &end) || end.ExitCode() != 7 {
		t.Errorf("exit 7 is %v", err)
	}
	if err := Run(t.Context(), child("fine"), Limits{Memory: 1 << 30, Time: time.Minute}); err != nil {
		t.Errorf("a process that ends well: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(errors.New("no more needed")) })
	if err := Run(ctx, child("time"), Limits{Memory: 1 << 30, Time: time.Minute}); err == nil {
		t.Error("a stopped process ends well")
	}
}
