package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"spendsync/extract/outbound"
	"spendsync/schema"
)

// commit writes the manifests and commits all tables at once, the marker with them.
func (f *follower) commit(ctx context.Context, w *wanted, changes []*change, marker *lakeTable, marks *markers) error {
	now := f.Lake.opts.Now()
	notes := iceberg.Properties{generationNote: strconv.FormatInt(w.manifest.Generation, 10),
		"spendsync.run_id": w.manifest.RunID, "spendsync.version": f.Lake.opts.Version}
	if f.folds {
		notes = iceberg.Properties{generationNote: "inbox", "spendsync.version": f.Lake.opts.Version}
	}
	var commits []table.TableCommit
	snapshots, uuids := map[string]int64{}, map[string]string{}
	add := func(c *change) error {
		commit, err := c.write(ctx, now.UnixMilli(), notes)
		if err == nil && len(commit.Updates) > 0 {
			commits = append(commits, commit)
			f.done.Tables[c.t.name] = len(c.added) + len(c.live.removed)
		}
		snapshots[c.t.name], uuids[c.t.name] = c.snapshot, c.t.uuid().String()
		return err
	}
	for _, c := range changes {
		if err := add(c); err != nil {
			return err
		}
		f.done.Added += len(c.added)
		f.done.Removed += len(c.live.removed)
	}
	for account := range w.accounts {
		row, err := w.next(account, snapshots, uuids, schema.InstantOf(now), f.Lake.opts.Version)
		if err != nil {
			return err
		}
		marks.rows[account] = row
	}
	c, err := marker.mark(ctx, marks)
	if err != nil {
		return err
	}
	if err := add(c); err != nil {
		return err
	}
	if err := f.step("commit"); err != nil {
		return err
	}
	f.asked = &asked{rows: maps.Clone(marks.rows), done: f.done}
	if err := f.send(ctx, commits); err != nil {
		return remote("commit", err)
	}
	return f.step("committed")
}

// mark is the change of lake_generation that replaces the rows.
func (t *lakeTable) mark(ctx context.Context, marks *markers) (*change, error) {
	b, err := marks.encode()
	if err != nil {
		return nil, err
	}
	object := t.tbl.Location() + "/data/" + uuid.NewString() + ".parquet"
	if err := put(ctx, t.fs, object, bytes.NewReader(b)); err != nil {
		return nil, remote(t.name, err)
	}
	d, err := t.describe(ctx, object, bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	return &change{t: t, live: &live{kept: marks.rest, removed: marks.files}, added: []iceberg.DataFile{d},
		columns: t.missing}, nil
}

// send commits all tables in one transaction. If the catalog has no transactions, it commits them
// one by one, the marker last: readers who go by the marker see one generation.
func (l *Lake) send(ctx context.Context, commits []table.TableCommit) error {
	err := l.catalog.CommitTransaction(ctx, commits)
	l.transacts = !hasNoTransactions(err)
	if l.transacts {
		return unknownIfCut(ctx, err)
	}
	for _, c := range commits {
		if _, _, err := l.catalog.CommitTable(ctx, c.Identifier, c.Requirements, c.Updates); err != nil {
			return unknownIfCut(ctx, err)
		}
		if err := l.step("table"); err != nil {
			return err
		}
	}
	return nil
}

// hasNoTransactions reports whether the answer to a transaction is that there is no such thing: the catalog does
// not list it among its endpoints, or it lists none and then answers that the address or the method is unknown.
func hasNoTransactions(err error) bool {
	said, ok := errors.AsType[*RefusedError](err)
	return errors.Is(err, rest.ErrEndpointNotSupported) || ok && (said.Status == http.StatusNotFound ||
		said.Status == http.StatusMethodNotAllowed || said.Status == http.StatusNotImplemented)
}

// unknownIfCut makes of a connection that ended before the answer an unknown outcome: the catalog may have
// committed. The next try finds out.
func unknownIfCut(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*url.Error](err); !ok || ctx.Err() != nil || errors.Is(err, ErrRejected) ||
		strings.Contains(err.Error(), outbound.ErrRefused.Error()) {
		return err
	}
	return fmt.Errorf("%w: %w", rest.ErrCommitStateUnknown, err)
}
