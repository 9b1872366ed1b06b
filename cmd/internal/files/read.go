package files

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"spendsync/cmd/internal/exit"
)

// MaxSecret exceeds the size of any key, password, token or bundle of certificates.
const MaxSecret = 1 << 20

// Open opens a regular file of at most limit bytes for reading, and returns its size. It
// follows links: that is how Kubernetes mounts secrets.
func Open(path string, limit int64) (*os.File, int64, error) {
	// Without O_NONBLOCK, opening a pipe waits for its writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file: a device, a pipe or a folder is not read", path)
	case info.Size() > limit:
		err = fmt.Errorf("%s has %d bytes; this file may have at most %d", path, info.Size(), limit)
	default:
		return f, info.Size(), nil
	}
	f.Close()
	return nil, 0, err
}

// Read reads a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, _, err := Open(path, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit)) // it may grow meanwhile
}

// CABundle reads the certificates that AWS_CA_BUNDLE names; nil if it is not set.
func CABundle(value func(name string) string) ([]byte, error) {
	path := value("AWS_CA_BUNDLE")
	if path == "" {
		return nil, nil
	}
	b, err := Read(path, MaxSecret)
	if err != nil {
		return nil, exit.Usagef("AWS_CA_BUNDLE: %v", err)
	}
	return b, nil
}
