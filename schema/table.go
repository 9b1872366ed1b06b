package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/parquet-go/parquet-go"
)

// AccountName matches a valid name of an account, which becomes part of paths and SQL.
var AccountName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// Version is the number of the current definitions of all tables. A store with a higher number is refused.
const Version = 12

// Oldest is the oldest version of the tables that this release can upgrade. Stores of still older versions must first
// be upgraded by [OldestCommit].
const Oldest = 10

// OldestCommit is the commit whose sync upgrades stores of the versions before [Oldest].
const OldestCommit = "f06d8c3"

// Column is one column of a table.
type Column struct {
	Name      string
	Doc       string // one line: unit, meaning, what NULL means
	Kind      Kind
	Precision int32 // number of digits of an Amount, six of them decimals
	Nullable  bool
	Key       bool
	FieldID   int // field ID in Parquet and Arrow; never reused, never changed
	Since     int // the column exists since this version of the tables
	History   InHistory

	encoding string  // Parquet encoding of the values; empty: a dictionary, if the kind has one
	compress string  // DuckDB's compression; empty: DuckDB chooses each time
	offset   uintptr // offset of the field in the row struct, in bytes
	index    []int   // index of the field in the row struct, as reflect's FieldByIndex takes it
}

// DuckDB returns the name of the column's type in DuckDB, for example DECIMAL(18,6).
func (c Column) DuckDB() string {
	if t := kinds[c.Kind].duckdb; c.Kind == Amount {
		return fmt.Sprintf(t, c.Precision)
	} else {
		return t
	}
}

// Partition is how the rows of a table are split into Parquet files. It is also a key in the path of a file, for
// example day=2026-11-02. No column may have the same name as this key: BigQuery refuses such files, and in DuckDB the
// value in the path would override the column.
type Partition string

// The partitions.
const (
	ByDay     Partition = "day"   // one file per account and report day
	BySeen    Partition = "seen"  // one file per account and Chicago day on which the rows were seen
	ByMonth   Partition = "month" // one file per account and Chicago month, of the report day or of a run's start
	ByAccount Partition = ""      // one file per account
	InMemory  Partition = "-"     // a table of schema ops, made from manifest and ledger; it has no Parquet files
	Summed    Partition = "+"     // a table of sums that DuckDB computes from another table; without Parquet files
)

// HasFiles reports whether the table has Parquet files of its own.
func (t *Table) HasFiles() bool { return t.Partition != InMemory && t.Partition != Summed }

// Table is the definition of a table. [Define] derives it from a row struct. A Table is never changed.
type Table struct {
	Schema    string // "main", "ops" or "int"
	Name      string // without the schema
	Doc       string // the meaning of one row, for comments and dictionary
	Partition Partition
	Columns   []Column
	Arrow     *arrow.Schema
	Parquet   *parquet.Schema

	Since     int // the table exists since this version of the tables
	Dropped   []DroppedColumn
	Versioned bool     // whether its rows are versions: they embed a [Frame]
	MadeFrom  MadeFrom // the source from which its rows can be rebuilt
	Large     bool     // whether this table has by far the most rows
	Stubbed   bool     // whether entities known only from the report have versions, too: see [Stubbed]
	// number of consecutive complete listings that must lack an entity before it counts as deleted
	Patience int
	View     string                    // the view whose rows the table's files hold, see [AnswerOf]; empty: none
	SumsSQL  func(where string) string // returns the query for the rows of a [Summed] table that meet a condition

	Row reflect.Type // the struct of a row
}

// TableOf binds a table to its row struct, so that the compiler refuses rows of other tables.
type TableOf[R any] struct{ *Table }

// FullName returns the table's name, prefixed by its schema unless the schema is main.
func (t *Table) FullName() string {
	if t.Schema == "main" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// KeyNames returns the names of the key columns, in the table's order.
func (t *Table) KeyNames() []string {
	var names []string
	for _, c := range t.Columns {
		if c.Key {
			names = append(names, c.Name)
		}
	}
	return names
}

// ColumnNames returns the names of all columns, in the table's order.
func (t *Table) ColumnNames() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

var columnName = regexp.MustCompile(`^_?[a-z][a-z0-9_]{0,62}$`)

// Define derives a table from its row struct R. Each field is a column, in order, and the comment above it is the
// column's description:
//
//	// US dollars, exact.
//	Spend Money `col:"spend" id:"7"`
//
// The tags:
//
//   - id is the Parquet field ID. It is required.
//   - key:"true" makes the column part of the key.
//   - precision:"12" makes an amount a DECIMAL(12,6).
//   - encoding:"delta" makes Parquet store a text as its difference from the text before. This takes half the space of
//     a dictionary if neighboring values hardly ever repeat.
//   - encoding:"plain" makes Parquet store numbers without a dictionary. zstd compresses many different numbers better
//     than dictionary indexes, which are not aligned to bytes.
//   - compress names DuckDB's compression, so that DuckDB does not try all of them on new rows: fsst or dictionary for
//     a text, bitpacking or rle for any other column.
//   - history:"no" and history:"refreshed" set the role of the column in a table of versions, see [InHistory].
//   - since:"3" is the version of the tables that added the column, if not the table's own.
//
// The fields of an embedded struct become columns in the place of the struct. Define panics on a struct that is not a
// table, as [regexp.MustCompile] does, so that the first test shows it.
func Define[R any](name string, partition Partition, doc string, traits ...Trait) TableOf[R] {
	row := reflect.TypeFor[R]()
	t := &Table{Schema: "main", Name: name, Doc: doc, Partition: partition, Since: Oldest, Row: row}
	if partition == InMemory || partition == Summed {
		t.MadeFrom = OtherTables
	}
	for _, trait := range traits {
		trait(t)
	}
	if s, rest, ok := strings.Cut(name, "."); ok {
		t.Schema, t.Name = s, rest
	}
	ids := map[int]bool{}
	for _, c := range t.Dropped {
		ids[c.FieldID] = true
	}
	for _, f := range reflect.VisibleFields(row) {
		if f.Anonymous {
			t.Versioned = t.Versioned || f.Type == reflect.TypeFor[Frame]()
			continue // its fields follow
		}
		c, err := columnOf(row, f)
		if err == nil && ids[c.FieldID] {
			err = fmt.Errorf("field id %d is taken", c.FieldID)
		}
		if err != nil {
			panic(fmt.Sprintf("schema: table %s, field %s: %v", name, f.Name, err))
		}
		ids[c.FieldID] = true
		c.Since = max(c.Since, t.Since)
		t.Columns = append(t.Columns, c)
	}
	t.deriveSchemas()
	return TableOf[R]{t}
}

// deriveSchemas makes the schemas of Arrow and Parquet from the columns.
func (t *Table) deriveSchemas() {
	var arrowFields []arrow.Field
	var parquetFields []reflect.StructField
	for i, c := range t.Columns {
		arrowFields = append(arrowFields, c.arrowField())
		parquetFields = append(parquetFields, c.parquetField(fmt.Sprintf("F%d", i)))
	}
	t.Arrow = arrow.NewSchema(arrowFields, nil)
	t.Parquet = parquet.NewSchema(t.Name, parquet.SchemaOf(reflect.New(reflect.StructOf(parquetFields)).Interface()))
}

// offsetOf returns the field's offset in the row, including fields of an embedded struct.
func offsetOf(row reflect.Type, f reflect.StructField) (offset uintptr) {
	for _, i := range f.Index {
		step := row.Field(i)
		offset, row = offset+step.Offset, step.Type
	}
	return offset
}

// numberIn parses the number in a tag of the field into *to. The last two parameters are the bounds of the number.
// Without the tag, *to is unchanged.
func numberIn(f reflect.StructField, tag string, to *int, least, most int) error {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return fmt.Errorf("%s %q", tag, text)
	}
	*to = n
	return nil
}

// columnOf makes the column that a field of a row struct defines.
func columnOf(row reflect.Type, f reflect.StructField) (Column, error) {
	c := Column{
		Name: f.Tag.Get("col"), Doc: describe(row, f), Key: f.Tag.Get("key") == "true",
		offset: offsetOf(row, f), index: f.Index,
	}
	if !columnName.MatchString(c.Name) {
		return c, fmt.Errorf("col %q is not a column name", c.Name)
	}
	if c.Doc == "" {
		return c, fmt.Errorf("column %s has no comment above it in a file that describe.go lists", c.Name)
	}
	var err error
	if c.FieldID, err = strconv.Atoi(f.Tag.Get("id")); err != nil || c.FieldID < 1 {
		return c, fmt.Errorf("column %s has no field id", c.Name)
	}
	precision := 18
	c.Since = Oldest
	if err := cmp.Or(numberIn(f, "precision", &precision, 7, 18),
		numberIn(f, "since", &c.Since, Oldest+1, Version)); err != nil {
		return c, fmt.Errorf("column %s: %w", c.Name, err)
	}
	c.Precision = int32(precision)
	if c.History, err = inHistory(f.Tag.Get("history"), c); err != nil {
		return c, err
	}
	c.Kind, c.Nullable, err = kindOf(f.Type)
	if err == nil && c.Since > Oldest && !c.Nullable {
		return c, fmt.Errorf("column %s came later, so it may be NULL in rows from before", c.Name)
	}
	c.encoding, c.compress = f.Tag.Get("encoding"), f.Tag.Get("compress")
	if err == nil {
		err = c.checkStorage()
	}
	return c, err
}

// checkStorage refuses a Parquet encoding or a DuckDB compression that does not suit the kind of the column.
func (c *Column) checkStorage() error {
	switch {
	case c.encoding == "", c.encoding == "delta" && c.Kind == Text, c.encoding == "plain" && c.Kind == Count:
	default:
		return fmt.Errorf("column %s: encoding %q", c.Name, c.encoding)
	}
	switch {
	case c.compress == "":
	case c.Kind == Text && (c.compress == "dictionary" || c.compress == "fsst"):
	case c.Kind != Text && (c.compress == "bitpacking" || c.compress == "rle"):
	default:
		return fmt.Errorf("column %s: compress %q", c.Name, c.compress)
	}
	return nil
}

func (c Column) arrowField() arrow.Field {
	return arrow.Field{
		Name: c.Name, Type: kinds[c.Kind].arrow(c.Precision), Nullable: c.Nullable,
		Metadata: arrow.NewMetadata([]string{"PARQUET:field_id", "doc"}, []string{strconv.Itoa(c.FieldID), c.Doc}),
	}
}

// parquetField returns the struct field from which parquet-go derives the column. A nullable column is a pointer,
// because parquet-go's tag "optional" on a plain integer would turn 0 into NULL.
func (c Column) parquetField(goName string) reflect.StructField {
	k := kinds[c.Kind]
	tag, storage := k.parquet, k.storage
	if c.Kind == Amount {
		tag = fmt.Sprintf(tag, c.Precision)
	}
	if c.encoding != "" {
		tag = strings.Replace(tag, ",dict", ","+c.encoding, 1)
	}
	if c.Nullable {
		// parquet-go's tag "string" does not take pointers; a *string is text anyway.
		tag, storage = strings.Replace(tag, ",string", "", 1), reflect.PointerTo(storage)
	}
	return reflect.StructField{
		Name: goName, Type: storage,
		Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s%s,id(%d)"`, c.Name, tag, c.FieldID)),
	}
}
