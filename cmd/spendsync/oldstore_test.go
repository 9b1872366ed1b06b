package main

import (
	"archive/tar"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load/durable"
	"spendsync/load/loadtest"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// testdata/stores contains packed stores of all versions that can be upgraded. The file name has the version of the
// schema and of the manifest. The newest store is made by
//
//	go test ./cmd/spendsync -run TestOldStores_AreKept -update-stores
//
// which writes the store of this version, if there is none yet. The other stores are never made again, because they
// represent the stores that users have.
var updateStores = flag.Bool("update-stores", false, "write the store of this version to testdata/stores")

const storesDir = "../../testdata/stores"

// oldNow is the instant at which the kept stores were made. Only at this instant can the service still report their
// days. oldAccount configures the service's account for these stores.
var oldNow = time.Date(2026, time.November, 21, 18, 0, 0, 0, time.UTC)

func oldAccount(c *adsim.Config) {
	c.Campaigns, c.CreativesPerCampaign, c.Sources, c.RowsPerDay = 4, 2, 20, 20
}

// oldestStore is the kept store of the oldest version that can be upgraded.
const oldestStore = "v10-3.tar.zst"

// TestOldStores_AreKept checks that testdata/stores has a store of this version. The name v10-3, for example, means
// schema 10 with a manifest of format 3.
func TestOldStores_AreKept(t *testing.T) {
	path := filepath.Join(storesDir, fmt.Sprintf("v%d-%d.tar.zst", schema.Version, manifest.Format))
	if _, err := os.Stat(path); err == nil {
		return
	}
	if !*updateStores {
		t.Fatalf("%s is missing: run this test with -update-stores", path)
	}
	w := newWorld(t, oldAccount).withMarts()
	w.service.SetNow(oldNow)
	w.must("sync")
	// The kept store must contain a restatement.
	if err := w.service.Restate((w.today() - 5).String(), adsim.Restatement{Kind: "change", Row: 0}); err != nil {
		t.Fatal(err)
	}
	w.env["REREAD_AFTER"] = "0s"
	w.service.Advance(time.Hour)
	w.must("sync")
	if got := w.ask("SELECT count(*) FROM spend_change"); got != "1" {
		t.Fatalf("the store has %s restatements", got)
	}
	if err := packStore(w.dir, path); err != nil {
		t.Fatal(err)
	}
}

// packStore packs the published files of a store.
func packStore(dir, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		if err != nil || e.IsDir() || strings.HasPrefix(rel, "locks/") || strings.HasPrefix(rel, "staging/") {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: rel, Mode: 0o644, Size: int64(len(b))}); err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	})
	for _, c := range []io.Closer{w, z, f} {
		if cerr := c.Close(); err == nil {
			err = cerr
		}
	}
	return err
}

// TestOldStores_OpenMigrateAndVerify uses each kept store with this version: the store passes verify, answers questions
// and is synced. Then it has this version and still the same data.
func TestOldStores_OpenMigrateAndVerify(t *testing.T) {
	stores, err := filepath.Glob(storesDir + "/*.tar.zst")
	if err != nil || len(stores) == 0 {
		t.Fatalf("%d stores: %v", len(stores), err)
	}
	if !schematest.All() { // the upgrade of the oldest store includes the steps of the others
		stores = []string{filepath.Join(storesDir, oldestStore)}
	}
	for _, path := range stores {
		t.Run(filepath.Base(path), func(t *testing.T) {
			w := newWorld(t, oldAccount).withMarts()
			loadtest.Unpack(t, path, w.dir)
			was, err := manifest.Read(w.dir)
			if err != nil {
				t.Fatal(err)
			}
			w.service.SetNow(was.PublishedAt.Time().Add(time.Minute))
			w.must("verify")
			// Ask for the columns that the old store has, without the campaign's name.
			askSpend := "SELECT " + schema.SpendDaily.AsOf(was.SchemaVersion).SQLColumns("campaign_name") +
				" FROM spend_daily ORDER BY ALL"
			askChanges := "SELECT " + schema.SpendChanges.AsOf(was.SchemaVersion).SQLColumns() +
				" FROM spend_change ORDER BY ALL"
			spend, changes := w.ask(askSpend), w.ask(askChanges)
			const ofCreatives = "SELECT creative_id, version_no, change_type, read_state, title FROM " +
				"creative_history ORDER BY ALL"
			versions, creatives := w.ask("SELECT count(*) FROM campaign_history"), w.ask(ofCreatives)
			runs := w.ask("SELECT count(*) FROM ops.run")
			// Read as little as possible from the service, so that the test compares the data that was stored before.
			w.env["YOUNG_DAYS"] = "1"
			w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500, Day: w.today().String()})
			if code, _, last := w.run("sync"); code != exit.Partial && code != exit.OK && code != exit.Unreachable {
				t.Errorf("sync: exit %d: %s", code, last)
			}
			w.must("repair", "rebuild")
			w.must("verify")
			is, err := manifest.Read(w.dir)
			if err != nil {
				t.Fatal(err)
			}
			if is.SchemaVersion != schema.Version || is.Format < was.Format || is.Checksum == "" ||
				is.Generation <= was.Generation {
				t.Errorf("migrated to schema %d, manifest %d, generation %d", is.SchemaVersion, is.Format,
					is.Generation)
			}
			for a := range was.Accounts[w.env["ACCOUNT"]].Days {
				if is.Accounts[w.env["ACCOUNT"]].Days[a] == nil {
					t.Errorf("%s is forgotten", a)
				}
			}
			if got := w.ask(askSpend); got != spend {
				t.Error("spend_daily is not what it was")
			}
			if got := w.ask(askChanges); got != changes || !strings.Contains(got, "update") {
				t.Errorf("spend_change is\n%s\nand was\n%s", got, changes)
			}
			if got := w.ask("SELECT count(*) FROM campaign_history"); got != versions {
				t.Errorf("%s versions of campaigns, there were %s", got, versions)
			}
			// The first read fills the columns that a table has gained. This does not make a new version.
			if got := w.ask(ofCreatives); got != creatives {
				t.Errorf("the versions of creatives are\n%s\nand were\n%s", got, creatives)
			}
			if got := w.ask("SELECT count(*) FROM ops.run"); got <= runs {
				t.Errorf("%s runs, there were %s", got, runs)
			}
		})
	}
}

// TestOldStores_OfOtherVersionsAreRefused tests stores of a future version, and of a version that was never released.
// Nothing changes, and the message says which spendsync can read the store.
func TestOldStores_OfOtherVersionsAreRefused(t *testing.T) {
	w := newWorld(t, oldAccount)
	loadtest.Unpack(t, filepath.Join(storesDir, oldestStore), w.dir)
	root, err := os.ReadFile(filepath.Join(w.dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	before := w.hashes("")
	format, tables := fmt.Sprintf(`"format": %d`, manifest.Format), `"schema_version": 10`
	for _, edit := range [][3]string{
		{tables, `"schema_version": 99`, "newer version"}, {format, `"format": 99`, "newer version"},
		{tables, `"schema_version": 9`, schema.OldestCommit}, {format, `"format": 2`, schema.OldestCommit},
	} {
		w.spoil("manifest.json", func([]byte) []byte {
			b := []byte(strings.Replace(string(root), edit[0], edit[1], 1))
			copy(durable.FindSeal(b), durable.Unsealed)
			durable.Seal(b)
			return b
		})
		for _, command := range []string{"sync", "verify", "repair rebuild", "repair replay", "status"} {
			code, _, last := w.run(strings.Fields(command)...)
			if code != exit.Newer || !strings.Contains(last, edit[2]) {
				t.Errorf("%s of a store with %s: exit %d: %s", command, edit[1], code, last)
			}
		}
	}
	for path, h := range w.hashes("") {
		if before[path] != h && !strings.HasSuffix(path, "manifest.json") && !strings.Contains(path, "/locks/") {
			t.Errorf("%s changed", path)
		}
	}
}
