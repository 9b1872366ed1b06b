package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/check"
)

// TestCheck_SeesAVolumeThatCannotBeWrittenTo mounts a small volume read-only.
func TestCheck_SeesAVolumeThatCannotBeWrittenTo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small volume takes root; .ci/run has it")
	}
	w := newWorld(t, small)
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", w.dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no small volume here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(w.dir, syscall.MNT_DETACH) })
	code, lines, _ := w.check()
	if l := lines["data directory"]; code != exit.Usage || l.State != check.Failed ||
		!strings.Contains(l.Found, "has 1.0 MiB free") {
		t.Errorf("exit %d: %+v", code, l)
	}
	if err := syscall.Mount("tmpfs", w.dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	code, lines, _ = w.check()
	if l := lines["data directory"]; code != exit.Usage || l.State != check.Failed ||
		!strings.Contains(l.Found, "read-only file system") {
		t.Errorf("exit %d: %+v", code, l)
	}
}
