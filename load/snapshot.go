package load

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"path/filepath"

	"spendsync/load/commit"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// ErrMoved reports that a file of a snapshot is missing or has different content: a newer generation has replaced it,
// or it is damaged.
var ErrMoved = errors.New("the store has moved on")

// Snapshot is the set of files of one published generation. Reading a snapshot needs no lock, so a read-only volume is
// enough. A run may replace files meanwhile, so every file is compared with its hash while it is read.
type Snapshot struct {
	Manifest *manifest.Manifest
	Files    []SnapshotFile // all files of the generation; manifest.json is the last

	dir string
}

// SnapshotFile is a file of a generation, or the published part of a ledger file.
type SnapshotFile struct {
	Path   string // below the data directory
	Bytes  int64
	SHA256 string

	// text is the content of manifest.json, which may be replaced at any time. It is nil for other files, which are
	// read from disk.
	text []byte
}

// ReadSnapshot returns the files of the published generation.
func ReadSnapshot(dir string) (*Snapshot, error) {
	var before []byte
	for {
		text, err := durable.OS.ReadFile(filepath.Join(dir, manifest.FileName), durable.MaxText)
		if errors.Is(err, fs.ErrNotExist) {
			_, err = manifest.Read(dir) // manifest.Read has different errors for an empty folder and a damaged store
		}
		if err != nil {
			return nil, err
		}
		m, err := manifest.Decode(text)
		if err != nil {
			return nil, err
		}
		if err = m.Load(durable.OS, dir, m.AccountNames()...); err == nil {
			return newSnapshot(dir, m, text), nil
		}
		// Give up only if manifest.json is unchanged. Otherwise a commit may have removed an account's file meanwhile.
		if bytes.Equal(text, before) {
			return nil, err
		}
		before = text
	}
}

func newSnapshot(dir string, m *manifest.Manifest, text []byte) *Snapshot {
	s := &Snapshot{Manifest: m, dir: dir}
	for _, name := range m.AccountNames() {
		a := m.Accounts[name]
		for path, f := range a.Files {
			s.Files = append(s.Files, SnapshotFile{Path: path, Bytes: f.Bytes, SHA256: f.SHA256})
		}
		for path, size := range a.Ledger {
			s.Files = append(s.Files, SnapshotFile{Path: path, Bytes: size, SHA256: a.LedgerSHA256[path]})
		}
	}
	for _, part := range m.AccountFiles {
		s.Files = append(s.Files, SnapshotFile{Path: part.Path, Bytes: part.Bytes, SHA256: part.SHA256})
	}
	s.Files = append(s.Files, SnapshotFile{Path: duck.FileName, Bytes: m.Warehouse.Bytes,
		SHA256: m.Warehouse.SHA256})
	s.Files = append(s.Files, SnapshotFile{Path: manifest.FileName, Bytes: int64(len(text)),
		SHA256: durable.HashBytes(text), text: text})
	return s
}

// Root returns manifest.json, whose hash identifies the generation.
func (s *Snapshot) Root() SnapshotFile { return s.Files[len(s.Files)-1] }

// Open opens a file of the snapshot. If the file's content differs from the content in the generation, reading fails
// with [ErrMoved] before the last bytes are delivered.
func (s *Snapshot) Open(f SnapshotFile) (io.ReadCloser, error) {
	if f.text != nil {
		return io.NopCloser(newHashed(f, bytes.NewReader(f.text))), nil
	}
	file, err := durable.OS.Open(filepath.Join(s.dir, f.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &movedError{f.Path}
	} else if err != nil {
		return nil, durable.Storage(err)
	}
	return struct {
		io.Reader
		io.Closer
	}{newHashed(f, file), file}, nil
}

// Moved returns the cause of an [ErrMoved]. If the store has published since, or is publishing now, Moved returns nil,
// and another attempt makes sense. Otherwise it returns the damage.
func (s *Snapshot) Moved(err error) error {
	now, readErr := ReadSnapshot(s.dir)
	if readErr != nil {
		return readErr
	}
	if now.Root().SHA256 != s.Root().SHA256 {
		return nil
	}
	committing, findErr := commit.Find(s.dir)
	if findErr != nil || committing != nil {
		return findErr
	}
	return durable.Damaged(movedPath(err), "spendsync verify", "its bytes are not those that were published")
}

// movedError is an [ErrMoved] that names the file.
type movedError struct{ path string }

func (e *movedError) Error() string { return e.path + ": " + ErrMoved.Error() }
func (e *movedError) Unwrap() error { return ErrMoved }

func movedPath(err error) string {
	var moved *movedError
	if errors.As(err, &moved) {
		return moved.path
	}
	return manifest.FileName
}

// hashed reads the published part of a file. Before it returns the last bytes, it compares the hash of that part with
// the manifest.
type hashed struct {
	file SnapshotFile
	from io.Reader
	sum  hash.Hash
	left int64
}

func newHashed(f SnapshotFile, from io.Reader) *hashed {
	return &hashed{file: f, from: from, sum: sha256.New(), left: f.Bytes}
}

func (h *hashed) Read(p []byte) (int, error) {
	if h.left == 0 {
		return 0, io.EOF
	}
	n, err := h.from.Read(p[:min(int64(len(p)), h.left)])
	h.sum.Write(p[:n])
	h.left -= int64(n)
	switch {
	case h.left == 0 && h.file.SHA256 != "" && hex.EncodeToString(h.sum.Sum(nil)) != h.file.SHA256:
		return 0, &movedError{h.file.Path} // withhold the last bytes, so that an upload of the changed file fails
	case errors.Is(err, io.EOF) && h.left > 0:
		return n, &movedError{h.file.Path}
	case errors.Is(err, io.EOF):
		return n, nil
	}
	return n, durable.Storage(err)
}
