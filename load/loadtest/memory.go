package loadtest

import (
	"os"
	"runtime/debug"
	"syscall"
)

// InMemory puts the temporary folders of a process's tests into memory if there is room: a small store mostly waits
// for the disk. Effects of the disk have their own tests. It also collects garbage less often, which takes a tenth of
// the time of many small heaps. leave removes the folders.
func InMemory() (leave func()) {
	debug.SetGCPercent(400)
	const memory, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < room {
		return func() {}
	}
	dir, err := os.MkdirTemp(memory, "spendsync-test-")
	if err != nil {
		return func() {}
	}
	os.Setenv("TMPDIR", dir)
	return func() { os.RemoveAll(dir) }
}
