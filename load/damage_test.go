package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// damageStride is how many bytes lie between two places that are damaged: each
// file has some hundred in the usual run, and every byte in .ci/long.
func damageStride(size, usual int) int {
	if schematest.Times(0, 0, 1) == 1 {
		return 1
	}
	if testing.Short() {
		usual /= 4
	}
	return max(1, size/usual)
}

// spoiled puts other bytes in place of a file, which may be linked from other
// stores.
func spoiled(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// rawOf rebuilds a day's rows from the replies of a scene. These contain only the day, so the stored rows stand for
// the service's rows.
func rawOf(after string) ReadRaw {
	return func(account string, d schema.Date, pages iter.Seq2[[]byte, error]) (*schema.SpendRows, error) {
		said, err := textsOf(pages)
		if err != nil {
			return nil, err
		}
		stored, err := parquet.ReadRows(filepath.Join(after, manifest.PartPath(schema.SpendDaily.Table, account, d)),
			schema.SpendDaily)
		if err != nil {
			return nil, err
		}
		rows := schematest.Packed(stored)
		sealed, err := history.OrderedDay(rows)
		if err == nil && said[0] != "reply "+sealed.Hash() {
			err = fmt.Errorf("the reply is %q", said[0])
		}
		return rows, err
	}
}

// textsOf are replies as texts, until one cannot be read.
func textsOf(pages iter.Seq2[[]byte, error]) (texts []string, err error) {
	for page, err := range pages {
		if err != nil {
			return texts, err
		}
		texts = append(texts, string(page))
	}
	return texts, nil
}

// TestDamage_VerifyNamesTheFile cuts every kind of file at its bytes, and flips
// bits in it: verify names that file, and what repairs it.
func TestDamage_VerifyNamesTheFile(t *testing.T) {
	t.Parallel()
	st := scene(t)
	ledger := slices.Collect(maps.Keys(st.is.Accounts["acme"].Ledger))[0]
	files := map[string]string{ // what repairs it
		manifest.FileName: durable.RepairBackup, st.is.Parts["acme"].Path: durable.RepairBackup,
		duck.FileName: durable.RepairRebuild, ledger: durable.RepairRebuild,
		manifest.RawPath("acme", day, 1): "spendsync sync --from 2026-11-20 --to 2026-11-20, or the next sync " +
			"that reads the day",
	}
	tables := map[string]bool{}
	for path, info := range st.is.Accounts["acme"].Files {
		if info.Kind == manifest.KindParquet && !tables[info.Table] {
			tables[info.Table], files[path] = true, durable.RepairRebuild
		}
	}
	if len(tables) < 7 {
		t.Fatalf("only the tables %v are damaged", tables)
	}
	for path, repair := range files {
		t.Run(strings.ReplaceAll(path, "/", "~"), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(quickDir(t), "data")
			copyStore(t, st.after, dir)
			full := filepath.Join(dir, path)
			good, err := os.ReadFile(full)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, uint64(len(good))))
			usual := 12
			if path == manifest.FileName {
				usual = 120
			}
			n := 0
			for at := 0; at < len(good); at += damageStride(len(good), usual) {
				bit := byte(1) << r.IntN(8)
				flipped := append([]byte(nil), good...)
				flipped[at] ^= bit
				for what, bad := range map[string][]byte{fmt.Sprintf("cut to %d bytes", at): good[:at],
					fmt.Sprintf("bit %08b flipped at %d", bit, at): flipped} {
					spoiled(t, full, bad)
					n++
					checkDamage(t, st, dir, path, repair, what)
				}
			}
			spoiled(t, full, good)
			checkScene(t, dir)
			t.Logf("%d damages of %d bytes", n, len(good))
		})
	}
}

func checkDamage(t *testing.T, st *sceneStores, dir, path, repair, what string) {
	t.Helper()
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	o.Now = sceneSecond().now
	report, err := Verify(context.Background(), dir, o, rawOf(st.after))
	var d *durable.Damage
	switch {
	case errors.As(err, &d): // without a manifest nothing is known
	case err != nil:
		t.Errorf("%s %s: %v", path, what, err)
		return
	case len(report.Damages) == 0:
		t.Errorf("%s %s: no damage is found", path, what)
		return
	default:
		d = report.Damages[0]
		if len(report.Damages) > 1 {
			t.Errorf("%s %s: %d damages, the second %v", path, what, len(report.Damages), report.Damages[1])
		}
	}
	if d.Path != path || d.Repair != repair {
		t.Errorf("%s %s: reported as %s (%s), repaired by %q; want %q", path, what, d.Path, d.What, d.Repair, repair)
	}
}

// rebuild publishes as the command of that name does.
func rebuild(t testing.TB, dir string) (Preview, error) {
	t.Helper()
	return rebuildWith(t, dir, func(*Options) {})
}

func rebuildWith(t testing.TB, dir string, edit func(*Options)) (Preview, error) {
	t.Helper()
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	edit(&o)
	r := sceneSecond()
	r.id, r.days = "rebuild", nil
	o.Now = sceneSecond().now
	s, err := Open(context.Background(), dir, "acme", o)
	if err != nil {
		return Preview{}, err
	}
	defer s.Close()
	g, err := s.Begin("rebuild")
	if err != nil {
		return Preview{}, err
	}
	record := r.record()
	record.Steps = nil
	_, preview, err := publish(context.Background(), g, Contents{Since: r.contents().Since, Repair: true}, record)
	return preview, errors.Join(err, g.Discard())
}

// TestDamage_RebuildMends damages every Parquet file at once, or one at a time: the
// DuckDB file gives each of them back, byte for byte.
func TestDamage_RebuildMends(t *testing.T) {
	t.Parallel()
	st := scene(t)
	var parquet []string
	for path, info := range st.is.Accounts["acme"].Files {
		if info.Kind == manifest.KindParquet {
			parquet = append(parquet, path)
		}
	}
	slices.Sort(parquet)
	cases := map[string][]string{"all at once": parquet}
	for _, path := range parquet {
		if schematest.Times(0, 0, 1) == 1 {
			cases[path] = []string{path}
		}
	}
	for name, paths := range cases {
		dir := filepath.Join(quickDir(t), "data")
		copyStore(t, st.after, dir)
		for i, path := range paths {
			if i%2 == 0 {
				spoiled(t, filepath.Join(dir, path), []byte("PAR1 no more"))
			} else if err := os.Remove(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
		}
		result, err := rebuild(t, dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkScene(t, dir)
		// DuckDB knows when each campaign was last confirmed, the file did not.
		but := func(content string) string {
			return strings.Join(slices.DeleteFunc(strings.Split(content, "\n"), func(line string) bool {
				return strings.Contains(line, "campaign_history")
			}), "\n")
		}
		if got := whole(t, dir); but(got) != but(st.want) {
			t.Errorf("%s: rebuilt as\n%s\nwant\n%s", name, got, st.want)
		}
		for _, path := range paths {
			made := strings.Contains(path, "mart_") || strings.Contains(path, "ops_")
			if !made && !slices.Contains(result.Restored, path) {
				t.Errorf("%s: %s is not reported as restored: %v", name, path, result.Restored)
			}
		}
	}
}

// TestSameDay_WantsTheOrder: the rows of a day in another order, or twice, are not the day.
func TestSameDay_WantsTheOrder(t *testing.T) {
	rows := schematest.SpendOfSources(day, 5)
	sealed, err := history.NewDay(schematest.Packed(rows))
	if err != nil {
		t.Fatal(err)
	}
	known := &manifest.Day{Sums: sealed.Sums(), ContentHash: sealed.Hash()}
	if err := sameDay(schematest.Packed(rows), known); err != nil {
		t.Errorf("the day: %v", err)
	}
	rows[1], rows[2] = rows[2], rows[1]
	if err := sameDay(schematest.Packed(rows), known); err == nil {
		t.Error("two rows in each other's place are not seen")
	}
	rows[1] = rows[2]
	if err := sameDay(schematest.Packed(rows), known); err == nil || !strings.Contains(err.Error(), "two rows") {
		t.Errorf("a key twice: %v", err)
	}
}

// putManifest replaces the manifest of a store.
func putManifest(t testing.TB, dir string, m *manifest.Manifest) {
	t.Helper()
	e, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for path, b := range e.Parts {
		if err := os.WriteFile(filepath.Join(dir, path), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spoiled(t, filepath.Join(dir, manifest.FileName), e.Root)
}

// TestDamage_RebuildMendsAFileOfAnotherRelease: the file that comes back has other bytes
// than the one that was lost, and its day's rows; with other rows it is not taken.
func TestDamage_RebuildMendsAFileOfAnotherRelease(t *testing.T) {
	t.Parallel()
	st := scene(t)
	path := manifest.PartPath(schema.SpendDaily.Table, "acme", day)
	for name, c := range map[string]struct {
		edit  func(m *manifest.Manifest)
		taken bool
	}{
		"the day's rows": {func(m *manifest.Manifest) {}, true},
		"other rows": {
			func(m *manifest.Manifest) { m.Accounts["acme"].Days[day].ContentHash = strings.Repeat("0", 64) },
			false},
	} {
		dir := filepath.Join(quickDir(t), "data")
		copyStore(t, st.after, dir)
		m, err := manifest.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		m.Accounts["acme"].Files[path].SHA256 = strings.Repeat("1", 64)
		c.edit(m)
		putManifest(t, dir, m)
		spoiled(t, filepath.Join(dir, path), []byte("PAR1 no more"))
		result, err := rebuild(t, dir)
		if c.taken {
			if err != nil || !slices.Equal(result.Restored, []string{path}) {
				t.Errorf("%s: rebuild = %v, %v", name, result.Restored, err)
			}
			checkScene(t, dir)
		} else if !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: rebuild = %v, %v", name, result.Restored, err)
		}
	}
}

// TestDamage_RebuildKeepsWhatDuckDBKnowsBetter lets a run confirm the settings after their file was written: the
// restored file differs, because it has the later confirmation, and the next run continues from it.
func TestDamage_RebuildKeepsWhatDuckDBKnowsBetter(t *testing.T) {
	t.Parallel()
	st := scene(t)
	dir := filepath.Join(quickDir(t), "data")
	copyStore(t, st.after, dir)
	third := sceneSecond()
	third.id, third.at = "run3", third.at.Add(3600e9)
	if err := third.do(t.Context(), dir, sceneOptions(durable.Disk{FS: lazyFiles{}})); err != nil {
		t.Fatal(err)
	}
	path := manifest.PartPath(schema.CampaignHistory.Table, "acme", 0)
	before := query(t, dir, "SELECT * FROM campaign_history ORDER BY ALL")
	spoiled(t, filepath.Join(dir, path), nil)
	if result, err := rebuild(t, dir); err != nil || !slices.Equal(result.Restored, []string{path}) {
		t.Fatalf("rebuild = %v, %v", result.Restored, err)
	}
	checkScene(t, dir)
	if got := query(t, dir, "SELECT * FROM campaign_history ORDER BY ALL"); got != before {
		t.Errorf("campaign_history =\n%s\nwant\n%s", got, before)
	}
	fourth := sceneSecond()
	fourth.id, fourth.at = "run4", third.at.Add(3600e9)
	fourth.campaigns[1] = sceneCampaign("C2", "Gone soon", 9)
	if err := fourth.do(t.Context(), dir, sceneOptions(durable.Disk{FS: lazyFiles{}})); err != nil {
		t.Fatal(err)
	}
	checkScene(t, dir)
	if got := query(t, dir, "SELECT default_bid, version_no FROM campaign_history WHERE campaign_id = 'C2' "+
		"ORDER BY ALL"); got != "2.000000|1\n9.000000|2" {
		t.Errorf("versions of C2 = %s", got)
	}
}

// TestDamage_RebuildSaysWhatItCannotMend has nothing whole to restore from: no file
// of the store may change, and each file is named.
func TestDamage_RebuildSaysWhatItCannotMend(t *testing.T) {
	t.Parallel()
	st := scene(t)
	for name, spoil := range map[string]func(path string) error{
		"DuckDB is gone": os.Remove,
		"DuckDB is damaged": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b[len(b)/2] ^= 1
			return errors.Join(os.Remove(path), os.WriteFile(path, b, 0o644))
		},
	} {
		dir := filepath.Join(quickDir(t), "data")
		copyStore(t, st.after, dir)
		if err := spoil(filepath.Join(dir, duck.FileName)); err != nil {
			t.Fatal(err)
		}
		calendar := manifest.PartPath(schema.Calendar.Table, "acme", 0)
		spend := manifest.PartPath(schema.SpendDaily.Table, "acme", day)
		for _, path := range []string{calendar, spend} {
			spoiled(t, filepath.Join(dir, path), []byte("x"))
		}
		_, err := rebuild(t, dir)
		if !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), calendar) ||
			!strings.Contains(err.Error(), spend) {
			t.Errorf("%s: rebuild = %v, want both files named", name, err)
		}
		if m, err := manifest.Read(dir); err != nil || m.Generation != st.is.Generation {
			t.Errorf("%s: published %+v, %v", name, m, err)
		}
		report, err := Verify(t.Context(), dir, sceneOptions(durable.Disk{FS: lazyFiles{}}), nil)
		if err != nil || len(report.Damages) != 3 {
			t.Fatalf("%s: verify = %+v, %v", name, report, err)
		}
		for _, d := range report.Damages {
			want := map[string]string{calendar: manifest.RepairLost, spend: durable.RepairReplay,
				duck.FileName: durable.RepairRebuild}[d.Path]
			if d.Repair != want {
				t.Errorf("%s: %s is repaired by %q, want %q", name, d.Path, d.Repair, want)
			}
		}
	}
}

// TestDamage_RebuildTakesNoOtherRows has a DuckDB file that is whole and holds other
// rows than the damaged file had: they are not taken.
func TestDamage_RebuildTakesNoOtherRows(t *testing.T) {
	t.Parallel()
	st := scene(t)
	dir := filepath.Join(quickDir(t), "data")
	copyStore(t, st.after, dir)
	path := filepath.Join(dir, duck.FileName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spoiled(t, path, b)
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE spend_daily SET spend = spend + 1; CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	sha, size, err := durable.OS.HashFile(path)
	if err != nil {
		t.Fatal(err)
	}
	editManifest(t, dir, st.is.Warehouse.SHA256, sha)
	editManifest(t, dir, fmt.Sprintf(`"bytes": %d,`, st.is.Warehouse.Bytes), fmt.Sprintf(`"bytes": %d,`, size))
	spend := manifest.PartPath(schema.SpendDaily.Table, "acme", day)
	spoiled(t, filepath.Join(dir, spend), []byte("x"))
	if _, err := rebuild(t, dir); !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), spend) {
		t.Errorf("rebuild = %v, want it refused for %s", err, spend)
	}
}

// TestDamage_RebuildMendsALedger writes a ledger again from DuckDB; without that, it
// keeps the lines that can be read, once the loss of the others is accepted.
func TestDamage_RebuildMendsALedger(t *testing.T) {
	t.Parallel()
	st := scene(t)
	ledger := slices.Collect(maps.Keys(st.is.Accounts["acme"].Ledger))[0]
	lateEnd := `{"run":{"account_id":"acme","_run_id":"run2","exit_code":4,"published":true,` +
		`"finished_at":"2027-01-01T00:00:00Z"}}` + "\n"
	for name, c := range map[string]struct {
		spoil  func(b []byte) []byte
		duckdb bool
		runs   string
		end    string // exit code of the second run
	}{
		"a bit": {func(b []byte) []byte { b[len(b)/3] ^= 4; return b }, true,
			"rebuild\nrun1\nrun2", "4"},
		"cut": {func(b []byte) []byte { return b[:len(b)-len(lateEnd)-100] }, true,
			"rebuild\nrun1\nrun2", "0"},
		"gone":                    {func([]byte) []byte { return nil }, true, "rebuild\nrun1\nrun2", "0"},
		"cut, and DuckDB is gone": {func(b []byte) []byte { return b[:len(b)-100] }, false, "rebuild\nrun1", ""},
	} {
		dir := filepath.Join(quickDir(t), "data")
		copyStore(t, st.after, dir)
		b, err := os.ReadFile(filepath.Join(dir, ledger))
		if err != nil {
			t.Fatal(err)
		}
		if c.duckdb {
			// A failed run that no generation holds yet.
			b = append(b, `{"step":{"account_id":"acme","_run_id":"late"}}`+"\n"...)
			// The second run went on after its generation, and failed.
			b = append(b, lateEnd...)
		} else if err := os.Remove(filepath.Join(dir, duck.FileName)); err != nil {
			t.Fatal(err)
		}
		spoiled(t, filepath.Join(dir, ledger), c.spoil(append([]byte(nil), b...)))
		if err := sceneSecond().do(t.Context(), dir, sceneOptions(durable.Disk{FS: lazyFiles{}})); !errors.Is(err,
			durable.ErrDamaged) {
			t.Errorf("%s: a run = %v, want ErrDamaged", name, err)
		}
		result, err := rebuild(t, dir)
		if !c.duckdb {
			if !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), ledger) {
				t.Errorf("%s: rebuild = %v, want ErrDamaged", name, err)
			}
			result, err = st.rebuildAccepting(t, dir)
		}
		if err != nil || !slices.Contains(result.Restored, ledger) {
			t.Errorf("%s: rebuild = %v, %v", name, result.Restored, err)
			continue
		}
		checkScene(t, dir)
		if got := query(t, dir, "SELECT _run_id FROM ops.run WHERE published ORDER BY 1"); got != c.runs {
			t.Errorf("%s: runs = %s, want %s", name, got, c.runs)
		}
		if got := query(t, dir, "SELECT exit_code FROM ops.run WHERE _run_id = 'run2'"); got != c.end {
			t.Errorf("%s: the second run ended with %q, want %q", name, got, c.end)
		}
	}
}

// TestDamage_ACommitRecord refuses a record that was changed or that belongs to another generation, and names it.
func TestDamage_ACommitRecord(t *testing.T) {
	t.Parallel()
	st := scene(t)
	p := prepareCommit(t, st)
	crashed := func() string {
		dir, _ := p.copy(t)
		if err := p.commit(dir, Options{crash: func(step string) error {
			if strings.HasPrefix(step, "move ") {
				return errCrash
			}
			return nil
		}}); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		return dir
	}
	dir := crashed()
	path := filepath.Join(dir, manifest.CommitName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string) {
		t.Helper()
		_, err := Open(t.Context(), dir, "acme", sceneOptions(durable.Disk{FS: lazyFiles{}}))
		if err == nil || !strings.Contains(err.Error(), manifest.CommitName) || !errors.Is(err, durable.ErrDamaged) &&
			!errors.Is(err, durable.ErrNewer) {
			t.Errorf("%s: Open = %v, want the record refused", what, err)
		}
	}
	for at := 0; at < len(good); at += damageStride(len(good), 60) {
		bad := append([]byte(nil), good...)
		bad[at] ^= 1 << (at % 8)
		spoiled(t, path, bad)
		refused(fmt.Sprintf("bit flipped at %d", at))
		spoiled(t, path, good[:at])
		refused(fmt.Sprintf("cut to %d", at))
	}
	// Somebody puts back an older manifest, or a newer one.
	spoiled(t, path, good)
	editManifest(t, dir, `"generation": 1,`, `"generation": 7,`)
	refused("generation 7 is published")
	editManifest(t, dir, `"generation": 7,`, `"generation": 1,`)
	s, err := Open(t.Context(), dir, "acme", sceneOptions(durable.Disk{FS: lazyFiles{}}))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if got := whole(t, dir); got != st.want {
		t.Errorf("rolled forward to\n%s", got)
	}
}
