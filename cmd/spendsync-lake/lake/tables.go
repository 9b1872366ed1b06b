package lake

import (
	"fmt"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"spendsync/schema"
)

// accountPartition is the id of account_id, the first partition field. Iceberg numbers partition fields from 1000.
const accountPartition = 1000

// versionProperty names the table property that records the version of the table's columns, see [schema.Version].
const versionProperty = "spendsync.schema_version"

// tableSpec describes one Iceberg table as spendsync makes it.
type tableSpec struct {
	name   string
	table  *schema.Table // nil for lake_generation
	schema *iceberg.Schema
	parts  iceberg.PartitionSpec
	order  table.SortOrder
	props  iceberg.Properties
}

// specs returns the specs of all tables of the lake, lake_generation last.
func specs() []*tableSpec {
	var all []*tableSpec
	for _, t := range schema.Documented() {
		if t.HasFiles() {
			all = append(all, specOf(t))
		}
	}
	return append(all, markerSpec())
}

// specOf returns the spec of a table of the store: the same columns with the same ids. A table with the rows of a view
// has no identifier fields and no sort order, because DuckDB writes its files, declares every column nullable, and
// sorts nothing.
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
		parts = append(parts, iceberg.PartitionField{SourceIDs: []int{day}, FieldID: accountPartition + 1,
			Name: "report_month", Transform: iceberg.MonthTransform{}})
	}
	s.parts = iceberg.NewPartitionSpec(parts...)
	s.order = sortOrder(keys)
	return s
}

// sortOrder returns the ascending order of the columns with the given ids. These columns are never NULL.
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
		panic(fmt.Sprintf("lake: sort order: %v", err)) // impossible: the ids are constants of package schema
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

// check returns [ErrForeign] if a table of the lake differs from its spec. Readers find the columns in our files by id,
// so a table with other ids would be misread without an error. Two differences are allowed. The table may lack columns:
// check returns these columns, which can be added and are NULL in older files. Another program may have added nullable
// columns, which are NULL in our files.
func (s *tableSpec) check(tbl *table.Table) (missing []iceberg.NestedField, err error) {
	foreign := func(format string, args ...any) error {
		return fmt.Errorf("%w: table %s %s", ErrForeign, s.name, fmt.Sprintf(format, args...))
	}
	made := tbl.Properties()[versionProperty]
	version, err := strconv.Atoi(made)
	parts := tbl.Spec()
	switch {
	case tbl.Metadata().Version() != 2:
		return nil, foreign("is of format %d, not 2", tbl.Metadata().Version())
	case err != nil:
		return nil, foreign("has no %s: spendsync did not make it", versionProperty)
	case version > schema.Version:
		return nil, fmt.Errorf("table %s is of version %d, this binary knows %d: %w", s.name, version, schema.Version,
			ErrNewer)
	case !parts.CompatibleWith(&s.parts):
		return nil, foreign("is partitioned by %s, ours by %s", &parts, &s.parts)
	}
	actual := tbl.Schema()
	for _, f := range actual.Fields() {
		if differs := s.differs(f); differs != "" {
			return nil, foreign("%s", differs)
		}
	}
	for _, f := range s.schema.Fields() {
		if _, ok := actual.FindFieldByID(f.ID); ok {
			continue
		}
		if f.Required {
			return nil, foreign("lacks column %s, which is never NULL", f.Name)
		}
		if made == s.props[versionProperty] {
			return nil, foreign("had the column %s, and somebody has dropped it", f.Name)
		}
		missing = append(missing, f)
	}
	return missing, nil
}

// differs returns why our files can't be read through the column f of the lake's table. It returns an empty text if
// they can be read.
func (s *tableSpec) differs(f iceberg.NestedField) string {
	ours, ok := s.schema.FindFieldByID(f.ID)
	_, named := s.schema.FindFieldByName(f.Name)
	switch {
	case !ok && !named && !f.Required:
	case !ok:
		return fmt.Sprintf("has a column %s with the id %d, which spendsync does not have", f.Name, f.ID)
	case ours.Name != f.Name:
		return fmt.Sprintf("has column %s with the id %d, which is %s in our files", f.Name, f.ID, ours.Name)
	case !ours.Type.Equals(f.Type):
		return fmt.Sprintf("column %s is %s there and %s in our files", f.Name, f.Type, ours.Type)
	case f.Required && !ours.Required:
		return fmt.Sprintf("column %s is required there, and NULL is possible in our files", f.Name)
	}
	return ""
}
