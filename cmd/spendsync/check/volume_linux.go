package check

import (
	"os"
	"strconv"

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
