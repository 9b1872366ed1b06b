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

// Area is the folder of the new files of one run, staging/<account>.<run>. Different files may be written from several
// goroutines.
type Area struct {
	disk    durable.Disk
	dir     string
	runID   string
	writing chan struct{} // limits how many large files are written at the same time

	// committing is set before the commit record may have reached its place: from then on the files may belong to the
	// published generation, and only rolling forward may touch them.
	committing bool

	mu   sync.Mutex // guards zstd
	zstd *zstd.Encoder
}

// Begin creates the area of a run.
func (s *Store) Begin(runID string) (*Area, error) {
	dir := filepath.Join(s.dir, "staging", s.account+"."+runID)
	if err := s.opts.disk.Mkdir(dir); err != nil {
		return nil, durable.Storage(err)
	}
	return &Area{disk: s.opts.disk, dir: dir, runID: runID, writing: make(chan struct{}, runtime.GOMAXPROCS(0))}, nil
}

// path returns the staged path of the file to be published at path. The staging area is one flat folder, so that a
// single sync makes all names durable.
func (a *Area) path(path string) string {
	return filepath.Join(a.dir, strings.ReplaceAll(path, "/", "~")) + commit.StagedSuffix
}

// putRecords stages one Parquet file.
func (a *Area) putRecords(path string, t *schema.Table, recs iter.Seq[arrow.Record]) (*manifest.File, error) {
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

// putPrivate stages a Parquet file that only this run reads. It is not synced, and is removed with the staging area.
func (a *Area) putPrivate(path string, t *schema.Table, recs iter.Seq[arrow.Record]) (rows int64, err error) {
	f, rows, err := a.create(path, t, func(out io.Writer) (int64, error) { return parquet.Write(out, t, recs) })
	if err != nil {
		return 0, err
	}
	return rows, f.Close()
}

// create writes one Parquet file. Writing is bound by processor and memory, so more large files at a time than there
// are processors would only need more memory.
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

// pack compresses a reply. It creates the encoder on first use: a run that finds nothing new does not need its memory.
func (a *Area) pack(body []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.zstd == nil {
		var err error
		// A higher level or a wider window makes JSON rows no smaller.
		options := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(1 << 20)}
		if a.zstd, err = zstd.NewWriter(nil, options...); err != nil {
			return nil, err
		}
	}
	return a.zstd.EncodeAll(body, nil), nil
}

// Discard removes the folder, unless a commit has started: the commit needs the files.
func (a *Area) Discard() error {
	a.close()
	if a.committing {
		return nil
	}
	return a.disk.RemoveTree(a.dir)
}

// close releases the encoder. The files stay.
func (a *Area) close() {
	if a.zstd != nil {
		a.zstd.Close()
	}
}
