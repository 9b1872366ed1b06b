package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// Names of objects that are overwritten, and of the lock file in a folder.
const (
	pointerName = "current.json"
	pushedName  = "pushed.json"
	indexName   = "index.html"
	lockName    = "push.lock"
)

// stagingFolder is for objects in a folder that are being written.
const stagingFolder = ".staging/"

// Folders of objects. Readers do not need restoreFolder, so it can have stricter permissions.
const (
	warehouseFolder  = "warehouse/"
	reportFolder     = "report/"
	generationFolder = "generations/"
	objectFolder     = "objects/"
	restoreFolder    = "restore/"
	parquetFolder    = "parquet/"
)

// pointerFormat is the version of the format of the pointer and the lists.
const pointerFormat = 1

// Object identifies an object of the bucket and its content.
type Object struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Entry is a readable generation.
type Entry struct {
	Generation  int64          `json:"generation"`
	PublishedAt schema.Instant `json:"published_at"`
	Warehouse   Object         `json:"warehouse"`
	Files       Object         `json:"files"` // the list of its files
	Report      *Object        `json:"report,omitempty"`
	// Manifest is the hash of manifest.json, which identifies the generation.
	Manifest string `json:"manifest_sha256"`
}

// Pointer is the content of current.json.
type Pointer struct {
	Format        int `json:"format"`
	SchemaVersion int `json:"schema_version"`
	Entry
	RunID   string `json:"run_id"`
	Version string `json:"version"`
	// Generations are all readable generations, newest first.
	Generations []Entry `json:"generations"`
}

// File is a file of a generation, with the object that has its content.
type File struct {
	Path   string `json:"path"`
	Object string `json:"object"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (f File) snapshot() load.SnapshotFile {
	return load.SnapshotFile{Path: f.Path, Bytes: f.Bytes, SHA256: f.SHA256}
}

// list is the content of generations/N-H.json: the files of one generation. The last of them is manifest.json.
type list struct {
	Format     int    `json:"format"`
	Generation int64  `json:"generation"`
	Files      []File `json:"files"`
}

// pushed is the content of pushed.json: the last pointer for which [push.finish] is done.
type pushed struct {
	Pointer *Pointer `json:"pointer"`
}

// seen is a pointer together with the object from which it was read.
type seen struct {
	*Pointer
	text []byte
	tag  string
	at   time.Time // when it was written, by the clock of the storage
}

// base returns the name of a subfolder. Pushes that start from this pointer write their objects there.
func (s *seen) base() string { return fmt.Sprintf("%d-%.8s", s.Generation, durable.HashBytes(s.text)) }

// maxSmall exceeds the size of every pointer and list. A list has about 200 bytes a file.
const maxSmall = 64 << 20

// readPointer reads the pointer, or returns nil if there is none.
func (b *Bucket) readPointer(ctx context.Context) (*seen, error) {
	text, info, err := b.read(ctx, pointerName, maxSmall)
	if errors.Is(err, errNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	p := &Pointer{}
	if err := b.decode(pointerName, text, p); err != nil {
		return nil, err
	}
	if p.Generation < 1 || len(p.Generations) == 0 {
		return nil, b.damaged(pointerName, "it names no generation")
	}
	return &seen{p, text, info.tag, info.at}, nil
}

// decode decodes the JSON of an object, and refuses a newer format.
func (b *Bucket) decode(name string, text []byte, to any) error {
	var head struct {
		Format int `json:"format"`
	}
	err := json.Unmarshal(text, &head)
	if err == nil && head.Format > pointerFormat {
		return fmt.Errorf("%s: format %d; this binary knows format %d: %w", name, head.Format, pointerFormat,
			durable.ErrNewer)
	}
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return b.damaged(name, "it is not readable: %v", err)
	}
	return nil
}

// damaged returns a [durable.Damage] that describes an object with wrong content, and names the push that repairs it.
func (b *Bucket) damaged(name, format string, args ...any) *durable.Damage {
	repair := "spendsync push --full"
	if name == pointerName {
		repair = "spendsync push --accept-loss"
	}
	return durable.Damaged(b.address+"/"+name, repair, format, args...)
}

// lost returns a [durable.Damage] for an object that a push has written and that is now missing.
func (b *Bucket) lost(name string) *durable.Damage {
	return durable.Damaged(b.address+"/"+name, "spendsync push --full", "it was written, and the storage has lost it")
}

// readList reads the list of a generation's files.
func (b *Bucket) readList(ctx context.Context, e Entry) (*list, error) {
	text, _, err := b.read(ctx, e.Files.Name, min(e.Files.Bytes, maxSmall))
	if err != nil {
		return nil, err
	}
	if durable.HashBytes(text) != e.Files.SHA256 {
		return nil, b.damaged(e.Files.Name, "its bytes are not those that were pushed")
	}
	l := &list{}
	if err := b.decode(e.Files.Name, text, l); err != nil {
		return nil, err
	}
	for _, f := range l.Files {
		if !f.isSafe() {
			return nil, b.damaged(e.Files.Name, "it names %q, which is not a file of a store", f.Path)
		}
	}
	if len(l.Files) == 0 || l.Files[len(l.Files)-1].Path != manifest.FileName {
		return nil, b.damaged(e.Files.Name, "it does not end with %s", manifest.FileName)
	}
	return l, nil
}

// isSafe reports whether a pull may write the file. A list from a hostile bucket must not name files outside of the
// store, or files that the store itself manages.
func (f File) isSafe() bool {
	if !filepath.IsLocal(f.Path) || path.Clean(f.Path) != f.Path || f.Bytes < 0 {
		return false
	}
	first, _, below := strings.Cut(f.Path, "/")
	if below {
		return first != "locks" && first != "staging" && !strings.HasPrefix(first, ".")
	}
	return first == manifest.FileName || first == manifest.WarehouseName
}

// names returns the names of the objects that are not shared with other generations.
func (e Entry) names() []string {
	names := []string{e.Warehouse.Name, e.Files.Name}
	if e.Report != nil {
		names = append(names, e.Report.Name)
	}
	return names
}

// ReadNote returns an object that [Bucket.WriteNote] has written, or nil if there is none.
func (b *Bucket) ReadNote(ctx context.Context, name string) ([]byte, error) {
	text, _, err := b.read(ctx, name, maxSmall)
	if errors.Is(err, errNotFound) {
		return nil, nil
	}
	return text, err
}

// WriteNote writes or replaces a small object that is not part of a generation. It writes nothing to a bucket without a
// generation, which may be a share that is not mounted.
func (b *Bucket) WriteNote(ctx context.Context, name string, text []byte) error {
	pointer, err := b.readPointer(ctx)
	if err != nil || pointer == nil {
		return err
	}
	if err := b.put(ctx, name, textOf("application/json", text)); err != nil {
		return err
	}
	return b.sync([]string{name})
}

// isReply reports whether a file is a stored reply, which readers do not need.
func isReply(path string) bool { return strings.HasPrefix(path, "raw/") }

// isParquet reports whether a file has a copy below parquet/ in the bucket.
func isParquet(path string) bool { return strings.HasPrefix(path, parquetFolder) }
