package load

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"spendsync/load/commit"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestPublish_CancelledAnywhere ends the context at every step of a publication: the run reports it and the old
// generation stays published, or the commit had started and the new one is.
func TestPublish_CancelledAnywhere(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	st := scene(t)
	var steps []string
	for i := 0; i <= len(steps); i++ {
		if i%strideOf(5) != 0 {
			continue
		}
		dir := filepath.Join(quickDir(t), "data")
		copyStore(t, st.before, dir)
		ctx, cancel := context.WithCancel(t.Context())
		o := sceneOptions(durable.Disk{FS: lazyFiles{}})
		n := 0
		o.crash = func(step string) error {
			if n++; n == i {
				cancel()
			}
			if i == 0 {
				steps = append(steps, step)
			}
			return nil
		}
		err := sceneSecond().do(ctx, dir, o)
		cancel()
		content := st.settled(t, dir)
		switch {
		case err == nil && content != st.want:
			t.Errorf("step %d: said to be published, and is not", i)
		case err != nil && (!errors.Is(err, context.Canceled) || content == st.want):
			t.Errorf("step %d (%s): %v, published: %v", i, steps[i-1], err, content == st.want)
		}
	}
	if len(steps) < 10 {
		t.Errorf("only the steps %v", steps)
	}
}

// lawlessFiles are files on a volume that does not honour locks.
type lawlessFiles struct{ lazyFiles }

func (lawlessFiles) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// TestPublish_IsFencedWithoutLocks lets two runs publish at the same time where no
// lock holds them apart: the second finds that the generation it is built on is no
// longer the published one.
func TestPublish_IsFencedWithoutLocks(t *testing.T) {
	t.Parallel()
	st := scene(t)
	dir := filepath.Join(quickDir(t), "data")
	copyStore(t, st.before, dir)
	o := sceneOptions(durable.Disk{FS: lawlessFiles{}})
	late, other := sceneSecond(), sceneSecond()
	late.id = "late"
	var otherErr error
	o.crash = func(step string) error {
		if step == "commit record" { // the run's last moment before it commits
			// The other account's start removes the files of a dead run; it must not remove this one.
			keep := filepath.Join(filepath.Dir(dir), "kept")
			if err := os.Rename(filepath.Join(dir, "staging", "acme.late"), keep); err != nil {
				return err
			}
			otherErr = other.do(t.Context(), dir, sceneOptions(durable.Disk{FS: lawlessFiles{}}))
			return os.Rename(keep, filepath.Join(dir, "staging", "acme.late"))
		}
		return nil
	}
	if err := late.do(t.Context(), dir, o); !errors.Is(err, durable.ErrLocked) || otherErr != nil {
		t.Errorf("the late run = %v, want ErrLocked; the other = %v", err, otherErr)
	}
	m, err := manifest.Read(dir)
	if err != nil || m.RunID != "run2" || m.Generation != 2 {
		t.Errorf("published is %+v, %v", m, err)
	}
	if content := st.settled(t, dir); content != st.want {
		t.Errorf("the store holds\n%s", content)
	}
}

// TestPublish_HealsALogWithoutItsFile has a write-ahead log without its DuckDB file: DuckDB would delete or replay it,
// we keep it aside.
func TestPublish_HealsALogWithoutItsFile(t *testing.T) {
	t.Parallel()
	st := scene(t)
	dir := filepath.Join(quickDir(t), "data")
	copyStore(t, st.before, dir)
	if err := os.Remove(filepath.Join(dir, duck.FileName)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, duck.FileName+".wal"), []byte("not ours"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := sceneSecond().do(t.Context(), dir, sceneOptions(durable.Disk{FS: lazyFiles{}})); err != nil {
		t.Fatal(err)
	}
	checkScene(t, dir)
	if got := whole(t, dir); got != st.want {
		t.Errorf("the store holds\n%s", got)
	}
	aside, err := filepath.Glob(filepath.Join(dir, duck.FileName+".wal.aside-*"))
	if err != nil || len(aside) != 1 {
		t.Errorf("aside: %v, %v", aside, err)
	}
}

// TestStaging_HasNoNameThatReadersGlob looks at every name under which a file is made: a globbing reader finds only
// files that were renamed into their places. The quarantine is not for readers.
func TestStaging_HasNoNameThatReadersGlob(t *testing.T) {
	t.Parallel()
	st := scene(t)
	dir := filepath.Join(quickDir(t), "data")
	copyStore(t, st.before, dir)
	d := &namesMade{}
	if err := sceneSecond().do(t.Context(), dir, sceneOptions(durable.Disk{FS: d})); err != nil {
		t.Fatal(err)
	}
	if len(d.names) < 12 {
		t.Errorf("only %v were made", d.names)
	}
	for _, name := range d.names {
		below, err := filepath.Rel(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, commit.StagedSuffix) && !strings.HasPrefix(below, quarantine.FolderOf("")) {
			t.Errorf("%s is made under a name that somebody may read", name)
		}
	}
}

type namesMade struct {
	lazyFiles
	names []string
}

func (d *namesMade) OpenFile(path string, flag int, perm fs.FileMode) (durable.File, error) {
	if flag&os.O_CREATE != 0 {
		d.names = append(d.names, path)
	}
	return d.lazyFiles.OpenFile(path, flag, perm)
}

func TestOpen_RefusesAnAccountThatIsNoName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, account := range []string{"", ".", "..", "a/b", "../a", "A", "a.b", "a b", "-a", "ä", "a\x00",
		strings.Repeat("a", 41), "a'; DROP TABLE x; --"} {
		if s, err := Open(t.Context(), dir, account, Options{}); err == nil {
			s.Close()
			t.Errorf("%q is taken for an account", account)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made for a refused account")
	}
}

// TestSQL_NeverWritesFiles requires that DuckDB writes its own file, answers and marts, and no others: we write the
// Parquet files of the service's data, in staging.
func TestSQL_NeverWritesFiles(t *testing.T) {
	files, err := filepath.Glob("*.go")
	below, belowErr := filepath.Glob("*/*.go")
	if err := errors.Join(err, belowErr); err != nil || len(below) == 0 {
		t.Fatal(err, below)
	}
	for _, name := range append(files, below...) {
		// Answers are written to the caller's place, marts to the staging area.
		if strings.HasSuffix(name, "_test.go") || name == "duck/ask.go" || name == "duck/mart.go" {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"PARTITION_BY", "OVERWRITE", "COPY (", "EXPORT DATABASE", "INSERT OR REPLACE",
			"ON CONFLICT", "PRIMARY KEY"} {
			if strings.Contains(string(b), `"`+word) || strings.Contains(string(b), " "+word) {
				t.Errorf("%s has %s in its SQL", name, word)
			}
		}
	}
}

// unpackOldStore unpacks a store that an earlier version has written.
func unpackOldStore(t *testing.T, name, dir string) {
	t.Helper()
	f, err := os.Open(filepath.Join("../testdata/stores", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.FileInfo().IsDir() {
			continue
		}
		b, err := io.ReadAll(r)
		to := filepath.Join(dir, h.Name)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, b, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestMigration_DiesAnywhere ends the run that finds a store of the oldest version at
// its steps: the store is of the old version or of the new one, whole, and the next
// run brings it to the new one.
func TestMigration_DiesAnywhere(t *testing.T) {
	t.Parallel()
	old := filepath.Join(quickDir(t), "old")
	unpackOldStore(t, "v10-3.tar.zst", old)
	was, err := manifest.Read(old)
	if err != nil {
		t.Fatal(err)
	}
	if was.SchemaVersion != schema.Oldest {
		t.Fatalf("the old store has schema %d", was.SchemaVersion)
	}
	stride := strideOf(12)
	died := true
	for i := 0; died; i += stride {
		dir := filepath.Join(quickDir(t), "data")
		copyStore(t, old, dir)
		o := sceneOptions(durable.Disk{FS: lazyFiles{}})
		n := 0
		o.crash = func(string) error {
			if n++; n > i {
				return errCrash
			}
			return nil
		}
		err := sceneSecond().do(t.Context(), dir, o)
		if died = errors.Is(err, errCrash); !died && err != nil {
			t.Fatal(err)
		}
		o.crash = nil
		s, err := Open(t.Context(), dir, "acme", o)
		if err != nil {
			t.Fatalf("after %d steps: %v", i, err)
		}
		is := s.Manifest()
		s.Close()
		whole(t, dir)
		if is.Generation == was.Generation && !reflect.DeepEqual(is, was) {
			t.Errorf("after %d steps: the old generation is another", i)
		}
		if err := sceneSecond().do(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
		checkScene(t, dir)
		m, err := manifest.Read(dir)
		if err != nil || m.Format != manifest.Format || len(m.Accounts["acme"].LedgerSHA256) == 0 {
			t.Errorf("after %d steps and a run: format %d, %v", i, m.Format, err)
		}
		for d, k := range was.Accounts["acme"].Days {
			if now := m.Accounts["acme"].Days[d]; now == nil || now.ContentHash != k.ContentHash &&
				sceneSecond().days[d] == nil {
				t.Errorf("%s is not what it was", d)
			}
		}
	}
}

// TestAppendRun_LeavesACommitAlone has a run fail within its commit: the ledger
// that comes with the commit tells of it, and nothing contradicts that.
func TestAppendRun_LeavesACommitAlone(t *testing.T) {
	t.Parallel()
	st := scene(t)
	p := prepareCommit(t, st)
	for k := 1; k < 200; k += 23 {
		dir, _ := p.copy(t)
		d := manner{errno: syscall.EIO}.disk(k)
		o := sceneOptions(durable.Disk{FS: d})
		if err := p.commit(dir, o); err == nil {
			continue
		}
		d.Die()
		s := &Store{dir: dir, account: "acme", opts: sceneOptions(durable.Disk{FS: lazyFiles{}}).filled()}
		began := st.committedIn(dir).Generation == p.is.Generation
		run := schema.Run{AccountID: "acme", FinishedAt: schema.InstantOf(sceneSecond().at), ExitCode: 7, RunID: "run2"}
		if err := s.AppendRun(run, nil); err != nil {
			t.Errorf("call %d: %v", k, err)
		}
		next, err := Open(t.Context(), dir, "acme", s.opts)
		if err != nil {
			t.Fatal(err)
		}
		next.Close()
		last, err := manifest.LastRun(dir, "acme")
		if err != nil || last.RunID != "run2" || last.Published != began {
			t.Errorf("call %d (%s): the ledger says published %v, it is %v, %v", k, d.Struck(), last.Published,
				began, err)
		}
	}
}

func TestManifest_Clone(t *testing.T) {
	t.Parallel()
	st := scene(t)
	m, err := manifest.Read(st.after)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Clone()
	if !reflect.DeepEqual(m, c) {
		t.Fatal("the copy differs")
	}
	a := c.Accounts["acme"]
	a.Days[day].Reads++
	a.Files["x"], a.Ledger["x"], a.LedgerSHA256["x"] = &manifest.File{}, 1, "x"
	a.ReportedLost, a.Unknown = append(a.ReportedLost, day), append(a.Unknown, schema.UnknownField{})
	a.Confirmations["x"] = history.Confirmations{}
	c.Of("other").Since = day
	if again, err := manifest.Read(st.after); err != nil || !reflect.DeepEqual(m, again) {
		t.Errorf("a change of the copy shows in the original (%v)", err)
	}
}

// TestManifest_KnownIsNotDecodedAgain requires that only equal bytes make a manifest the known one.
func TestManifest_KnownIsNotDecodedAgain(t *testing.T) {
	dir := quickDir(t)
	first := newRun(t, dir).mustSync(twoDays())
	known, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for what, m := range map[string]*manifest.Manifest{"decoded": known, "published": first} {
		if got, err := manifest.ReadRoot(durable.OS, dir, m); err != nil || got != m {
			t.Errorf("the %s one is decoded again: %v", what, err)
		}
	}
	path := filepath.Join(dir, manifest.FileName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, changed := range map[string][]byte{
		"another digit":      bytes.Replace(b, []byte(`"days": 2`), []byte(`"days": 3`), 1),
		"something after it": append(slices.Clone(b), '}'),
	} {
		if err := os.WriteFile(path, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		if m, err := manifest.ReadRoot(durable.OS, dir, known); !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%s: %v, %v, want it refused", what, m, err)
		}
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	next := newRun(t, dir).mustSync(twoDays())
	if got, err := manifest.ReadRoot(durable.OS, dir, known); err != nil || got == known ||
		got.Generation != next.Generation {
		t.Errorf("the next generation is taken for the known one: %v", err)
	}
	unsealed := bytes.Replace(b, []byte(` "checksum": "`+known.Checksum+"\",\n"), nil, 1)
	for what, bad := range map[string][]byte{"no checksum": unsealed, "something after it": append(unsealed, '}')} {
		if _, err := manifest.Decode(bad); !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestStore_LeavesNothingRunning counts goroutines and open files over the opening,
// publishing, failing, verifying and closing of a store. It runs alone.
func TestStore_LeavesNothingRunning(t *testing.T) {
	st := scene(t)
	dir := filepath.Join(quickDir(t), "data")
	copyStore(t, st.before, dir)
	before := runtime.NumGoroutine()
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	for range 2 {
		if err := sceneSecond().do(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
		o.crash = func(step string) error {
			if step == "commit record" {
				return errCrash
			}
			return nil
		}
		if err := sceneSecond().do(t.Context(), dir, o); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		o.crash = nil
		checkScene(t, dir)
	}
	var open []string
	for range 100 { // the engine ends a little later
		open = open[:0]
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		for _, fd := range fds {
			if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, dir) {
				open = append(open, to)
			}
		}
		if len(open) == 0 && runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("open: %v; %d goroutines, there were %d:\n%s", open, runtime.NumGoroutine(), before,
		stacks[:runtime.Stack(stacks, true)])
}
