package load

import (
	"context"
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

// damageStride is the number of bytes between two damaged places. A usual run damages about the given number of places
// of each file, and .ci/long every byte.
func damageStride(size, usual int) int {
	if schematest.Times(0, 0, 1) == 1 {
		return 1
	}
	if testing.Short() {
		usual = max(1, usual/4)
	}
	return max(1, size/usual)
}

// spoiled replaces a file by a file with the given bytes. It does not write in place, because other stores may share
// the file by a link.
func spoiled(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// rawOf is the ReadRaw of a scene. A scene's replies contain only the date, so rawOf returns the rows that the scene
// stores for that date.
func rawOf(after string) ReadRaw {
	return func(account string, d schema.Date, _ []schema.Piece, pages iter.Seq2[[]byte, error]) (*schema.SpendRows,
		error) {
		said, err := textsOf(pages)
		if err != nil {
			return nil, err
		}
		stored, err := parquet.ReadRows(filepath.Join(after, manifest.TablePath(schema.SpendDaily.Table, account, d)),
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

// textsOf returns replies as texts, up to the first that cannot be read.
func textsOf(pages iter.Seq2[[]byte, error]) (texts []string, err error) {
	for page, err := range pages {
		if err != nil {
			return texts, err
		}
		texts = append(texts, string(page))
	}
	return texts, nil
}

// TestDamage_VerifyNamesTheFile truncates every kind of file at many places and flips bits in it. Verify names the file
// and its repair.
func TestDamage_VerifyNamesTheFile(t *testing.T) {
	t.Parallel()
	st := scene(t)
	ledger := slices.Collect(maps.Keys(st.is.Accounts["acme"].Ledger))[0]
	files := map[string]string{ // by path: the repair that verify names
		manifest.FileName: durable.RepairBackup, st.is.AccountFiles["acme"].Path: durable.RepairBackup,
		duck.FileName: durable.RepairRebuild, ledger: manifest.RepairLost,
		manifest.RawPath("acme", day, 1): "spendsync sync --from 2026-11-20 --to 2026-11-20",
	}
	tables := map[string]bool{}
	for path, info := range st.is.Accounts["acme"].Files {
		if info.Kind == manifest.KindParquet && !tables[info.Table] {
			tables[info.Table], files[path] = true, manifest.RepairLost
			switch {
			case info.Table == schema.SpendDaily.Name:
				files[path] = durable.RepairReplay
			case info.IsMart() || info.Table == schema.Calendar.Name:
				files[path] = durable.RepairRebuild
			}
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
			usual := schematest.Times(2, 12, 12)
			if path == manifest.FileName {
				usual *= 10
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
	case errors.As(err, &d): // a damaged manifest: verify cannot check anything
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

// rebuild publishes as 'spendsync repair rebuild' does.
func rebuild(t testing.TB, dir string) (Preview, error) {
	t.Helper()
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	r := sceneSecond()
	r.id, r.days = "rebuild", nil
	o.Now = sceneSecond().now
	s, err := Open(context.Background(), dir, "acme", o)
	if err != nil {
		return Preview{}, err
	}
	defer s.Close()
	g, err := stagingOf(s, "rebuild")
	if err != nil {
		return Preview{}, err
	}
	record := r.record()
	record.Steps = nil
	publication := g.publication(r.at)
	publication.Repair = true
	_, preview, err := publish(context.Background(), g, publication, record)
	return preview, errors.Join(err, g.Discard())
}

// TestDamage_RebuildMends damages all derived files at once.
func TestDamage_RebuildMends(t *testing.T) {
	t.Parallel()
	st := scene(t)
	dir := filepath.Join(quickDir(t), "data")
	copyStore(t, st.after, dir)
	const days = "SELECT * EXCLUDE (_run_id) FROM calendar ORDER BY ALL"
	calendar := query(t, dir, days)
	damaged := 0
	for path, info := range st.is.Accounts["acme"].Files {
		if info.Kind == manifest.KindParquet && info.Repair() == durable.RepairRebuild {
			damaged++
			spoiled(t, filepath.Join(dir, path), []byte("PAR1 no more"))
		}
	}
	if damaged < 4 {
		t.Fatalf("%d files follow from others", damaged)
	}
	spoiled(t, filepath.Join(dir, duck.FileName), []byte("x"))
	if _, err := rebuild(t, dir); err != nil {
		t.Fatal(err)
	}
	checkScene(t, dir)
	if query(t, dir, days) != calendar {
		t.Error("the calendar has other days")
	}
	but := func(content string) string {
		return strings.Join(slices.DeleteFunc(strings.Split(content, "\n"), func(line string) bool {
			return strings.Contains(line, "calendar")
		}), "\n")
	}
	if got := whole(t, dir); but(got) != but(st.want) {
		t.Errorf("rebuilt as\n%s\nwant\n%s", got, st.want)
	}
}

// TestDamage_RebuildNamesWhatItCannotMend: a rebuild changes no file of the store, and names each damaged file with its
// repair.
func TestDamage_RebuildNamesWhatItCannotMend(t *testing.T) {
	t.Parallel()
	st := scene(t)
	ledger := slices.Collect(maps.Keys(st.is.Accounts["acme"].Ledger))[0]
	campaigns := manifest.TablePath(schema.CampaignHistory.Table, "acme", 0)
	limits := manifest.TablePath(schema.AccountLimits.Table, "acme", 0)
	spend := manifest.TablePath(schema.SpendDaily.Table, "acme", day)
	lost := manifest.RepairLost
	for name, damaged := range map[string]map[string]string{ // repairs by path
		"files":  {campaigns: lost, limits: lost, spend: durable.RepairReplay},
		"ledger": {ledger: lost},
	} {
		dir := filepath.Join(quickDir(t), "data")
		copyStore(t, st.after, dir)
		for path := range damaged {
			spoiled(t, filepath.Join(dir, path), []byte("x"))
		}
		_, err := rebuild(t, dir)
		for path := range damaged {
			if !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: rebuild = %v, want %s named", name, err, path)
			}
		}
		if m, err := manifest.Read(dir); err != nil || m.Generation != st.is.Generation {
			t.Errorf("%s: published %+v, %v", name, m, err)
		}
		report, err := Verify(t.Context(), dir, sceneOptions(durable.Disk{FS: lazyFiles{}}), nil)
		if err != nil || len(report.Damages) != len(damaged) {
			t.Fatalf("%s: verify = %+v, %v", name, report, err)
		}
		for _, d := range report.Damages {
			if d.Repair != damaged[d.Path] {
				t.Errorf("%s: %s is repaired by %q, want %q", name, d.Path, d.Repair, damaged[d.Path])
			}
		}
	}
}
