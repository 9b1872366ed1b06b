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

// OrphanAge is how old an object must be that nothing names before it is deleted: far older than
// any commit under way.
const OrphanAge = 72 * time.Hour

// MaintainOptions limit the deletions of maintenance. Zero values are the defaults.
type MaintainOptions struct {
	SnapshotAge time.Duration // default [SnapshotAge]; the current snapshot always stays
	OrphanAge   time.Duration // default [OrphanAge]
}

// Maintained is the result of maintenance.
type Maintained struct {
	Tables  int
	Expired int // snapshots
	Orphans int // objects that nothing named
	Bytes   int64
}

// Maintain merges manifests, expires snapshots with the files that only they name, and deletes objects that nothing
// names. It changes no row of any table's
// current snapshot. Only one process may run it at a time; followers may run meanwhile.
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
	merged, err := tx.RewriteManifests(ctx) // each follow adds one, and reads them all
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
	// Only the folders of table files: other objects there are not ours to judge.
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

// isNotThere reports whether an object or folder is missing. To gocloud every error of S3 with 301 in its text means
// that, such as one of a port or a request ID: what S3 answered counts.
func isNotThere(err error) bool {
	if reply, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return reply.HTTPStatusCode() == http.StatusNotFound
	}
	return err != nil && (errors.Is(err, fs.ErrNotExist) || gcerrors.Code(err) == gcerrors.NotFound)
}
