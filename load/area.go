package load

import (
	"io"
	"iter"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/klauspost/compress/zstd"

	"spendsync/load/commit"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Area is the folder staging/<account>.<run>, which contains the new files of one run. Several goroutines may write
// different files at the same time.
type Area struct {
	disk    durable.Disk
	dir     string
	runID   string
	writing chan struct{} // limits how many large files are written at the same time

	// committing is set right before the commit record is renamed to its place. From then on the files may belong to
	// the published generation, so only the code that finishes the commit may move or remove them.
	committing bool

	mu   sync.Mutex // guards zstd
	zstd *zstd.Encoder
}

// Begin creates the staging area for the files of a run.
func (s *Store) Begin(runID string) (*Area, error) {
	dir := filepath.Join(s.dir, "staging", s.account+"."+runID)
	if err := s.opts.disk.Mkdir(dir); err != nil {
		return nil, durable.Storage(err)
	}
	return &Area{disk: s.opts.disk, dir: dir, runID: runID, writing: make(chan struct{}, runtime.GOMAXPROCS(0))}, nil
}

// path returns the path in the staging area for a file that is to be published at the given path. The staging area is
// one flat folder, so that a single sync makes all names durable.
func (a *Area) path(path string) string {
	return filepath.Join(a.dir, strings.ReplaceAll(path, "/", "~")) + commit.StagedSuffix
}

// putRecords stages one Parquet file.
func (a *Area) putRecords(path string, t *schema.Table, recs iter.Seq[arrow.Record]) (*manifest.File, error) {
	return a.putFile(path, t, func(out io.Writer) (int64, error) { return parquet.Write(out, t, recs) })
}

// putFile stages one Parquet file. The given function writes the file's bytes and returns the number of rows.
func (a *Area) putFile(path string, t *schema.Table, write func(io.Writer) (int64, error)) (*manifest.File, error) {
	f, rows, err := a.create(path, t, write)
	if err != nil {
		return nil, err
	}
	sha, size, err := f.Finish()
	if err != nil {
		return nil, err
	}
	return &manifest.File{Kind: manifest.KindParquet, Table: t.Name, Rows: rows, Bytes: size, SHA256: sha,
		RunID: a.runID}, nil
}

// putPrivate stages a Parquet file that only this run reads. The file is not synced, and is removed with the staging
// area.
func (a *Area) putPrivate(path string, t *schema.Table, recs iter.Seq[arrow.Record]) (rows int64, err error) {
	f, rows, err := a.create(path, t, func(out io.Writer) (int64, error) { return parquet.Write(out, t, recs) })
	if err != nil {
		return 0, err
	}
	return rows, f.Close()
}

// create writes one Parquet file. It limits the number of large files that are written at the same time: with more
// files than processors, writing would need more memory and be no faster.
func (a *Area) create(path string, t *schema.Table, write func(io.Writer) (int64, error)) (f *durable.Writer,
	rows int64, err error) {
	if f, err = a.disk.Create(a.path(path)); err != nil {
		return nil, 0, err
	}
	if t.Large {
		a.writing <- struct{}{}
		defer func() { <-a.writing }()
	}
	if rows, err = write(f); err != nil {
		f.Abort()
	}
	return f, rows, err
}

// pack compresses a reply. It creates the encoder on first use, because a run that finds nothing new does not need the
// encoder's memory.
func (a *Area) pack(body []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.zstd == nil {
		var err error
		// A higher level or a wider window would not compress JSON rows better.
		options := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(1 << 20)}
		if a.zstd, err = zstd.NewWriter(nil, options...); err != nil {
			return nil, err
		}
	}
	return a.zstd.EncodeAll(body, nil), nil
}

// Discard removes the area's folder, unless a commit has started: the commit needs the files.
func (a *Area) Discard() error {
	a.close()
	if a.committing {
		return nil
	}
	return a.disk.RemoveTree(a.dir)
}

// close releases the encoder. It removes no files.
func (a *Area) close() {
	if a.zstd != nil {
		a.zstd.Close()
	}
}
