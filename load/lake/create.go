package lake

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// create makes a table with our ids. A catalog gives the columns of a new table ids of its own, so our
// schema comes after it in the same commit; then the ids are compared. If a catalog accepts no second
// schema, ours is the only one.
func (l *Lake) create(ctx context.Context, s *tableSpec) (*lakeTable, error) {
	if s.isNumbered() {
		if t, err := l.createOnce(ctx, s); err == nil {
			return t, nil
		}
	}
	t, err := l.createTwice(ctx, s)
	if err == nil || !errors.Is(err, errNotMade) {
		return t, err
	}
	t, plainErr := l.createOnce(ctx, s)
	if plainErr == nil {
		return t, nil
	}
	// It answers other requests, but makes our table in neither way. The same words again are no failure that passes.
	t, again := l.createTwice(ctx, s)
	if errors.Is(again, errNotMade) && again.Error() == err.Error() {
		return nil, fmt.Errorf("%w: with a second schema, which gives the columns our ids: %w; with one schema: %w",
			ErrRejected, again, plainErr)
	}
	return t, again
}

// isNumbered reports whether the columns have the ids that a catalog gives to those of a new table: 1, 2, 3 and so on.
func (s *tableSpec) isNumbered() bool {
	for i, f := range s.schema.Fields() {
		if f.ID != i+1 {
			return false
		}
	}
	return true
}

// errNotMade reports that the catalog was asked to make a table, and that it is not there.
var errNotMade = errors.New("the table was not made")

// createTwice makes a table with the catalog's schema and then ours, in one commit.
func (l *Lake) createTwice(ctx context.Context, s *tableSpec) (*lakeTable, error) {
	fresh, err := iceberg.AssignFreshSchemaIDs(s.schema, nil)
	if err != nil {
		return nil, err
	}
	// As the catalog numbers the columns, so the partition and the order name them, too.
	staged := []table.Update{table.NewAddSchemaUpdate(s.schema), table.NewSetCurrentSchemaUpdate(-1)}
	for _, f := range s.schema.Fields() {
		if other, _ := fresh.FindFieldByName(f.Name); other.ID != f.ID && !s.order.IsUnsorted() {
			staged = append(staged, table.NewAddSortOrderUpdate(&s.order), table.NewSetDefaultSortOrderUpdate(-1))
			break
		}
	}
	_, err = l.catalog.CreateTable(ctx, l.identifier(s.name), s.schema,
		append(s.createOptions(), icebergcatalog.WithStagedUpdates(staged...))...)
	if said := remote("create table "+s.name, err); errors.Is(said, ErrDenied) || errors.Is(said, ErrElsewhere) {
		return nil, said
	}
	// Whoever made the table, and whatever the reply was, the current state decides.
	t, loadErr := l.load(ctx, s)
	if loadErr == nil && t == nil {
		if err == nil {
			err = ErrForeign
		}
		return nil, fmt.Errorf("%w: %w", remote("create table "+s.name, err), errNotMade)
	}
	return t, loadErr
}

func (s *tableSpec) createOptions() []icebergcatalog.CreateTableOpt {
	return []icebergcatalog.CreateTableOpt{icebergcatalog.WithPartitionSpec(&s.parts),
		icebergcatalog.WithSortOrder(s.order), icebergcatalog.WithProperties(s.props)}
}

// createOnce makes a table with our schema alone. If the catalog gave the columns other ids, the table is useless
// and goes again: that is [ErrForeign].
func (l *Lake) createOnce(ctx context.Context, s *tableSpec) (*lakeTable, error) {
	tbl, err := l.catalog.CreateTable(ctx, l.identifier(s.name), s.schema, s.createOptions()...)
	if errors.Is(err, icebergcatalog.ErrTableAlreadyExists) {
		return l.load(ctx, s)
	} else if err != nil {
		return nil, remote("create table "+s.name, err)
	}
	t, err := l.adopt(ctx, s, tbl)
	if errors.Is(err, ErrForeign) {
		now, loadErr := l.catalog.LoadTable(ctx, l.identifier(s.name))
		if loadErr == nil && now.Metadata().TableUUID() == tbl.Metadata().TableUUID() {
			loadErr = l.catalog.DropTable(ctx, l.identifier(s.name))
		}
		return nil, errors.Join(err, remote("drop table "+s.name, loadErr))
	}
	return t, err
}
