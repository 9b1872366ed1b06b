package lake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"spendsync/load/manifest"
	"spendsync/schema"
)

// commit writes the manifests and commits all tables at once, lake_generation with them.
func (f *follower) commit(ctx context.Context, w *wanted, marker *lakeTable, had *markers, changes []*change) error {
	now, version := f.lake.opts.Now(), f.lake.opts.Version
	notes := notesOf(version, w.listing)
	for account := range w.accounts {
		if had.rows[account].Version == version {
			continue
		}
		var err error // the account is new, or what a binary of another version has committed
		if f.done.NoView, err = f.lake.makeView(ctx); err != nil {
			return err
		}
		break
	}
	var commits []table.TableCommit
	is := state{snapshots: map[string]int64{}, uuids: map[string]string{}}
	add := func(c *change) error {
		commit, err := c.write(ctx, now.UnixMilli(), notes)
		if err == nil && len(commit.Updates) > 0 {
			commits = append(commits, commit)
			f.done.Tables[c.t.name] = len(c.added) + len(c.live.removed)
		}
		is.snapshots[c.t.name], is.uuids[c.t.name] = c.snapshot, c.t.uuid().String()
		return err
	}
	for _, c := range changes {
		if err := add(c); err != nil {
			return err
		}
	}
	rows := maps.Clone(had.rows)
	for account := range w.accounts {
		var err error
		if rows[account], err = w.next(account, had.states[account], is, schema.InstantOf(now), version); err != nil {
			return err
		}
	}
	// Of the table whose rows were read: the commit holds only if they still stand.
	c, err := marker.mark(ctx, had, rows)
	if err != nil {
		return err
	}
	if err := add(c); err != nil {
		return err
	}
	if err := f.lake.step("commit"); err != nil {
		return err
	}
	f.asked = &asked{rows: rows, done: f.done}
	if err := f.lake.send(ctx, commits); err != nil {
		return remote("commit", err)
	}
	return f.lake.step("committed")
}

// generationNote is the snapshot property that marks a snapshot written by spendsync.
const generationNote = "spendsync.generation"

// notesOf are the properties of the snapshots: the generation with a hash of what it has.
func notesOf(version string, l *manifest.Listing) iceberg.Properties {
	m, hash := l.Manifest, sha256.New()
	fmt.Fprintln(hash, schema.Version, mergedMark)
	for _, a := range l.Accounts {
		fmt.Fprintln(hash, a.Name, a.Part.SHA256)
	}
	return iceberg.Properties{generationNote: strconv.FormatInt(m.Generation, 10), "spendsync.run_id": m.RunID,
		"spendsync.version": version, "spendsync.files": hex.EncodeToString(hash.Sum(nil)[:8])}
}

// mark is the change of lake_generation that replaces the rows.
func (t *lakeTable) mark(ctx context.Context, had *markers, rows map[string]Marker) (*change, error) {
	b, err := encodeRows(rows)
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
	return &change{t: t, live: &live{kept: had.rest, removed: had.files}, added: []iceberg.DataFile{d},
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
