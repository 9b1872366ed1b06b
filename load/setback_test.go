package load

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// storeParts are the parts of a store that can be restored one by one. The account files belong to manifest.json, which
// is damaged without them.
var storeParts = []string{manifest.FileName, duck.FileName, "parquet", "ledger", "raw"}

// mixed returns a store with some parts from the later generation.
func (st *sceneStores) mixed(t testing.TB, later ...string) string {
	t.Helper()
	dir := filepath.Join(quickDir(t), "data")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, part := range append([]string{"manifest"}, storeParts...) {
		from := filepath.Join(st.before, part)
		if slices.Contains(later, part) || part == "manifest" && slices.Contains(later, manifest.FileName) {
			from = filepath.Join(st.after, part)
		}
		if info, err := os.Stat(from); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			copyStore(t, from, filepath.Join(dir, part))
		} else if err := os.Link(from, filepath.Join(dir, part)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// restatedLines returns the number of lines in the files of spend_change.
func restatedLines(t testing.TB, dir string) (n int) {
	t.Helper()
	m, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, info := range m.Accounts["acme"].Files {
		if info.Table == schema.SpendChanges.Name {
			rows, err := parquet.ReadRows(filepath.Join(dir, path), schema.SpendChanges)
			if err != nil {
				t.Fatal(err)
			}
			n += len(rows)
		}
	}
	return n
}

// TestSetBack_AnyMixture mixes the parts of two generations in every way. A command that would lose data of the later
// generation returns an error. The short test mixes only the DuckDB file.
func TestSetBack_AnyMixture(t *testing.T) {
	t.Parallel()
	st := scene(t)
	lines := restatedLines(t, st.after)
	if lines == 0 || restatedLines(t, st.before) != 0 {
		t.Fatalf("the scene restates %d lines", lines)
	}
	for mask := range 1 << len(storeParts) {
		var later []string
		for i, part := range storeParts {
			if mask>>i&1 == 1 {
				later = append(later, part)
			}
		}
		has := func(part string) bool { return slices.Contains(later, part) }
		isDuckAlone := min(len(later), len(storeParts)-len(later)) == 1 && has(duck.FileName) != has("parquet") &&
			has(manifest.FileName) == has("parquet")
		if !isDuckAlone && !schematest.All() {
			continue
		}
		t.Run(strings.Join(later, " "), func(t *testing.T) {
			t.Parallel()
			setBack := !has(manifest.FileName) && (has(duck.FileName) || has("ledger"))
			dir := st.mixed(t, later...)
			report := st.verify(t, dir)
			if whole := len(later) == 0 || len(later) == len(storeParts); whole != (len(report.Damages) == 0) {
				t.Errorf("verify finds %d damages", len(report.Damages))
			}
			checkRepairs(t, report, setBack)

			// Neither a sync nor a rebuild publishes on top of a set-back store.
			content := manifestOf(t, dir)
			_, err := rebuild(t, dir)
			syncErr := sceneRun{id: "run3", at: sceneSecond().at, days: sceneFirst().days}.do(t.Context(), dir,
				sceneOptions(durable.Disk{FS: lazyFiles{}}))
			if setBack {
				for what, err := range map[string]error{"rebuild": err, "sync": syncErr} {
					if !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), "was set back") {
						t.Errorf("%s = %v, want it refused", what, err)
					}
				}
				if manifestOf(t, dir) != content {
					t.Error("the manifest is another")
				}
			}
			if isMixed := has("parquet") && !has(manifest.FileName); !setBack && isMixed && (!errors.Is(err,
				durable.ErrDamaged) || !errors.Is(syncErr, durable.ErrDamaged)) {
				t.Errorf("on Parquet files of a later generation, rebuild = %v, sync = %v", err, syncErr)
			}
			if !setBack && err == nil && has(manifest.FileName) && restatedLines(t, dir) < lines {
				t.Errorf("rebuild says that all is well, and %d of %d restatements are gone",
					lines-restatedLines(t, dir), lines)
			}
		})
	}
}

// rawOf is the ReadRaw for replies of either generation.
func (st *sceneStores) rawOf(account string, d schema.Date, _ []schema.Piece, pages iter.Seq2[[]byte,
	error]) (*schema.SpendRows, error) {
	rows, err := rawOf(st.after)(account, d, nil, pages)
	if err != nil {
		rows, err = rawOf(st.before)(account, d, nil, pages)
	}
	return rows, err
}

func (st *sceneStores) verify(t testing.TB, dir string) *Verification {
	t.Helper()
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	o.Now = sceneSecond().now
	report, err := Verify(context.Background(), dir, o, st.rawOf)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// checkRepairs checks the repairs that verify names for a store that was set back.
func checkRepairs(t testing.TB, report *Verification, setBack bool) {
	t.Helper()
	said := 0
	for _, d := range report.Damages {
		if d.Path == manifest.FileName && strings.Contains(d.What, "was set back from") &&
			strings.Contains(d.Repair, "pull --all") {
			said++
		} else if setBack && d.Repair != "see "+manifest.FileName {
			t.Errorf("%s is to be repaired by %q, which may forget what is newer", d.Path, d.Repair)
		}
	}
	if (said == 1) != setBack {
		t.Errorf("verify says %d times that the store was set back: %v", said, report.Damages)
	}
}

func manifestOf(t testing.TB, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, manifest.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSetBack_ByABackupThatIsLaidOver restores an older backup over the store without removing newer files, which the
// older manifest does not name.
func TestSetBack_ByABackupThatIsLaidOver(t *testing.T) {
	t.Parallel()
	st := scene(t)
	dir := filepath.Join(quickDir(t), "data")
	copyStore(t, st.after, dir)
	for path := range fileHashes(t, st.before, manifest.FileName, "manifest", duck.FileName, "parquet", "ledger",
		"raw") {
		b, err := os.ReadFile(filepath.Join(st.before, path))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		spoiled(t, filepath.Join(dir, path), b)
	}
	_, err := Open(t.Context(), dir, "acme", sceneOptions(durable.Disk{FS: lazyFiles{}}))
	if !errors.Is(err, durable.ErrDamaged) || !strings.Contains(fmt.Sprint(err), "was set back") {
		t.Fatalf("Open = %v, want it refused", err)
	}
}
