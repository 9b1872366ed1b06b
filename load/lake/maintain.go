package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/gcerrors"
)

// OrphanAge is how old an object must be that nothing names before it is deleted: far older than
// any commit under way.
const OrphanAge = 72 * time.Hour

// maxSkew is how much our clock may differ from the catalog's where ages decide what is deleted.
const maxSkew = time.Hour

// MaintainOptions limit the deletions of maintenance. Zero values are the defaults.
type MaintainOptions struct {
	SnapshotAge time.Duration // default [SnapshotAge]; the current snapshot always stays
	OrphanAge   time.Duration // default [OrphanAge]
}

// Maintained is the result of maintenance.
type Maintained struct {
	Tables   int
	Expired  int // snapshots
	Orphans  int // objects that nothing named
	Bytes    int64
	Regroups int // tables whose manifests were written again
}

// Maintain expires snapshots with the files that only they name, deletes objects that nothing
// names, and regroups manifests that others have scattered. It changes no row of any table's
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
			if ahead := time.Duration(l.ahead.Load()); ahead.Abs() > maxSkew {
				return done, fmt.Errorf("this machine's clock is %s ahead of the catalog's: one of them is wrong, and "+
					"nothing is deleted by its age", ahead.Round(time.Minute))
			}
			if err == nil {
				err = l.maintain(ctx, t, o, done)
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

func (l *Lake) maintain(ctx context.Context, t *lakeTable, o MaintainOptions, done *Maintained) error {
	regrouped, err := l.regroup(ctx, t)
	if err != nil {
		return err
	}
	if regrouped {
		done.Regroups++
		if t, err = l.load(ctx, t.spec); err != nil {
			return err
		}
	}
	before, old := len(t.tbl.Metadata().Snapshots()), false
	for _, s := range t.tbl.Metadata().Snapshots() {
		old = old || s.SnapshotID != t.tbl.CurrentSnapshot().SnapshotID &&
			time.Since(time.UnixMilli(s.TimestampMs)) > o.SnapshotAge
	}
	tbl := t.tbl
	if old {
		tx := tbl.NewTransaction()
		if err := tx.ExpireSnapshots(table.WithOlderThan(o.SnapshotAge), table.WithRetainLast(1)); err != nil {
			return err
		}
		if tbl, err = tx.Commit(ctx); err != nil {
			return err
		}
		done.Expired += before - len(tbl.Metadata().Snapshots())
	}
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

// regroup writes the manifests of a table again where they are more than twice as many as its
// files need, sorted as a commit sorts them.
func (l *Lake) regroup(ctx context.Context, t *lakeTable) (bool, error) {
	current := t.tbl.CurrentSnapshot()
	if current == nil {
		return false, nil
	}
	manifests, err := current.Manifests(t.fs)
	if err != nil {
		return false, err
	}
	var files int64
	for _, m := range manifests {
		files += int64(m.AddedDataFiles() + m.ExistingDataFiles())
	}
	if needed := files/int64(manifestTarget) + 1; int64(len(manifests)) <= 2*needed+8 {
		return false, nil
	}
	c := &change{t: t, live: &live{}, regroup: true}
	for _, m := range manifests {
		if m.ManifestContent() == iceberg.ManifestContentDeletes {
			return false, nil // another engine is at work here
		}
		entries, err := entriesOf(m, t.fs)
		if err != nil {
			return false, err
		}
		c.live.kept = append(c.live.kept, entries...)
	}
	commit, err := c.write(ctx, l.opts.Now().UnixMilli(), iceberg.Properties{generationNote: "maintain"})
	if err != nil {
		return false, err
	}
	_, _, err = l.catalog.CommitTable(ctx, commit.Identifier, commit.Requirements, commit.Updates)
	return err == nil, err
}
