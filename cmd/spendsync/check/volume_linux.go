package check

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func uidText() string { return strconv.Itoa(os.Geteuid()) }

// remoteFileSystem returns the name of the file system if its flock or rename is unreliable for the
// store; empty if it is not one of those.
func remoteFileSystem(path string) string {
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil {
		return ""
	}
	const fuse, cifs, smb2, ceph = 0x65735546, 0xFF534D42, 0xFE534D42, 0x00C36400
	switch uint32(fs.Type) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case cifs, smb2, unix.SMB_SUPER_MAGIC:
		return "SMB"
	case fuse:
		return "FUSE"
	case ceph:
		return "CephFS"
	}
	return ""
}

// lockOwner is the process that holds a lock of a file, by /proc/locks. It sees
// those of this container.
func lockOwner(f *os.File) string {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return ""
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return ""
	}
	defer locks.Close()
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	for in := bufio.NewScanner(locks); in.Scan(); {
		// 12: FLOCK  ADVISORY  WRITE 4242 fe:01:131 0 EOF
		if field := strings.Fields(in.Text()); len(field) > 5 && field[1] == "FLOCK" && field[5] == want {
			return processText(field[4])
		}
	}
	return ""
}

// processText is a process by its number and its command.
func processText(pid string) string {
	b, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err != nil {
		return "process " + pid
	}
	return fmt.Sprintf("process %s (%s)", pid, strings.Join(strings.Fields(strings.ReplaceAll(string(b), "\x00", " ")),
		" "))
}
