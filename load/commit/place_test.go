package commit

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/loadtest"
	"spendsync/load/manifest"
)

// store returns a data directory of generation 1, and the record of a run that is about to publish generation 2.
func store(t testing.TB) (dir string, r Record) {
	t.Helper()
	dir = t.TempDir()
	r = Record{RunID: "run2", Base: 1, Generation: 2, Staging: "staging/acme.run2",
		Moves: []Move{
			{"staging/acme.run2/1", "parquet/a/data.parquet"},
			{"staging/acme.run2/2", "raw/b/new/0001"},
			{"staging/acme.run2/3", "ledger"},
			{"staging/acme.run2/4", manifest.FileName},
		},
		Removes: []string{"manifest/old/1.json", "raw/old"}}
	for path, text := range map[string]string{
		"parquet/a/data.parquet": "a1", "parquet/c": "c1", "manifest/old/1.json": "1", "raw/old": "1",
		manifest.FileName: root(t, 1), "staging/acme.run2/1": "a2", "staging/acme.run2/2": "b2",
		"staging/acme.run2/3": "l2", "staging/acme.run2/4": root(t, 2),
	} {
		put(t, dir, path, text)
	}
	return dir, r
}

func put(t testing.TB, dir, path, text string) {
	t.Helper()
	full := filepath.Join(dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func root(t testing.TB, generation int64) string {
	t.Helper()
	return roots()[generation]
}

var roots = sync.OnceValue(func() (texts [3]string) {
	for n := range texts {
		m := manifest.New()
		m.Generation = int64(n)
		e, err := m.Encode()
		if err != nil {
			panic(err)
		}
		texts[n] = string(e.Root)
	}
	return texts
})

// before and after return the files of the two generations, by path.
func before(t testing.TB) map[string]string {
	return map[string]string{"parquet/a/data.parquet": "a1", "parquet/c": "c1", "manifest/old/1.json": "1",
		"raw/old": "1", manifest.FileName: root(t, 1)}
}

func after(t testing.TB) map[string]string {
	return map[string]string{"parquet/a/data.parquet": "a2", "parquet/c": "c1", "raw/b/new/0001": "b2", "ledger": "l2",
		manifest.FileName: root(t, 2)}
}

func place(dir string, d durable.FS) Place {
	return Place{Dir: dir, Disk: durable.Disk{FS: d}, Log: slog.New(slog.DiscardHandler),
		Crash: func(string) error { return nil }}
}

var nothing = func() error { return nil }

// published removes staged files, as the next run does, and then reports whether the remaining files equal want.
func published(t testing.TB, dir string, want map[string]string) bool {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "staging")); err != nil {
		t.Fatal(err)
	}
	return maps.Equal(loadtest.Files(t, dir), want)
}

// TestWrite_BeginsNothing: no commit starts if begin returns an error, or if files cannot be renamed into one of the
// folders.
func TestWrite_BeginsNothing(t *testing.T) {
	dir, r := store(t)
	no := errors.New("no")
	if err := place(dir, durable.System{}).Write(r, nil, func() error { return no }); !errors.Is(err, no) {
		t.Errorf("told so: %v", err)
	}
	if !published(t, dir, before(t)) {
		t.Errorf("told so: %v", loadtest.Files(t, dir))
	}
	for _, c := range []struct {
		into  string
		errno syscall.Errno
		text  string
	}{
		{"parquet/a", syscall.EXDEV, "different file systems"}, {"raw", syscall.EXDEV, "different file systems"},
		{"manifest/old", syscall.EACCES, "may not rename files"}, {"raw", syscall.EPERM, "may not rename files"},
		{"", syscall.EROFS, "read-only"},
	} {
		dir, r := store(t)
		d := &loadtest.Faults{Before: func(call string) error {
			if call == "rename "+filepath.Join(dir, c.into, probeName) {
				return &os.LinkError{Op: "rename", Old: "a", New: "b", Err: c.errno}
			}
			return nil
		}}
		err := place(dir, d).Write(r, nil, func() error { t.Error("begun"); return nil })
		if !errors.Is(err, durable.ErrStorage) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q, %s: %v", c.into, c.errno, err)
		}
		if !published(t, dir, before(t)) {
			t.Errorf("%q, %s: %v", c.into, c.errno, loadtest.Files(t, dir))
		}
		if c.into != "manifest/old" { // TryFolders does not test this folder
			dir, _ := store(t)
			put(t, dir, "raw/x", "")
			into := c.into
			if into == "parquet/a" {
				into = "parquet"
			}
			d.Before = func(call string) error {
				if call == "rename "+filepath.Join(dir, into, probeName) {
					return &os.LinkError{Op: "rename", Old: "a", New: "b", Err: c.errno}
				}
				return nil
			}
			err := TryFolders(durable.Disk{FS: d}, dir, "acme.")
			if !errors.Is(err, durable.ErrStorage) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("the folder %q, %s: %v", into, c.errno, err)
			}
		}
	}
}

// TestTryFolders: TryFolders leaves no file, even if another account's run moves its file, and returns an error for a
// folder that cannot be looked up.
func TestTryFolders(t *testing.T) {
	dir, _ := store(t)
	was := loadtest.Files(t, dir)
	taken := 0
	taking := &loadtest.Faults{Before: func(call string) error {
		if strings.HasPrefix(call, "rename "+filepath.Join(dir, "staging")) {
			taken++
			return &os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.ENOENT}
		}
		return nil
	}}
	if err := TryFolders(durable.OS, dir, "acme"); err != nil || !maps.Equal(loadtest.Files(t, dir), was) {
		t.Errorf("%v, %v", err, loadtest.Files(t, dir))
	}
	if err := TryFolders(durable.Disk{FS: taking}, dir, "acme"); err != nil || taken != 4 {
		t.Errorf("taken %d times: %v", taken, err)
	}
	for k := 1; ; k++ {
		d := &loadtest.Faults{At: k, Errno: syscall.EIO}
		err := TryFolders(durable.Disk{FS: d}, dir, "acme")
		calls := len(d.Calls())
		if calls < k {
			break
		}
		if err != nil && !errors.Is(err, durable.ErrStorage) || err == nil && k < calls {
			t.Errorf("call %d of %d fails: %v", k, calls, err)
		}
	}
}

// TestRead_RefusesForeignRecords: records are refused if they are damaged, unsealed, of a newer version or of another
// generation, or name missing files. A damaged manifest is accepted, because the commit replaces it.
func TestRead_RefusesForeignRecords(t *testing.T) {
	sealed := func(edit func(r *Record)) func(t *testing.T, dir string, r Record) {
		return func(t *testing.T, dir string, r Record) {
			edit(&r)
			put(t, dir, manifest.CommitName, recordText(t, r))
		}
	}
	unsealed := func(format string) func(t *testing.T, dir string, r Record) {
		return func(t *testing.T, dir string, r Record) {
			text := recordText(t, r)
			_, rest, _ := strings.Cut(text, `"run_id"`)
			put(t, dir, manifest.CommitName, `{`+format+`"run_id"`+rest)
		}
	}
	for name, c := range map[string]struct {
		put  func(t *testing.T, dir string, r Record)
		want error // nil: the commit is finished
		text string
	}{
		"as it was written": {sealed(func(*Record) {}), nil, ""},
		"format 1":          {unsealed(`"format":1,`), durable.ErrDamaged, "format"},
		"format 2, no seal": {unsealed(`"format":2,`), durable.ErrDamaged, "checksum"},
		"no format":         {unsealed(""), durable.ErrDamaged, "format"},
		"a newer format":    {sealed(func(r *Record) { r.Format = 3 }), durable.ErrNewer, "format 3"},
		"another base": {sealed(func(r *Record) { r.Base, r.Generation = 7, 8 }), durable.ErrDamaged,
			"from generation 7 to 8"},
		"published already": {sealed(func(r *Record) { r.Base, r.Generation = 0, 1 }), nil, ""},
		"a file that is lost": {sealed(func(r *Record) { r.Moves[0] = Move{"staging/acme.run2/x", "raw/x"} }),
			durable.ErrDamaged, "raw/x"},
		"a file that has moved": {sealed(func(r *Record) {
			r.Moves = slices.Insert(r.Moves, 0, Move{"staging/acme.run2/x", "parquet/c"})
		}), nil, ""},
		"a move out": {sealed(func(r *Record) { r.Moves[0].To = "../x" }), durable.ErrDamaged, "leads out"},
		"a move from outside": {sealed(func(r *Record) { r.Moves[0].From = "staging/acme.run2/../../../x" }),
			durable.ErrDamaged, "leads out"},
		"a move of another's": {sealed(func(r *Record) { r.Moves[0].From = "staging/b.1/1" }),
			durable.ErrDamaged, ""},
		"no move of a manifest": {sealed(func(r *Record) { r.Moves = r.Moves[:1] }), durable.ErrDamaged, ""},
		"another's path": {sealed(func(r *Record) { r.Removes = []string{"../x"} }),
			durable.ErrDamaged, "leads out"},
		"a changed byte": {func(t *testing.T, dir string, r Record) {
			put(t, dir, manifest.CommitName, strings.Replace(recordText(t, r), "run2", "run3", 1))
		}, durable.ErrDamaged, "checksum"},
		"no JSON": {func(t *testing.T, dir string, _ Record) { put(t, dir, manifest.CommitName, "{") },
			durable.ErrDamaged, "not readable"},
		"no manifest": {func(t *testing.T, dir string, r Record) {
			put(t, dir, manifest.CommitName, recordText(t, r))
			os.Remove(filepath.Join(dir, manifest.FileName))
		}, nil, ""},
		"a damaged manifest": {func(t *testing.T, dir string, r Record) {
			put(t, dir, manifest.CommitName, recordText(t, r))
			put(t, dir, manifest.FileName, "{")
		}, nil, ""},
	} {
		dir, r := store(t)
		c.put(t, dir, r)
		err := place(dir, durable.System{}).End()
		if c.want == nil && (err != nil || !published(t, dir, after(t))) {
			t.Errorf("%s: %v, %v", name, err, loadtest.Files(t, dir))
		}
		if c.want != nil && (!errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) ||
			loadtest.Files(t, dir)[manifest.FileName] != root(t, 1) ||
			loadtest.Files(t, dir)[manifest.CommitName] == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// recordText returns the text of a record as Write writes it.
func recordText(t *testing.T, r Record) string {
	t.Helper()
	dir, _ := store(t)
	text := ""
	died := errors.New("died")
	p := place(dir, durable.System{})
	p.Crash = func(step string) error {
		if step == "commit record" {
			b, err := os.ReadFile(filepath.Join(dir, r.Staging, manifest.CommitName+StagedSuffix))
			text = string(b)
			return errors.Join(err, died)
		}
		return nil
	}
	if err := p.Write(r, nil, nothing); !errors.Is(err, died) {
		t.Fatal(err)
	}
	if r.Format > format {
		b := []byte(strings.Replace(text, `"format":2`, fmt.Sprintf(`"format":%d`, r.Format), 1))
		copy(durable.FindSeal(b), durable.Unsealed)
		durable.Seal(b)
		text = string(b)
	}
	return text
}
