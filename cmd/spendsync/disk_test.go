//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"spendsync/cmd/internal/exit"
)

// TestSync_FullDisk fills the volume at several points of a sync: each time the
// run says so with exit 7, what was published stands, and with room it goes on.
func TestSync_FullDisk(t *testing.T) {
	skipShort(t)
	if os.Getuid() != 0 {
		t.Skip("mounting a small volume takes root; .ci/run has it")
	}
	w := newWorld(t).withoutMarts()
	volume := filepath.Join(t.TempDir(), "volume")
	if err := os.Mkdir(volume, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", volume, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no small volume here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(volume, syscall.MNT_DETACH) })
	resize := func(kib int) {
		if err := syscall.Mount("tmpfs", volume, "tmpfs", syscall.MS_REMOUNT,
			fmt.Sprintf("size=%dk", kib)); err != nil {
			t.Fatal(err)
		}
	}
	w.dir = filepath.Join(volume, "data")
	w.env["DATA_DIR"] = w.dir
	full := 0
	for kib := 64; ; kib += kib / 2 {
		resize(kib)
		code, _, last := w.run("sync")
		if code == exit.OK {
			break
		}
		full++
		if code != exit.Storage || !strings.Contains(last, "no space left") && !strings.Contains(strings.ToLower(last),
			"no space left") {
			t.Errorf("%d KiB: exit %d: %s", kib, code, last)
		}
	}
	if full < 3 {
		t.Errorf("only %d runs met a full disk", full)
	}
	resize(512 << 10)
	w.checkTruth()
	// Full again, with something published: it stands.
	info, err := os.Stat(filepath.Join(w.dir, "warehouse.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(volume, &st); err != nil {
		t.Fatal(err)
	}
	used := int(st.Blocks-st.Bfree) * int(st.Bsize) >> 10
	before := w.hashes("parquet", "raw")
	resize(used + int(info.Size()>>11)) // half of what the next DuckDB file takes
	if code, _, last := w.run("sync"); code != exit.Storage {
		t.Errorf("exit %d: %s", code, last)
	}
	resize(512 << 10)
	for path, h := range w.hashes("parquet", "raw") {
		if before[path] != h {
			t.Errorf("%s changed", path)
		}
	}
	w.checkTruth()
}
