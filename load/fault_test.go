package load

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"spendsync/load/commit"
	"spendsync/load/durable"
	"spendsync/load/loadtest"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// manner is a way in which a call fails.
type manner struct {
	after, always bool
	errno         syscall.Errno
}

func (m manner) String() string {
	text := "without effect"
	if m.after {
		text = "with its effect"
	}
	if m.always {
		text += " and all after it"
	}
	return text + ": " + m.errno.Error()
}

// manners are all the ways for a call to fail.
func manners() (all []manner) {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EROFS} {
		for _, after := range []bool{false, true} {
			for _, always := range []bool{false, true} {
				all = append(all, manner{after, always, errno})
			}
		}
	}
	return all
}

// strideOf returns the number of calls between two calls that fail. The default is four times the usual stride. It is
// the usual stride in .ci/run, and 1 in .ci/long.
func strideOf(usual int) int {
	if testing.Short() {
		return usual*5 + 1
	}
	return schematest.Times(usual*4, usual, 1)
}

// mannersOf returns the manners to try on the k-th call.
func mannersOf(k int) []manner {
	all := manners()
	if schematest.Times(0, 0, 1) == 1 {
		return all
	}
	return []manner{all[k*5%len(all)]}
}

func (m manner) disk(at int) *loadtest.Faults {
	return &loadtest.Faults{At: at, After: m.after, Always: m.always, Errno: m.errno}
}

// enumerate runs work many times, and each time another call of the file system fails: every call whose number is a
// multiple of the stride. prepare creates the store for work. Each time the readers must see an intact store, and
// [sceneStores.settled] must hold after the next start.
func enumerate(t *testing.T, st *sceneStores, name string, stride int, prepare func(t testing.TB) (dir string,
	isNew *manifest.Manifest), work func(dir string, o Options) error) {
	t.Helper()
	stride = strideOf(stride)
	failEach(t, st, name, func(calls []string) (which []int) {
		for k := stride; k <= len(calls); k += stride {
			which = append(which, k)
		}
		return which
	}, prepare, work)
}

// failEach is like enumerate, but fails only the calls whose numbers, counted from 1, the function pick returns.
func failEach(t *testing.T, st *sceneStores, name string, pick func(calls []string) []int,
	prepare func(t testing.TB) (dir string, isNew *manifest.Manifest), work func(dir string, o Options) error) {
	t.Helper()
	dir, _ := prepare(t)
	dry := &loadtest.Faults{}
	if err := work(dir, sceneOptions(durable.Disk{FS: dry})); err != nil {
		t.Fatalf("%s, undisturbed: %v", name, err)
	}
	if left := dry.Die(); len(left) > 0 {
		t.Errorf("%s leaves %d files open: %v", name, len(left), left)
	}
	cases, survived, after := 0, 0, 0
	for i, k := range pick(dry.Calls()) {
		for _, m := range mannersOf(i + 1) {
			cases++
			dir, isNew := prepare(t)
			d := m.disk(k)
			err := work(dir, sceneOptions(durable.Disk{FS: d}))
			left := d.Die()
			where := fmt.Sprintf("%s, call %d (%s) fails %s", name, k, strings.TrimPrefix(d.Struck(), dir+"/"), m)
			failed := t.Failed()
			if len(left) > 0 && !strings.HasPrefix(d.Struck(), "unlock") && !m.always {
				t.Errorf("left open: %v", left)
			}
			if d.Struck() == "" {
				t.Error("the call was not reached")
			}
			if err != nil && (!errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrDamaged)) {
				t.Errorf("%v is not a storage error", err)
			}
			if err == nil {
				survived++
			}
			generations := []*manifest.Manifest{st.was}
			if isNew != nil {
				generations = append(generations, isNew)
			} else {
				generations = append(generations, generationsIn(dir)...)
			}
			st.readersSee(t, dir, generations)
			if content := st.settled(t, dir); content == st.want {
				after++
			} else if err == nil {
				t.Error("it was said to be published and is not")
			}
			if t.Failed() && !failed {
				t.Logf("^ %s: %v", where, err)
			}
			os.RemoveAll(dir)
		}
	}
	t.Logf("%s: %d calls, %d faults; %d did not matter, %d ended with the new generation", name, len(dry.Calls()),
		cases, survived, after)
}

// generationsIn returns the generations that a disturbed run may have created: the published generation and the
// generation of a started commit. A run that first finished another run's commit may have created two generations.
func generationsIn(dir string) (made []*manifest.Manifest) {
	if m, err := manifest.Read(dir); err == nil {
		made = append(made, m)
	}
	r, err := commit.Read(durable.OS, dir, nil)
	if err != nil || r == nil {
		return made
	}
	aside, err := os.MkdirTemp("", "staged-manifest-")
	if err != nil {
		return made
	}
	defer os.RemoveAll(aside)
	for _, mv := range r.Moves {
		if mv.To != manifest.FileName && !strings.HasPrefix(mv.To, "manifest/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, mv.From))
		if err != nil { // the commit has moved the file
			b, err = os.ReadFile(filepath.Join(dir, mv.To))
		}
		to := filepath.Join(aside, mv.To)
		if errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, b, 0o644)) != nil {
			return made
		}
	}
	if m, err := manifest.Read(aside); err == nil {
		made = append(made, m)
	}
	return made
}

// committedIn returns the generation of the disturbed run, published or in a started commit. If there is none, it
// returns the old generation.
func (st *sceneStores) committedIn(dir string) *manifest.Manifest {
	for _, m := range generationsIn(dir) {
		if m.Generation != st.was.Generation {
			return m
		}
	}
	return st.was
}

// TestFaults_AnyCallOfARun fails every call of a run, from opening the store to closing it. Without a commit record the
// store is unchanged. The calls of the commit are tested more thoroughly by TestFaults_AnyCallOfACommit.
func TestFaults_AnyCallOfARun(t *testing.T) {
	t.Parallel()
	st := scene(t)
	enumerate(t, st, "a run", 17,
		func(t testing.TB) (string, *manifest.Manifest) {
			dir := filepath.Join(quickDir(t), "data")
			copyStore(t, st.before, dir)
			return dir, nil
		},
		func(dir string, o Options) error { return sceneSecond().do(t.Context(), dir, o) })
}

// preparedCommit is a store in which a run has staged everything and is about to write its commit record.
type preparedCommit struct {
	dir    string // before the record is written
	record commit.Record
	is     *manifest.Manifest
}

func prepareCommit(t *testing.T, st *sceneStores) *preparedCommit {
	t.Helper()
	p := &preparedCommit{dir: filepath.Join(quickDir(t), "prepared")}
	copyStore(t, st.before, p.dir)
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	o.crash = func(step string) error {
		if step == "commit record" {
			return errCrash
		}
		return nil
	}
	if err := sceneSecond().do(t.Context(), p.dir, o); !errors.Is(err, errCrash) {
		t.Fatalf("run = %v, want the crash", err)
	}
	draft := filepath.Join(p.dir, "staging", "acme.run2", manifest.CommitName+commit.StagedSuffix)
	if err := os.Rename(draft, filepath.Join(p.dir, manifest.CommitName)); err != nil {
		t.Fatal(err)
	}
	r, err := commit.Read(durable.OS, p.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.record, p.is = *r, st.committedIn(p.dir)
	if err := os.Remove(filepath.Join(p.dir, manifest.CommitName)); err != nil {
		t.Fatal(err)
	}
	if p.is.Generation != st.was.Generation+1 {
		t.Fatalf("generation %d is prepared", p.is.Generation)
	}
	return p
}

func (p *preparedCommit) copy(t testing.TB) (string, *manifest.Manifest) {
	dir := filepath.Join(quickDir(t), "data")
	copyStore(t, p.dir, dir)
	return dir, p.is
}

// commit does the commit that was prepared.
func (p *preparedCommit) commit(dir string, o Options) error {
	o = o.filled()
	s := &Store{dir: dir, account: "acme", opts: o}
	a := &Area{runID: "run2", dir: filepath.Join(dir, "staging", "acme.run2")}
	err := (&generation{store: s, area: a}).writeCommit(p.record)
	if !a.committing {
		err = errors.Join(err, o.disk.RemoveTree(a.dir))
	}
	return err
}

// TestFaults_AnyCallOfACommit fails every call from writing the commit record on.
func TestFaults_AnyCallOfACommit(t *testing.T) {
	t.Parallel()
	st := scene(t)
	p := prepareCommit(t, st)
	enumerate(t, st, "a commit", 1, p.copy, p.commit)
}

// TestFaults_AnyCallOfARecovery fails every call of a start that finishes another run's commit. That run has moved
// none, half or all of its files.
func TestFaults_AnyCallOfARecovery(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	st := scene(t)
	p := prepareCommit(t, st)
	open := func(dir string, o Options) error {
		s, err := Open(t.Context(), dir, "acme", o)
		if err != nil {
			return err
		}
		return s.Close()
	}
	for _, moved := range []int{0, len(p.record.Moves) / 2, len(p.record.Moves)} {
		enumerate(t, st, fmt.Sprintf("a recovery after %d moves", moved), 2, func(t testing.TB) (string,
			*manifest.Manifest) {
			dir, is := p.copy(t)
			o := Options{}
			moves := 0
			o.crash = func(step string) error {
				if strings.HasPrefix(step, "move ") || step == "manifest moved" {
					if moves++; moves > moved {
						return errCrash
					}
				}
				return nil
			}
			if err := p.commit(dir, o); !errors.Is(err, errCrash) {
				t.Fatalf("commit = %v, want the crash", err)
			}
			return dir, is
		}, open)
	}
}

// TestFaults_VerifyTellsTheDiskFromDamage fails every call of a verification, which must report an error of the disk
// and never damage.
func TestFaults_VerifyTellsTheDiskFromDamage(t *testing.T) {
	t.Parallel()
	st := scene(t)
	verify := func(d *loadtest.Faults) (*Verification, error) {
		return Verify(t.Context(), st.after, sceneOptions(durable.Disk{FS: d}), func(account string, d schema.Date,
			_ []schema.Piece, pages iter.Seq2[[]byte, error]) (*schema.SpendRows, error) {
			if _, err := textsOf(pages); err != nil {
				return nil, err
			}
			path := manifest.TablePath(schema.SpendDaily.Table, account, d)
			rows, err := parquet.ReadRows(filepath.Join(st.after, path), schema.SpendDaily)
			return schematest.Packed(rows), err
		})
	}
	dry := &loadtest.Faults{}
	if r, err := verify(dry); err != nil || len(r.Damages) > 0 {
		t.Fatalf("undisturbed: %+v, %v", r, err)
	}
	stride := strideOf(7)
	for k := 1; k <= len(dry.Calls()); k += stride {
		for _, m := range mannersOf(k) {
			d := m.disk(k)
			r, err := verify(d)
			left := d.Die()
			if err == nil && (d.Struck() == "" || strings.HasPrefix(d.Struck(), "close") ||
				strings.HasPrefix(d.Struck(), "unlock")) {
				continue // files are read concurrently, so the number of calls varies
			}
			if err == nil && m.after && len(r.Damages) == 0 {
				continue // everything was read before the call failed
			}
			if !errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrDamaged) {
				t.Errorf("call %d (%s) fails %s: %+v, %v", k, d.Struck(), m, r, err)
			}
			if len(left) > 0 && !m.always && !strings.HasPrefix(d.Struck(), "unlock") {
				t.Errorf("call %d (%s) fails %s: left open: %v", k, d.Struck(), m, left)
			}
		}
	}
}
