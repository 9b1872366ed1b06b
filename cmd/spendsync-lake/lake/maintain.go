package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/gcerrors"
)

// OrphanAge is the minimum age at which orphans (objects to which no table refers) are deleted. It is much longer than
// any commit takes: until a commit ends, no table refers to the uploaded objects.
const OrphanAge = 72 * time.Hour

// MaintainOptions limit what [Lake.Maintain] may delete. A zero value means the default.
type MaintainOptions struct {
	SnapshotAge time.Duration // default [SnapshotAge]; the current snapshot always stays
	OrphanAge   time.Duration // default [OrphanAge]
}

// Maintained is the result of [Lake.Maintain].
type Maintained struct {
	Tables  int
	Expired int // number of expired snapshots
	Orphans int // number of deleted objects
	Bytes   int64
}

// Maintain merges manifests, expires snapshots, deletes the files to which only expired snapshots refer, and deletes
// objects to which no table refers. It changes no rows of the current snapshots. Only one process at a time may run
// Maintain; other processes may run [Lake.Follow] at the same time.
func (l *Lake) Maintain(ctx context.Context, o MaintainOptions) (*Maintained, error) {
	if o.SnapshotAge == 0 {
		o.SnapshotAge = SnapshotAge
	}
	if o.OrphanAge == 0 {
		o.OrphanAge = OrphanAge
	}
	done := &Maintained{}
	ctx = l.storage(ctx)
	for _, s := range l.specs {
		for try := 1; ; try++ {
			t, err := l.load(ctx, s)
			if err == nil && t == nil {
				break // the table does not exist yet
			}
			if err == nil {
				err = t.maintain(ctx, o, done)
			}
			if err == nil {
				done.Tables++
				break
			}
			if try == maxTries || !errors.Is(err, rest.ErrCommitFailed) {
				return done, remote("maintain "+s.name, err)
			}
			time.Sleep(time.Duration(try) * firstWait)
		}
	}
	return done, nil
}

func (t *lakeTable) maintain(ctx context.Context, o MaintainOptions, done *Maintained) error {
	before := len(t.tbl.Metadata().Snapshots())
	tx := t.tbl.NewTransaction()
	merged, err := tx.RewriteManifests(ctx) // each Follow adds a manifest and reads all of them, so merge them
	if err != nil {
		return err
	}
	if !merged.IsNoOp() {
		before++
	}
	if err := tx.ExpireSnapshots(table.WithOlderThan(o.SnapshotAge), table.WithRetainLast(1)); err != nil {
		return err
	}
	tbl, err := tx.Commit(ctx)
	if err != nil {
		return err
	}
	done.Expired += before - len(tbl.Metadata().Snapshots())
	// Look only into the folders of table files. Other objects below the location may belong to other programs.
	for _, folder := range []string{"/data", "/metadata"} {
		result, err := tbl.DeleteOrphanFiles(ctx, table.WithLocation(tbl.Location()+folder),
			table.WithFilesOlderThan(o.OrphanAge))
		if isNotThere(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("orphans of %s: %w", t.name, err)
		}
		done.Orphans += len(result.DeletedFiles)
		done.Bytes += result.TotalSizeBytes
	}
	return nil
}

// isNotThere reports whether an object or folder is missing. It looks at the status of S3's reply first. gocloud is not
// reliable here: it reports a missing object for any error whose text contains 301, for example in a port number or a
// request ID.
func isNotThere(err error) bool {
	if reply, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return reply.HTTPStatusCode() == http.StatusNotFound
	}
	return err != nil && (errors.Is(err, fs.ErrNotExist) || gcerrors.Code(err) == gcerrors.NotFound)
}
