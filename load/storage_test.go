package load

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"spendsync/load/commit"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
)

// lawlessFiles simulate a volume that does not honor locks.
type lawlessFiles struct{ lazyFiles }

func (lawlessFiles) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// TestPublish_IsFencedWithoutLocks lets two runs publish at the same time without working locks. The second run notices
// that its base is no longer published.
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
		if step == "commit record" { // right before the run commits
			// The other run's start would remove this run's staged files as those of a dead run, so hide them
			// meanwhile.
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

// TestStaging_HasNoNameThatReadersGlob checks the name of every created file: a glob must match only files that were
// renamed into their places. The quarantine is exempt.
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

// TestAppendRun_LeavesACommitAlone: if a run fails within its commit, AppendRun adds nothing, because the commit
// publishes a ledger with the run.
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
		last, err := manifest.LastRunThat(dir, "acme", func(*schema.Run) bool { return true })
		if err != nil || last.RunID != "run2" || last.Published != began {
			t.Errorf("call %d (%s): the ledger says published %v, it is %v, %v", k, d.Struck(), last.Published,
				began, err)
		}
	}
}

// TestStore_LeavesNothingRunning counts goroutines and open files while stores are opened, published, verified and
// closed, and while publishing fails. It does not run in parallel.
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
	for range 100 { // the engine's threads end with a delay
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
