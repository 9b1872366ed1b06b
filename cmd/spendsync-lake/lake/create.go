package lake

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// create makes a table whose columns have our ids. A catalog assigns its own ids to the columns of a new table, so the
// commit that creates the table also sets our schema. Afterwards load checks the ids.
func (l *Lake) create(ctx context.Context, s *tableSpec) (*lakeTable, error) {
	fresh, err := iceberg.AssignFreshSchemaIDs(s.schema, nil)
	if err != nil {
		return nil, err
	}
	// The catalog also renumbers the columns in the sort order. If its numbers differ from ours, set our sort order
	// again.
	staged := []table.Update{table.NewAddSchemaUpdate(s.schema), table.NewSetCurrentSchemaUpdate(-1)}
	for _, f := range s.schema.Fields() {
		if other, _ := fresh.FindFieldByName(f.Name); other.ID != f.ID && !s.order.IsUnsorted() {
			staged = append(staged, table.NewAddSortOrderUpdate(&s.order), table.NewSetDefaultSortOrderUpdate(-1))
			break
		}
	}
	_, err = l.catalog.CreateTable(ctx, l.identifier(s.name), s.schema, icebergcatalog.WithPartitionSpec(&s.parts),
		icebergcatalog.WithSortOrder(s.order), icebergcatalog.WithProperties(s.props),
		icebergcatalog.WithStagedUpdates(staged...))
	err = remote("create table "+s.name, err)
	if errors.Is(err, ErrDenied) || errors.Is(err, ErrElsewhere) {
		return nil, err
	}
	// Look at the table instead of the reply: the reply may be lost, or another process may have made the table.
	t, loadErr := l.load(ctx, s)
	if loadErr == nil && t == nil {
		if err == nil {
			err = fmt.Errorf("%w: table %s was made, and is not there", ErrForeign, s.name)
		}
		return nil, err
	}
	return t, loadErr
}

// extend adds the columns that a table lacks because an older version of spendsync created it. Rows of older files have
// NULL in these columns.
func (l *Lake) extend(ctx context.Context, t *lakeTable) (*lakeTable, error) {
	meta := t.tbl.Metadata()
	old := meta.CurrentSchema()
	extended := iceberg.NewSchemaWithIdentifiers(0, old.IdentifierFieldIDs, append(slices.Clone(old.Fields()),
		t.missing...)...)
	_, _, err := l.catalog.CommitTable(ctx, t.tbl.Identifier(), []table.Requirement{
		table.AssertTableUUID(meta.TableUUID()), table.AssertCurrentSchemaID(old.ID),
		table.AssertLastAssignedFieldID(meta.LastColumnID())}, []table.Update{table.NewAddSchemaUpdate(extended),
		table.NewSetCurrentSchemaUpdate(-1),
		table.NewSetPropertiesUpdate(iceberg.Properties{versionProperty: t.props[versionProperty]})})
	if err != nil {
		return nil, remote("columns of "+t.name, err)
	}
	return l.load(ctx, t.tableSpec)
}
