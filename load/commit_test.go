package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"spendsync/load/commit"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema/schematest"
)

// farFiles simulate one folder on another file system: no file can be renamed into it or out of it.
type farFiles struct {
	durable.FS
	at string // for example "/parquet"
}

func (d farFiles) Rename(from, to string) error {
	far := func(path string) bool { return strings.Contains(path+"/", d.at+"/") }
	if far(from) != far(to) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
	}
	return d.FS.Rename(from, to)
}

// begun returns a store in which a run has written the commit record and died before the first move.
func (p *preparedCommit) begun(t testing.TB) (string, *manifest.Manifest) {
	t.Helper()
	dir, is := p.copy(t)
	o := Options{crash: func(step string) error {
		if strings.HasPrefix(step, "move ") {
			return errCrash
		}
		return nil
	}}
	if err := p.commit(dir, o); !errors.Is(err, errCrash) {
		t.Fatalf("commit = %v, want the crash", err)
	}
	return dir, is
}

var farFolders = []string{"/parquet", "/raw", "/ledger"}

// TestFaults_AnyCallOfACommitThatCopies finishes a started commit, with a folder on another file system. Every call
// fails once, and the next start finishes the commit.
func TestFaults_AnyCallOfACommitThatCopies(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	st := scene(t)
	p := prepareCommit(t, st)
	for i, at := range farFolders {
		enumerate(t, st, "a commit into "+at, 2+i, p.begun, func(dir string, o Options) error {
			o.disk = durable.Disk{FS: farFiles{o.disk.FS, at}}
			return o.filled().place(dir).End()
		})
	}
}

// TestPowerLoss_DuringACommitThatCopies loses power at every moment while a start finishes a commit that must copy
// files to another file system.
func TestPowerLoss_DuringACommitThatCopies(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	st := scene(t)
	p := prepareCommit(t, st)
	for _, at := range farFolders {
		begun, _ := p.begun(t)
		root := quickDir(t)
		dir := filepath.Join(root, "data")
		copyStore(t, begun, dir)
		d := newFrailFiles(t, root)
		promised := true // the record is durable, so the new generation must be found
		tried := powerLosses(t, st, d, dir, powerStride(3), &promised)
		o := sceneOptions(durable.Disk{FS: farFiles{d, at}})
		if err := o.filled().place(dir).End(); err != nil {
			t.Fatal(err)
		}
		d.each("the end of", dir+"/"+manifest.CommitName)
		t.Logf("%s: %d calls, %d losses of power", at, d.calls, *tried)
		copied := fileHashes(t, dir, ".")
		for path := range copied {
			if strings.HasSuffix(path, ".copy") {
				t.Errorf("%s is left", path)
			}
		}
	}
}

// TestOpen_EndsACommitBeforeItRefuses opens a store whose folder parquet moved to another file system during a commit.
// Open finishes the commit, and then refuses the store.
func TestOpen_EndsACommitBeforeItRefuses(t *testing.T) {
	t.Parallel()
	st := scene(t)
	dir, is := prepareCommit(t, st).begun(t)
	u, err := commit.Find(dir)
	if err != nil || u == nil || u.Generation != is.Generation || u.RunID != "run2" ||
		!slices.Contains(u.Left, manifest.FileName) {
		t.Errorf("the unfinished commit is %+v, %v", u, err)
	}
	_, err = Open(t.Context(), dir, "acme", sceneOptions(durable.Disk{FS: farFiles{lazyFiles{}, "/parquet"}}))
	if !errors.Is(err, durable.ErrStorage) || !strings.Contains(fmt.Sprint(err), "link or mount") {
		t.Errorf("Open = %v, want ErrStorage", err)
	}
	if m, err := manifest.Read(dir); err != nil || m.Generation != is.Generation {
		t.Errorf("%+v is published, %v", m, err)
	}
	if u, err := commit.Find(dir); u != nil || err != nil {
		t.Errorf("%+v is unfinished, %v", u, err)
	}
	info, err := os.Stat(filepath.Join(dir, "warehouse.duckdb"))
	if err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("warehouse.duckdb is %v, %v", info.Mode(), err)
	}
	st.settled(t, dir)
}
