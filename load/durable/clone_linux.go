package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Clone makes a copy that shares blocks with the original, see [FS.Clone]. XFS, Btrfs and bcachefs support this; ext4
// does not.
func (System) Clone(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if err := unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())); err != nil {
		return errors.Join(&os.LinkError{Op: "clone", Old: from, New: to, Err: err}, dst.Close())
	}
	return dst.Close()
}
