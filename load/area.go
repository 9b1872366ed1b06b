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

// Area is the folder of the new files of one run, staging/<account>.<run>. It knows of no other file. Its methods may
// be called from several goroutines, for different files.
type Area struct {
	disk    durable.Disk
	dir     string
	runID   string
	writing chan struct{} // has room for as many files of the report as are written at the same time

	// committing is set before the commit record may have reached its place: from then on the files may belong to the
	// published generation, and only rolling forward may touch them.
	committing bool

	mu   sync.Mutex // of the encoder, which serves one at a time
	zstd *zstd.Encoder
}

// Begin opens an area of the run's own.
func (s *Store) Begin(runID string) (*Area, error) {
	dir := filepath.Join(s.dir, "staging", s.account+"."+runID)
	if err := s.opts.disk.Mkdir(dir); err != nil {
		return nil, durable.Storage(err)
	}
	return &Area{disk: s.opts.disk, dir: dir, runID: runID, writing: make(chan struct{}, runtime.GOMAXPROCS(0))}, nil
}

// path returns where a published path is built. The staging area is one flat folder, so that one sync of
// it makes all its names durable.
func (a *Area) path(path string) string {
	return filepath.Join(a.dir, strings.ReplaceAll(path, "/", "~")) + commit.StagedSuffix
}

// putPart stages one Parquet file.
func (a *Area) putPart(path string, t *schema.Table, recs iter.Seq[arrow.Record]) (*manifest.File, error) {
	return a.putFile(path, t, func(out io.Writer) (int64, error) { return parquet.Write(out, t, recs) })
}

// putFile stages a file to be published.
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

// putPrivate stages a Parquet file that only this run reads. It disappears with the staging area, mostly
// before the disk has seen it.
func (a *Area) putPrivate(path string, t *schema.Table, recs iter.Seq[arrow.Record]) (rows int64, err error) {
	f, rows, err := a.create(path, t, func(out io.Writer) (int64, error) { return parquet.Write(out, t, recs) })
	if err != nil {
		return 0, err
	}
	return rows, f.Close()
}

// create writes one Parquet file. That takes processors and memory, and waits for nothing:
// more large ones at the same time than there are processors would only take more memory.
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

// pack compresses a reply. The encoder takes memory, which a run that finds
// nothing new never needs.
func (a *Area) pack(body []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.zstd == nil {
		var err error
		// Rows of JSON are so similar that more effort or a wider window saves no byte.
		options := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(1 << 20)}
		if a.zstd, err = zstd.NewWriter(nil, options...); err != nil {
			return nil, err
		}
	}
	return a.zstd.EncodeAll(body, nil), nil
}

// Discard removes the folder, unless a commit has started: its files are then needed to finish it.
func (a *Area) Discard() error {
	a.close()
	if a.committing {
		return nil
	}
	return a.disk.RemoveTree(a.dir)
}

// close gives the memory of the encoder back. The files stay.
func (a *Area) close() {
	if a.zstd != nil {
		a.zstd.Close()
	}
}
