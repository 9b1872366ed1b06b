package load

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"spendsync/schema"
)

// TestBuildWarehouse_ChecksWhatIsOnDisk holds that nothing of what the engine wrote is
// left in it when it is asked for the check: a file that is another one by then is seen.
func TestBuildWarehouse_ChecksWhatIsOnDisk(t *testing.T) {
	dir, other := quickDir(t), quickDir(t)
	m := newRun(t, dir).mustSync(twoDays())
	newRun(t, other).mustSync(map[schema.Date][]schema.Spend{day: twoDays()[day]})
	content := func(dir string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, warehouseName))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	o := sceneOptions(disk{lazyFiles{}}).filled()
	o.dir = t.TempDir()
	path := filepath.Join(o.dir, warehouseName)
	build := func(after []byte) error {
		if err := os.WriteFile(path, content(dir), 0o644); err != nil {
			t.Fatal(err)
		}
		read := func(conn *sql.Conn, _ []error) ([]tableLoad, error) {
			_, err := checkCounts(t.Context(), conn, warehouseCheck{manifest: m})
			return nil, err
		}
		return buildWarehouse(t.Context(), path, false, nil, nil, o, read, func(conn *sql.Conn) error {
			if after != nil {
				if err := os.WriteFile(path, after, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			return checkFile(context.Background(), conn, path, warehouseCheck{manifest: m})
		})
	}
	if err := build(nil); err != nil {
		t.Fatal(err)
	}
	if err := build(content(other)); !errors.Is(err, ErrDamaged) {
		t.Errorf("another file is taken for this one: %v", err)
	}
	flipped := content(dir)
	for i := 3 * 4096; i < len(flipped); i += 4096 {
		flipped[i] ^= 1
	}
	if err := build(flipped); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged file is taken for a whole one: %v", err)
	}
}
