package load

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema/schematest"
)

// frailFiles are real files that also record what a power loss would leave: the synced content under the synced names.
// Everything else may survive completely, in part, or not at all.
//
// The rules are the worst that POSIX allows. Syncing a file does not sync its name, and syncing a folder does not sync
// its own name. Names may become durable in any order. A file that was not synced may be empty, torn or zeros. Only a
// rename is atomic: the file keeps at least one of the two names.
type frailFiles struct {
	lazyFiles
	root   string // contains all paths, and is durable
	top    *frailNode
	calls  int
	each   func(what, path string) // called after every call that changes something
	dieAt  int                     // the call before which the process dies; 0: never
	isDead bool
}

// frailNode is a file or a folder.
type frailNode struct {
	dir     bool
	content []byte
	synced  []byte                // of a file: its synced content
	names   map[string]*frailNode // of a folder: its present names
	durable map[string]*frailNode // of a folder: its synced names
	steps   []nameStep            // changes since the folder was synced
}

// nameStep is the creation (node is set) or removal of a name in a folder. If the removal is part of a rename, came
// points to the creation of the new name.
type nameStep struct {
	name string
	node *frailNode
	came *nameStep // for the old name of a renamed file: the creation of the new one
	in   *frailNode
}

func newFrailFolder() *frailNode {
	return &frailNode{dir: true, names: map[string]*frailNode{}, durable: map[string]*frailNode{}}
}

// newFrailFiles returns frailFiles in which everything below root is durable.
func newFrailFiles(t testing.TB, root string) *frailFiles {
	d := &frailFiles{root: root, top: newFrailFolder()}
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == root || strings.HasSuffix(p, ".lock") {
			return err
		}
		n := newFrailFolder()
		if !e.IsDir() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			n = &frailNode{content: b, synced: b}
		}
		folder, name := d.parent(p)
		folder.names[name], folder.durable[name] = n, n
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// node returns a file or folder, or nil.
func (d *frailFiles) node(path string) *frailNode {
	rel, err := filepath.Rel(d.root, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return nil
	}
	n := d.top
	for _, part := range strings.Split(rel, "/") {
		if part != "." && n != nil {
			n = n.names[part]
		}
	}
	return n
}

func (d *frailFiles) parent(path string) (*frailNode, string) {
	return d.node(filepath.Dir(path)), filepath.Base(path)
}

func (n *frailNode) add(name string, child *frailNode) *nameStep {
	n.names[name] = child
	step := &nameStep{name: name, node: child, in: n}
	n.steps = append(n.steps, *step)
	return step
}

func (n *frailNode) drop(name string, came *nameStep) {
	delete(n.names, name)
	n.steps = append(n.steps, nameStep{name: name, came: came, in: n})
}

// do counts a call that changes something, and then makes the call, unless the process has died.
func (d *frailFiles) do(what, path string, change func() error) error {
	if strings.HasSuffix(path, ".lock") {
		return change()
	}
	if d.calls++; d.isDead || d.calls == d.dieAt {
		d.isDead = true
		return errCrash
	}
	if err := change(); err != nil {
		return err
	}
	if d.each != nil {
		d.each(what, path)
	}
	return nil
}

func (d *frailFiles) OpenFile(path string, flag int, perm fs.FileMode) (f durable.File, err error) {
	if flag&os.O_CREATE == 0 {
		if f, err = d.lazyFiles.OpenFile(path, flag, perm); err != nil {
			return nil, err
		}
		return &frailFile{d, f, path, d.node(path)}, nil
	}
	err = d.do("create", path, func() error {
		if f, err = d.lazyFiles.OpenFile(path, flag, perm); err != nil {
			return err
		}
		folder, name := d.parent(path)
		folder.add(name, &frailNode{})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &frailFile{d, f, path, d.node(path)}, nil
}

func (d *frailFiles) Mkdir(path string) error {
	return d.do("mkdir", path, func() error {
		if err := d.lazyFiles.Mkdir(path); err != nil {
			return err
		}
		folder, name := d.parent(path)
		folder.add(name, newFrailFolder())
		return nil
	})
}

func (d *frailFiles) Rename(from, to string) error {
	return d.do("rename", to, func() error {
		if err := d.lazyFiles.Rename(from, to); err != nil {
			return err
		}
		source, name := d.parent(from)
		target, as := d.parent(to)
		moved := d.seen(from, source, name)
		source.drop(name, target.add(as, moved))
		return nil
	})
}

// seen returns the node of a file. If DuckDB has created the file, seen creates the node.
func (d *frailFiles) seen(path string, folder *frailNode, name string) *frailNode {
	n := folder.names[name]
	if n == nil {
		n = &frailNode{}
		folder.add(name, n)
	}
	return n
}

func (d *frailFiles) Remove(path string) error {
	return d.do("remove", path, func() error {
		if err := d.lazyFiles.Remove(path); err != nil {
			return err
		}
		if folder, name := d.parent(path); folder != nil && folder.names[name] != nil {
			folder.drop(name, nil)
		}
		return nil
	})
}

func (d *frailFiles) Chmod(string, fs.FileMode) error { return nil }

// Clone fails as on a file system without clones, because unsynced content is recorded only for written files.
func (d *frailFiles) Clone(string, string) error { return errors.ErrUnsupported }

type frailFile struct {
	d    *frailFiles
	file durable.File
	path string
	n    *frailNode
}

func (f *frailFile) Read(p []byte) (int, error)               { return f.file.Read(p) }
func (f *frailFile) ReadAt(p []byte, off int64) (int, error)  { return f.file.ReadAt(p, off) }
func (f *frailFile) Stat() (fs.FileInfo, error)               { return f.file.Stat() }
func (f *frailFile) Close() error                             { return f.file.Close() }
func (d *frailFiles) Lstat(p string) (fs.FileInfo, error)     { return d.lazyFiles.Lstat(p) }
func (d *frailFiles) ReadDir(p string) ([]fs.DirEntry, error) { return d.lazyFiles.ReadDir(p) }
func (d *frailFiles) Lock(path string) (c io.Closer, e error) { return d.lazyFiles.Lock(path) }
func (f *frailFile) Write(p []byte) (n int, err error) {
	err = f.d.do("write", f.path, func() error {
		n, err = f.file.Write(p)
		f.n.content = append(f.n.content[:len(f.n.content):len(f.n.content)], p[:n]...)
		return err
	})
	return n, err
}

func (f *frailFile) Sync() error {
	if rel, err := filepath.Rel(f.d.root, f.path); err != nil || strings.HasPrefix(rel, "..") {
		return nil // the folder is durable
	}
	return f.d.do("sync", f.path, func() error {
		if f.n == nil { // DuckDB has created the file
			folder, name := f.d.parent(f.path)
			f.n = f.d.seen(f.path, folder, name)
		}
		if f.n.dir {
			f.n.durable, f.n.steps = maps.Clone(f.n.names), nil
			return nil
		}
		// DuckDB does not write through this FS: take the present content as synced.
		b, err := os.ReadFile(f.path)
		f.n.content, f.n.synced = b, b
		return err
	})
}

// survivor decides which unsynced changes survive a power loss.
type survivor struct {
	name  string
	step  func(nameStep) bool             // reports whether a change of a name survives
	bytes func(synced, now []byte) []byte // returns the surviving content of a file
}

// survivors are the extreme cases, and a random one.
func survivors(r *rand.Rand) []survivor {
	half := func(nameStep) bool { return r.IntN(2) == 0 }
	torn := func(synced, now []byte) []byte {
		switch r.IntN(4) {
		case 0:
			return synced
		case 1:
			return now
		case 2:
			return now[:r.IntN(len(now)+1)]
		}
		b := bytes.Clone(now)
		for i := r.IntN(len(b) + 1); i < len(b); i++ {
			b[i] = 0
		}
		return b
	}
	return []survivor{
		{"only what was synced", func(nameStep) bool { return false }, func(synced, _ []byte) []byte { return synced }},
		{"all names, no content", func(nameStep) bool { return true }, func(synced, now []byte) []byte {
			if len(synced) > 0 {
				return synced
			}
			return make([]byte, len(now))
		}},
		{"some names, torn content", half, torn},
	}
}

// afterPowerLoss writes the surviving files into a new folder.
func (d *frailFiles) afterPowerLoss(t testing.TB, s survivor, to string) {
	t.Helper()
	came := map[[2]any]bool{} // the surviving new names, by folder and name
	names := map[*frailNode]map[string]*frailNode{}
	var folders func(n *frailNode)
	known := map[*frailNode]bool{}
	folders = func(n *frailNode) {
		if known[n] || !n.dir {
			return
		}
		known[n] = true
		is := maps.Clone(n.durable)
		for _, step := range n.steps {
			if step.node != nil && s.step(step) {
				is[step.name] = step.node
				came[[2]any{n, step.name}] = true
			}
		}
		names[n] = is
		for _, from := range []map[string]*frailNode{n.durable, n.names} {
			for _, child := range from {
				folders(child)
			}
		}
	}
	folders(d.top)
	// Removals come second: the old name of a renamed file is gone only if the new name survives, in a folder that
	// survives.
	there := map[*frailNode]bool{}
	var reach func(n *frailNode)
	reach = func(n *frailNode) {
		there[n] = true
		for _, child := range names[n] {
			if child.dir {
				reach(child)
			}
		}
	}
	reach(d.top)
	for n, is := range names {
		for _, step := range n.steps {
			if step.node != nil {
				continue
			}
			if c := step.came; c != nil && (!there[c.in] || !came[[2]any{c.in, c.name}] &&
				c.in.durable[c.name] != c.node) {
				continue
			}
			if s.step(step) && !(n.names[step.name] != nil && is[step.name] == n.names[step.name]) {
				delete(is, step.name)
			}
		}
	}
	var write func(n *frailNode, path string)
	write = func(n *frailNode, path string) {
		var err error
		if n.dir {
			err = os.MkdirAll(path, 0o755)
			for _, name := range slices.Sorted(maps.Keys(names[n])) {
				write(names[n][name], filepath.Join(path, name))
			}
		} else {
			b := n.content
			if !bytes.Equal(n.synced, n.content) {
				b = s.bytes(n.synced, n.content)
			}
			err = os.WriteFile(path, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(d.top, to)
}

// powerLosses tries each survivor after each n-th call that changes something (n is the parameter every), after the
// calls for the commit record, and after the first call of each kind. The next start must find the old or the new
// generation complete. If *promised is set, the run was told of its publication, so the next start must find the new
// generation.
func powerLosses(t *testing.T, st *sceneStores, d *frailFiles, dir string, every int, promised *bool) (tried *int) {
	t.Helper()
	tried = new(int)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	rel, err := filepath.Rel(d.root, dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{} // by call and kind of file
	d.each = func(what, path string) {
		kind := what + " " + kindOf(path)
		isFirst := kindOf(path) != "" && !seen[kind]
		seen[kind] = true
		if d.calls%every != 0 && !strings.Contains(path, manifest.CommitName) && !isFirst {
			return
		}
		for _, s := range survivors(r) {
			*tried++
			root := filepath.Join(quickDir(t), "disk")
			failed := t.Failed()
			d.afterPowerLoss(t, s, root)
			content := st.settled(t, filepath.Join(root, rel))
			if *promised && content != st.want {
				t.Errorf("what was said to be published is gone")
			}
			if t.Failed() && !failed {
				t.Logf("^ power lost after call %d (%s %s), %s survives (seed %d)", d.calls, what, path, s.name, seed)
			}
			os.RemoveAll(filepath.Dir(root))
		}
	}
	return tried
}

func powerStride(usual int) int {
	if testing.Short() {
		return usual * 5
	}
	return schematest.Times(usual*4, usual, 1)
}

// TestPowerLoss_DuringARun loses power at every moment of a publication.
func TestPowerLoss_DuringARun(t *testing.T) {
	t.Parallel()
	st := scene(t)
	root := quickDir(t)
	dir := filepath.Join(root, "data")
	copyStore(t, st.before, dir)
	d := newFrailFiles(t, root)
	promised := false
	tried := powerLosses(t, st, d, dir, powerStride(3), &promised)
	if err := sceneSecond().do(t.Context(), dir, sceneOptions(durable.Disk{FS: d})); err != nil {
		t.Fatal(err)
	}
	promised = true
	d.each("the end of", dir+"/"+manifest.CommitName)
	t.Logf("%d calls, %d losses of power", d.calls, *tried)
}

// TestPowerLoss_DuringARecovery kills a run within its commit, and loses power at every moment of the start that
// finishes the commit. Changes of the dead run may not be durable, although the recovery sees them.
func TestPowerLoss_DuringARecovery(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	st := scene(t)
	p := prepareCommit(t, st)
	root := quickDir(t)
	copyStore(t, p.dir, filepath.Join(root, "data"))
	dry := newFrailFiles(t, root)
	moments := map[int]bool{}
	dry.each = func(what, path string) {
		if filepath.Base(path) == manifest.CommitName {
			// The record exists, but its name is not durable.
			moments[dry.calls], moments[dry.calls+1] = true, true
		}
	}
	if err := p.commit(filepath.Join(root, "data"), Options{disk: durable.Disk{FS: dry}}); err != nil {
		t.Fatal(err)
	}
	if len(moments) == 0 {
		t.Fatal("no commit record was written")
	}
	for at := 1; at <= dry.calls; at += powerStride(7) {
		moments[at] = true
	}
	losses, kills := 0, 0
	for _, at := range slices.Sorted(maps.Keys(moments)) {
		kills++
		root := quickDir(t)
		dir := filepath.Join(root, "data")
		copyStore(t, p.dir, dir)
		d := newFrailFiles(t, root)
		d.dieAt = at
		if err := p.commit(dir, Options{disk: durable.Disk{FS: d}}); !errors.Is(err, errCrash) {
			t.Fatalf("commit = %v, want the crash", err)
		}
		d.dieAt, d.isDead = 0, false
		promised := false
		tried := powerLosses(t, st, d, dir, powerStride(9), &promised)
		failed := t.Failed()
		s, err := Open(t.Context(), dir, "acme", sceneOptions(durable.Disk{FS: d}))
		if err != nil {
			t.Fatal(err)
		}
		if m := s.Manifest(); m.Generation == p.is.Generation {
			promised = true
			d.each("the end of", dir+"/"+manifest.CommitName)
		}
		s.Close()
		losses += *tried
		if t.Failed() && !failed {
			t.Logf("^ the run was killed at call %d of its commit", at)
		}
	}
	t.Logf("%d kills, %d losses of power", kills, losses)
}

// TestPowerLoss_DuringTheFirstRun starts without a data directory, whose own name must be durable before the run
// reports a publication.
func TestPowerLoss_DuringTheFirstRun(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	root := quickDir(t)
	dir := filepath.Join(root, "on", "a", "volume")
	d := newFrailFiles(t, root)
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	promised, tried := false, 0
	check := func(what, path string) {
		for _, s := range survivors(r) {
			tried++
			to := filepath.Join(quickDir(t), "disk")
			d.afterPowerLoss(t, s, to)
			after := filepath.Join(to, "on", "a", "volume")
			st, err := Open(t.Context(), after, "acme", sceneOptions(durable.Disk{FS: lazyFiles{}}))
			if err != nil {
				t.Fatalf("power lost after call %d (%s %s), %s survives: %v", d.calls, what, path, s.name, err)
			}
			if m := st.Manifest(); m != nil {
				whole(t, after)
			} else if promised {
				t.Errorf("%s survives: what was said to be published is gone", s.name)
			}
			st.Close()
			os.RemoveAll(filepath.Dir(to))
		}
	}
	every := powerStride(3)
	d.each = func(what, path string) {
		if d.calls%every == 0 || strings.Contains(path, manifest.CommitName) {
			check(what, path)
		}
	}
	if err := sceneFirst().do(t.Context(), dir, sceneOptions(durable.Disk{FS: d})); err != nil {
		t.Fatal(err)
	}
	promised = true
	check("the end of", dir)
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	t.Logf("%d calls, %d losses of power", d.calls, tried)
}

// TestPowerLoss_InQuarantine loses power at every moment while a day is put into quarantine, replaced there and
// removed. Every about.json that survives has all its replies, even if only the newest name in each folder survives.
func TestPowerLoss_InQuarantine(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	root := quickDir(t)
	d := newFrailFiles(t, root)
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	newest := func(s nameStep) bool { return s.in.steps[len(s.in.steps)-1].name == s.name }
	oldest := func(s nameStep) bool { return s.node != nil && s.node.dir || s.in.steps[0].name != s.name }
	now := func(_, now []byte) []byte { return now }
	found := 0
	d.each = func(what, path string) {
		for _, s := range append(survivors(r), survivor{"the newest name of each folder", newest, now},
			survivor{"all names but the first of each folder", oldest, now}) {
			to := filepath.Join(quickDir(t), "disk")
			d.afterPowerLoss(t, s, to)
			after := quarantine.Folder{Disk: durable.Disk{FS: lazyFiles{}}, Dir: to, Account: "acme"}
			days, err := after.Days()
			if err != nil {
				t.Fatal(err)
			}
			for _, day := range days {
				found++
				for body, err := range after.Replies(day) {
					if err != nil || string(body) != day.Reason {
						t.Errorf("power lost after call %d (%s %s), %s survives: %q, %v", d.calls, what, path, s.name,
							body, err)
					}
				}
			}
		}
	}
	f := quarantine.Folder{Disk: durable.Disk{FS: d}, Dir: root, Account: "acme"}
	for _, reason := range []string{"first", "second"} {
		day := quarantine.Day{Date: 20000, Reason: reason}
		reply, err := (&Area{}).pack([]byte(reason))
		if err == nil {
			packed := quarantine.Packed{Content: reply, Unpacked: int64(len(reason))}
			err = f.Put(day, func(yield func(quarantine.Packed, error) bool) {
				if yield(packed, nil) {
					yield(packed, nil)
				}
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Remove(20000); err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no day survived")
	}
}

// TestPowerLoss_FindsMissingSyncs tests the tests: if the syncs of folders or of files are left out, a survivor must
// lose data.
func TestPowerLoss_FindsMissingSyncs(t *testing.T) {
	t.Parallel()
	st := scene(t)
	p := prepareCommit(t, st)
	for name, forget := range map[string]func(path string, dir bool) bool{
		"no folder is synced": func(_ string, dir bool) bool { return dir },
		"the manifest's is not synced": func(path string, dir bool) bool {
			return dir &&
				filepath.Base(path) == "data"
		},
		"new folders are not synced": func(path string, dir bool) bool {
			return dir &&
				strings.HasSuffix(path, "account=acme")
		},
		"the commit record is not synced": func(path string, dir bool) bool {
			return !dir &&
				strings.Contains(path, manifest.CommitName)
		},
	} {
		root := quickDir(t)
		dir := filepath.Join(root, "data")
		copyStore(t, p.dir, dir)
		d := newFrailFiles(t, root)
		lost := 0
		r := rand.New(rand.NewPCG(1, 1))
		look := func() {
			for range 3 {
				for _, s := range survivors(r) {
					to := filepath.Join(quickDir(t), "disk")
					d.afterPowerLoss(t, s, to)
					after := filepath.Join(to, "data")
					quiet := &quietTB{TB: t}
					st, err := Open(t.Context(), after, "acme", sceneOptions(durable.Disk{FS: lazyFiles{}}))
					if err != nil {
						lost++
						continue
					}
					if whole(quiet, after) != contentOf(t, p.is) || quiet.failed {
						lost++
					}
					st.Close()
					os.RemoveAll(filepath.Dir(to))
				}
			}
		}
		d.each = func(what, path string) {
			if what == "rename" && strings.HasSuffix(path, manifest.FileName) {
				look()
			}
		}
		if err := p.commit(dir, Options{disk: durable.Disk{FS: &forgetful{d, forget}}}); err != nil {
			t.Fatal(err)
		}
		look()
		if lost == 0 {
			t.Errorf("%s: no loss was found", name)
		}
	}
}

// forgetful are frailFiles that ignore some syncs.
type forgetful struct {
	*frailFiles
	forget func(path string, dir bool) bool
}

func (d *forgetful) OpenFile(path string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := d.frailFiles.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if d.forget(path, info.IsDir()) {
		return lazyFile{f}, nil
	}
	return f, nil
}

// quietTB records a failure without failing.
type quietTB struct {
	testing.TB
	failed bool
}

func (q *quietTB) Errorf(string, ...any) { q.failed = true }
func (q *quietTB) Error(...any)          { q.failed = true }
