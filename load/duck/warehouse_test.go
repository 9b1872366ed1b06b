package duck

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/duckdb/duckdb-go/v2"

	"spendsync/load/durable"
	"spendsync/schema"
)

const day = schema.Date(20777) // 2026-11-20

// TestWarehouse_NeedsNoRoomOnDisk: a check works on a full or read-only volume, because DuckDB gets more memory if it
// cannot spill. Building needs the disk in any case.
func TestWarehouse_NeedsNoRoomOnDisk(t *testing.T) {
	for mayLackDisk, want := range map[bool]int{true: 2, false: 1} {
		o := Options{Threads: 1, Dir: t.TempDir(), FirstMemory: "8MiB", Memory: "1GiB",
			Disk: durable.OS}
		w, err := start(t.Context(), filepath.Join(o.Dir, FileName), o)
		if err != nil {
			t.Fatal(err)
		}
		w.mayLackDisk = mayLackDisk
		tries := 0
		full := func() error {
			tries++
			return duckErr("SELECT", &duckdb.Error{Type: duckdb.ErrorTypeIO, Msg: `IO Error: Failed to create ` +
				`directory "w.tmp": Read-only file system`})
		}
		if err := w.Stop(w.WithMemory(t.Context(), full)); !errors.Is(err, durable.ErrStorage) || tries != want {
			t.Errorf("mayLackDisk %t: %d tries and %v, want %d", mayLackDisk, tries, err, want)
		}
	}
}

// TestBuild_KeepsStatisticsShort: with DuckDB's default storage version an empty file with 300 columns takes a
// megabyte.
func TestBuild_KeepsStatisticsShort(t *testing.T) {
	o := Options{Threads: 1, Dir: t.TempDir(), Disk: durable.OS}
	path := filepath.Join(o.Dir, FileName)
	for _, empty := range []bool{true, false} { // new, and then carried forward
		w, err := Build(t.Context(), path, empty, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		var storage string
		err = w.conn.QueryRowContext(t.Context(), "SELECT tags['storage_version'] FROM duckdb_databases() "+
			"WHERE database_name = 'w'").Scan(&storage)
		if err := w.Stop(errors.Join(err, w.Finish(t.Context()))); err != nil || storage != "v1.2.0+" {
			t.Errorf("empty %t: storage %q, %v", empty, storage, err)
		}
	}
}

// TestEngine_FetchesNothing checks the settings of an engine after its start.
func TestEngine_FetchesNothing(t *testing.T) {
	for _, keep := range []bool{true, false} {
		conn, stop, err := openEngine(t.Context(), Options{Threads: 1, keepOrder: keep}, t.TempDir(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"autoinstall_known_extensions": false,
			"autoload_known_extensions": false, "allow_community_extensions": false, "allow_persistent_secrets": false,
			"enable_external_access": false, "lock_configuration": true, "preserve_insertion_order": keep} {
			var is bool
			q := "SELECT current_setting('" + name + "')::BOOLEAN"
			if err := conn.QueryRowContext(t.Context(), q).Scan(&is); err != nil || is != want {
				t.Errorf("%s is %t (%v), want %t", name, is, err, want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestUnread_TellsTheDiskFromDamage: a full disk for temporary files is not damage of the DuckDB file.
func TestUnread_TellsTheDiskFromDamage(t *testing.T) {
	for text, damage := range map[string]bool{
		`IO Error: Failed to create directory "w.tmp": Read-only file system`:          false,
		`IO Error: Could not write file "w.tmp/0": No space left on device`:            false,
		"IO Error: Corrupt database file: computed checksum 1 does not match stored 2": true,
		"INTERNAL Error: Attempted to access index 7 within vector of size 3":          true,
		"Catalog Error: Table with name spend_daily does not exist!":                   true,
	} {
		kind := duckdb.ErrorTypeInvalid
		if strings.HasPrefix(text, "IO Error") {
			kind = duckdb.ErrorTypeIO
		}
		err := unread(&duckdb.Error{Type: kind, Msg: text}, "%s cannot be summed", "spend_daily")
		if errors.Is(err, durable.ErrDamaged) != damage || errors.Is(err, durable.ErrStorage) == damage {
			t.Errorf("%s: %v, want a damage: %t", text, err, damage)
		}
	}
}

// TestDuckErr_TellsTheDisksTrouble: disk errors are recognized, although DuckDB reports them with the type of the
// failed operation.
func TestDuckErr_TellsTheDisksTrouble(t *testing.T) {
	for text, want := range map[string]bool{
		"TransactionContext Error: Failed to commit: fsync failed!":                           true,
		"TransactionContext Error: Failed to commit: Could not write file: No space left":     true,
		"TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE constraint broken": false,
	} {
		err := duckErr("COMMIT", &duckdb.Error{Type: duckdb.ErrorTypeTransaction, Msg: text})
		if got := errors.Is(err, durable.ErrStorage); got != want {
			t.Errorf("%s: storage %t, want %t", text, got, want)
		}
	}
}

// TestWarehouse_TakesMoreMemoryWhereItMust: an operation that fails with the first memory limit is repeated with the
// second limit, and the error of the repetition counts.
func TestWarehouse_TakesMoreMemoryWhereItMust(t *testing.T) {
	for name, c := range map[string]struct {
		first string
		most  string
		tries int
		fails bool
	}{
		"all at once":    {"", "1GiB", 1, false},
		"the second":     {"8MiB", "1GiB", 2, false},
		"never enough":   {"8MiB", "9MiB", 2, true},
		"little enough":  {"", "9MiB", 1, true},
		"its own choice": {"8MiB", "", 1, false},
	} {
		o := Options{Threads: 1, Dir: t.TempDir(), FirstMemory: c.first, Memory: c.most, Disk: durable.OS}
		w, err := Open(t.Context(), filepath.Join(o.Dir, FileName), o)
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		err = w.WithMemory(t.Context(), func() error {
			tries++
			return w.Exec(t.Context(), "SELECT length(list(i)::VARCHAR) FROM range(2_000_000) AS t(i)")
		})
		if tries != c.tries || (err != nil) != c.fails {
			t.Errorf("%s: %d tries and %v, want %d and an error: %t", name, tries, err, c.tries, c.fails)
		}
		if err := w.Stop(nil); err != nil {
			t.Fatal(err)
		}
	}
}
