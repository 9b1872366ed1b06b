package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"spendsync/load/manifest"
)

// Checked is what a check found.
type Checked struct {
	Generation   int64 // of the store
	Accounts     int
	Tables       int  // that are there, as ours
	Transactions bool // the catalog commits many tables at once
}

// Check reads everything that [Lake.Follow] needs, and writes, reads and deletes one object. No
// table is changed.
func (l *Lake) Check(ctx context.Context, dir string) (*Checked, error) {
	m, err := manifest.OpenListing(dir)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	found := &Checked{Generation: m.Manifest.Generation, Accounts: len(m.Accounts)}
	// A commit of a table that cannot exist commits nothing, and shows whether the catalog supports
	// transactions.
	err = l.catalog.CommitTransaction(ctx, []table.TableCommit{{Identifier: l.identifier("check_" +
		uuid.NewString()[:8]),
		Requirements: []table.Requirement{table.AssertTableUUID(uuid.New())}}})
	found.Transactions = !errors.Is(err, rest.ErrEndpointNotSupported)
	tables, err := l.tables(ctx, false)
	if err != nil {
		return nil, err
	}
	found.Tables = len(tables)
	for _, t := range tables {
		return found, t.probe()
	}
	return found, nil
}

// probe writes, reads and deletes an object.
func (t *lakeTable) probe() error {
	object, said := t.tbl.Location()+"/data/check-"+uuid.NewString(), []byte("spendsync-lake check")
	if err := t.fs.WriteFile(object, said); err != nil {
		return remote("write to the object storage", err)
	}
	f, err := t.fs.Open(object)
	if err != nil {
		return remote("read from the object storage", err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || !bytes.Equal(b, said) {
		return remote("read from the object storage", errors.Join(err, fmt.Errorf("%d bytes came back of %d", len(b),
			len(said))))
	}
	return remote("delete from the object storage", t.fs.Remove(object))
}
