package lake

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// Checked is what a check found.
type Checked struct {
	Generation   int64 // of the store
	Accounts     int
	Tables       int      // that are there, as ours
	Transactions bool     // the catalog committed two tables at once
	Foreign      []string // columns that somebody has added to tables, as table.column
	Left         []string // what could not be removed after the check, and why
}

// cleanUp is how long removing one table of a check may take.
const cleanUp = 30 * time.Second

// Check does once what [Lake.Follow] does: in the same namespace, with two tables of its own that hold one row,
// which it removes. No other table is changed.
func (l *Lake) Check(ctx context.Context, dir string) (*Checked, error) {
	m, err := manifest.OpenListing(dir)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	found := &Checked{Generation: m.Manifest.Generation, Accounts: len(m.Accounts)}
	tables, err := l.tables(ctx)
	if err != nil {
		return nil, err
	}
	found.Tables, found.Foreign = len(tables), l.foreignColumns(tables)
	made, err := l.ensureNamespace(ctx)
	if err != nil {
		return nil, err
	}
	err = l.rehearse(ctx, found)
	if made {
		found.leave("namespace "+l.opts.Namespace, l.catalog.DropNamespace(ctx, l.namespace()))
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// leave notes what could not be removed.
func (c *Checked) leave(what string, err error) {
	if err != nil {
		c.Left = append(c.Left, fmt.Sprintf("%s: %v", what, err))
	}
}

// rehearse makes two tables, commits a row to one and a property to the other, reads the row and removes all.
func (l *Lake) rehearse(ctx context.Context, found *Checked) error {
	suffix := "_check_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:8]
	rows, days := *markerSpec(), *specOf(schema.DeliveryHistory.Table) // whose ids a catalog would number anew
	rows.name += suffix
	days.name += suffix
	first, err := l.create(ctx, &days)
	if first != nil {
		defer l.discard(ctx, first, found)
	}
	if err != nil {
		return err
	}
	t, err := l.create(ctx, &rows)
	if t != nil {
		defer l.discard(ctx, t, found)
	}
	if err != nil {
		return err
	}
	row := Marker{AccountID: "check", Version: l.opts.Version}
	c, err := t.mark(ctx, &markers{}, map[string]Marker{row.AccountID: row})
	if err != nil {
		return err
	}
	one, err := c.write(ctx, l.opts.Now().UnixMilli(), iceberg.Properties{})
	if err != nil {
		return err
	}
	meta := first.tbl.Metadata()
	commits := []table.TableCommit{{Identifier: first.tbl.Identifier(),
		Requirements: []table.Requirement{table.AssertTableUUID(meta.TableUUID())},
		Updates:      []table.Update{table.NewSetPropertiesUpdate(map[string]string{"spendsync.check": "true"})}}, one}
	if err := l.send(ctx, commits); err != nil {
		return remote("commit of a row to a table of the check", err)
	}
	found.Transactions = l.transacts
	if err := l.readBack(ctx, &rows, row); err != nil {
		return err
	}
	object := t.tbl.Location() + "/data/check-" + uuid.NewString()
	if err := put(ctx, t.fs, object, strings.NewReader("spendsync-lake check")); err != nil {
		return remote("write to the object storage", err)
	}
	found.leave("an object (without the right to delete, 'maintain' can remove nothing)", t.fs.Remove(object))
	return nil
}

// readBack reads the row of a check as any reader would.
func (l *Lake) readBack(ctx context.Context, s *tableSpec, row Marker) error {
	t, err := l.load(ctx, s)
	if err == nil && t == nil {
		err = fmt.Errorf("%w: table %s was committed and is not there", ErrForeign, s.name)
	}
	if err != nil {
		return err
	}
	marks, err := readMarkers(t.fs, t.tbl.CurrentSnapshot(), nil)
	if err == nil && marks.rows[row.AccountID] != row {
		err = fmt.Errorf("%w: the row that was committed to table %s is not there", ErrForeign, s.name)
	}
	return err
}

// discard drops a table of a check with its objects; if the catalog does not purge, it deletes them itself.
func (l *Lake) discard(ctx context.Context, t *lakeTable, found *Checked) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	if l.catalog.PurgeTable(ctx, t.tbl.Identifier()) == nil {
		return
	}
	if err := l.catalog.DropTable(ctx, t.tbl.Identifier()); err != nil {
		found.leave("table "+t.name, err)
		return
	}
	files, err := t.tbl.FS(l.storage(ctx))
	for _, folder := range []string{"/data", "/metadata"} {
		if all, ok := files.(iceio.RemoveAllIO); ok {
			err = errors.Join(err, all.RemoveAll(t.tbl.Location()+folder))
		}
	}
	found.leave("objects of table "+t.name, err)
}
