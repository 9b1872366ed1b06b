package lake

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"spendsync/schema"
)

// The field ids of a table's partition. Iceberg counts them from 1000.
const (
	accountPartition = 1000
	monthPartition   = 1001
)

// versionProperty names the table property that records the version ([schema.Version]) of its
// columns.
const versionProperty = "spendsync.schema_version"

// tableSpec is what one table is in Iceberg.
type tableSpec struct {
	name   string
	table  *schema.Table // nil: lake_generation
	schema *iceberg.Schema
	parts  iceberg.PartitionSpec
	order  table.SortOrder
	props  iceberg.Properties
	months bool // partitioned by month as well as by account
}

// specs are all tables of the lake, the marker last.
func specs() []*tableSpec {
	var all []*tableSpec
	for _, t := range schema.Documented() {
		if t.HasFiles() {
			all = append(all, specOf(t))
		}
	}
	return append(all, markerSpec())
}

// specOf is what a table of the store is in Iceberg: the same columns with the same ids. The
// files of a view's answer come from DuckDB, which marks every column as one that may be NULL and
// promises no order: such a table has neither identifier fields nor a sort order.
func specOf(t *schema.Table) *tableSpec {
	s := &tableSpec{name: t.Name, table: t, props: properties(t.Doc)}
	var fields []iceberg.NestedField
	var keys []int
	ids := map[string]int{}
	for _, c := range t.Columns {
		fields = append(fields, iceberg.NestedField{ID: c.FieldID, Name: c.Name, Type: icebergType(c),
			Required: !c.Nullable && t.View == "", Doc: c.Doc})
		ids[c.Name] = c.FieldID
		if c.Key && t.View == "" {
			keys = append(keys, c.FieldID)
		}
	}
	s.schema = iceberg.NewSchemaWithIdentifiers(0, keys, fields...)
	parts := []iceberg.PartitionField{{SourceIDs: []int{ids["account_id"]}, FieldID: accountPartition,
		Name: "account_id", Transform: iceberg.IdentityTransform{}}}
	if day, ok := ids["report_date"]; ok && (t.Partition == schema.ByDay || t.Partition == schema.ByMonth) {
		s.months = true
		parts = append(parts, iceberg.PartitionField{SourceIDs: []int{day}, FieldID: monthPartition,
			Name: "report_month", Transform: iceberg.MonthTransform{}})
	}
	s.parts = iceberg.NewPartitionSpec(parts...)
	s.order = sortOrder(keys)
	return s
}

// sortOrder is ascending by columns that are never NULL.
func sortOrder(ids []int) table.SortOrder {
	if len(ids) == 0 {
		return table.UnsortedSortOrder
	}
	var fields []table.SortField
	for _, id := range ids {
		fields = append(fields, table.SortField{SourceIDs: []int{id}, Transform: iceberg.IdentityTransform{},
			Direction: table.SortASC, NullOrder: table.NullsFirst})
	}
	order, err := table.NewSortOrder(table.InitialSortOrderID, fields)
	if err != nil {
		panic(fmt.Sprintf("lake: sort order: %v", err)) // our own constants: the first test shows it
	}
	return order
}

func properties(doc string) iceberg.Properties {
	return iceberg.Properties{
		"comment":                                    doc,
		versionProperty:                              strconv.Itoa(schema.Version),
		table.PropertyFormatVersion:                  "2",
		"write.format.default":                       "parquet",
		"history.expire.max-snapshot-age-ms":         strconv.FormatInt(SnapshotAge.Milliseconds(), 10),
		"write.metadata.previous-versions-max":       "20",
		"write.metadata.delete-after-commit.enabled": "true",
	}
}

func icebergType(c schema.Column) iceberg.Type {
	switch c.Kind {
	case schema.Text:
		return iceberg.PrimitiveTypes.String
	case schema.Count:
		return iceberg.PrimitiveTypes.Int64
	case schema.Amount:
		return iceberg.DecimalTypeOf(int(c.Precision), 6)
	case schema.Day:
		return iceberg.PrimitiveTypes.Date
	case schema.Moment:
		return iceberg.PrimitiveTypes.TimestampTz
	case schema.Flag:
		return iceberg.PrimitiveTypes.Bool
	}
	panic(fmt.Sprintf("lake: no Iceberg type for column %s", c.Name))
}

// compare returns our columns that a table in the lake lacks, and the names of those that it has beside ours.
// Readers map the columns of our files by id, so a table with different ids would be misread without an error.
// missing are columns of ours that may be added: NULL in older files. A foreign column is NULL in all our files.
func (s *tableSpec) compare(have *iceberg.Schema) (missing []iceberg.NestedField, foreign []string, err error) {
	for _, f := range have.Fields() {
		ours, ok := s.schema.FindFieldByID(f.ID)
		_, named := s.schema.FindFieldByName(f.Name)
		switch {
		case !ok && !named && !f.Required:
			foreign = append(foreign, f.Name)
		case !ok:
			return nil, nil, fmt.Errorf("%w: table %s has a column %s with the id %d, which spendsync does not have",
				ErrForeign, s.name, f.Name, f.ID)
		case ours.Name != f.Name:
			return nil, nil, fmt.Errorf("%w: table %s: id %d is column %s there and %s in our files", ErrForeign,
				s.name, f.ID, f.Name, ours.Name)
		case !ours.Type.Equals(f.Type):
			return nil, nil, fmt.Errorf("%w: table %s column %s is %s there and %s in our files", ErrForeign, s.name,
				f.Name, f.Type, ours.Type)
		case f.Required && !ours.Required:
			return nil, nil, fmt.Errorf("%w: table %s column %s is required there, and NULL is possible in our files",
				ErrForeign, s.name, f.Name)
		}
	}
	for _, f := range s.schema.Fields() {
		if _, ok := have.FindFieldByID(f.ID); ok {
			continue
		}
		if f.Required {
			return nil, nil, fmt.Errorf("%w: table %s lacks column %s, which is never NULL", ErrForeign, s.name, f.Name)
		}
		missing = append(missing, f)
	}
	return missing, foreign, nil
}

// extended returns the schema of a table in the lake with the missing columns appended.
func (s *tableSpec) extended(have *iceberg.Schema, missing []iceberg.NestedField) *iceberg.Schema {
	return iceberg.NewSchemaWithIdentifiers(0, have.IdentifierFieldIDs, append(slices.Clone(have.Fields()),
		missing...)...)
}

// checkVersion refuses a table that a newer spendsync has written.
func (s *tableSpec) checkVersion(props iceberg.Properties) error {
	v, err := strconv.Atoi(props[versionProperty])
	if err != nil {
		return fmt.Errorf("%w: table %s has no %s: spendsync did not make it", ErrForeign, s.name, versionProperty)
	}
	if v > schema.Version {
		return fmt.Errorf("table %s is of version %d, this binary knows %d: %w", s.name, v, schema.Version, ErrNewer)
	}
	return nil
}

// checkParts refuses a table that is cut otherwise than ours.
func (s *tableSpec) checkParts(have iceberg.PartitionSpec) error {
	if !have.CompatibleWith(&s.parts) {
		return fmt.Errorf("%w: table %s is partitioned by %s, ours by %s", ErrForeign, s.name, &have, &s.parts)
	}
	return nil
}
