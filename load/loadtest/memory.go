package loadtest

import (
	"os"
	"runtime/debug"
	"syscall"
	"testing"
)

// InMemory runs the tests of a package with their temporary folders in memory if there is room, because small stores
// mostly wait for the disk. It also collects garbage less often, which saves a tenth of the time. It returns the exit
// code.
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
