package loadtest

import (
	"os"
	"runtime/debug"
	"syscall"
	"testing"
)

// InMemory runs the tests of a package and returns the exit code. If /dev/shm has room, the temporary folders of the
// tests are there, in memory, because tests of small stores mostly wait for the disk. It also collects garbage less
// often, which saves a tenth of the time.
func InMemory(m *testing.M) (code int) {
	debug.SetGCPercent(400)
	const memory, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < room {
		return m.Run()
	}
	dir, err := os.MkdirTemp(memory, "spendsync-test-")
	if err != nil {
		return m.Run()
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	return m.Run()
}
