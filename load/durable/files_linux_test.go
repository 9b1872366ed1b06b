package durable_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"spendsync/load/durable"
)

// TestCopyFile_SharesBlocksWhereItCan: on a file system that can share blocks, a copy takes almost no space, and
// writing to the copy leaves the source unchanged.
func TestCopyFile_SharesBlocksWhereItCan(t *testing.T) {
	dir := sharingVolume(t)
	content := []byte(strings.Repeat("0123456789abcdef", 1<<20)) // 16 MB
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	sha, size, err := durable.OS.WriteFile(from, content)
	if err != nil {
		t.Fatal(err)
	}
	before := free(t, dir)
	copied, bytes, err := durable.OS.CopyFile(t.Context(), from, to)
	if err != nil || copied != sha || bytes != size {
		t.Fatalf("CopyFile = %s, %d, %v; want %s, %d", copied, bytes, err, sha, size)
	}
	if err := durable.OS.SyncFile(to); err != nil {
		t.Fatal(err)
	}
	if used := before - free(t, dir); used > 1<<20 {
		t.Errorf("the copy took %d bytes, want a clone", used)
	}
	f, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("changed"), 1<<20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if again, _, err := durable.OS.HashFile(from); err != nil || again != sha {
		t.Errorf("the source is %s, %v after a write to its copy, want %s", again, err, sha)
	}
}

// TestCopyFile_CopiesElsewhere: if blocks cannot be shared, the copy has the same content.
func TestCopyFile_CopiesElsewhere(t *testing.T) {
	disk := durable.Disk{FS: plainFiles{}}
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	sha, _, err := disk.WriteFile(from, []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	copied, size, err := disk.CopyFile(t.Context(), from, to)
	if err != nil || copied != sha || size != 7 {
		t.Fatalf("CopyFile = %s, %d, %v; want %s, 7", copied, size, err, sha)
	}
	if content, err := os.ReadFile(to); err != nil || string(content) != "content" {
		t.Errorf("the copy holds %q, %v", content, err)
	}
}

// plainFiles cannot clone, and leave an empty file after an attempt.
type plainFiles struct{ durable.System }

func (plainFiles) Clone(_, to string) error {
	return errors.Join(os.WriteFile(to, nil, 0o600), errors.ErrUnsupported)
}

// sharingVolume mounts a new XFS volume from a file.
func sharingVolume(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it mounts a volume")
	}
	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		t.Skip("needs mkfs.xfs, of xfsprogs")
	}
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 400<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.xfs", "-q", image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.xfs: %v\n%s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		t.Skipf("no loop mount here: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func free(t *testing.T, dir string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bfree) * s.Bsize
}
