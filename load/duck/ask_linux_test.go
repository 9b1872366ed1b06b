package duck

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAsk_NeedsNoTemporaryFolder: a query that fits into memory works where nothing can be written, for example in a
// container with a read-only root.
func TestAsk_NeedsNoTemporaryFolder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting takes root; .ci/run has it")
	}
	dir, temp := t.TempDir(), t.TempDir()
	publish(t, dir)
	if err := unix.Mount("tmpfs", temp, "tmpfs", unix.MS_RDONLY, "size=64k"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(temp, unix.MNT_DETACH) })
	t.Setenv("TMPDIR", temp)
	r, err := Ask(t.Context(), dir, Query{SQL: "SELECT count(*) > 0 AS b FROM spend_daily"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rows := rowsOf(t, r); len(rows) != 1 || rows[0] != "true" {
		t.Errorf("the answer is %v", rows)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	s, err := OpenSession(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close of a session = %v", err)
	}
}
