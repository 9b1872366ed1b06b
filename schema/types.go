package schema

import (
	"fmt"
	"reflect"

	"github.com/apache/arrow/go/v17/arrow"
)

// Kind is the type of a column. There are only six kinds, none of them for floats or nested values, because every
// engine that reads the store must support all kinds.
type Kind int

// The kinds of column.
const (
	Text   Kind = iota // UTF-8 text
	Count              // integer
	Amount             // money, exact
	Day                // Chicago day
	Moment             // instant in UTC, microseconds
	Flag               // true or false
)

// kindType holds the types of one kind in Go, Parquet, Arrow and DuckDB. To add a kind, add a line here and a case
// wherever the compiler and the round-trip test then complain.
type kindType struct {
	goType  reflect.Type // type in a row struct
	parquet string       // parquet-go's tag; %d is the precision
	storage reflect.Type // what parquet-go sees
	arrow   func(precision int32) arrow.DataType
	duckdb  string
}

var kinds = map[Kind]kindType{
	Text: {reflect.TypeFor[string](), ",string,dict", reflect.TypeFor[string](), fixed(arrow.BinaryTypes.String),
		"VARCHAR"},
	Count:  {reflect.TypeFor[int64](), ",dict", reflect.TypeFor[int64](), fixed(arrow.PrimitiveTypes.Int64), "BIGINT"},
	Amount: {reflect.TypeFor[Money](), ",decimal(6:%d),dict", reflect.TypeFor[int64](), decimal, "DECIMAL(%d,6)"},
	Day: {reflect.TypeFor[Date](), ",date,dict", reflect.TypeFor[int32](), fixed(arrow.FixedWidthTypes.Date32),
		"DATE"},
	Moment: {reflect.TypeFor[Instant](), ",timestamp(microsecond:utc),dict", reflect.TypeFor[int64](),
		fixed(arrow.FixedWidthTypes.Timestamp_us), "TIMESTAMP WITH TIME ZONE"},
	Flag: {reflect.TypeFor[bool](), "", reflect.TypeFor[bool](), fixed(arrow.FixedWidthTypes.Boolean), "BOOLEAN"},
}

func fixed(t arrow.DataType) func(int32) arrow.DataType {
	return func(int32) arrow.DataType { return t }
}

func decimal(precision int32) arrow.DataType {
	return &arrow.Decimal128Type{Precision: precision, Scale: MoneyDecimals}
}

// kindOf returns the kind of a field's type, and whether the field is nullable.
func kindOf(t reflect.Type) (k Kind, nullable bool, err error) {
	for k, kt := range kinds {
		switch t {
		case kt.goType:
			return k, false, nil
		case nullTypes[k]:
			return k, true, nil
		}
	}
	return 0, false, fmt.Errorf("type %s is not a kind of column", t)
}

var nullTypes = map[Kind]reflect.Type{
	Text:   reflect.TypeFor[Null[string]](),
	Count:  reflect.TypeFor[Null[int64]](),
	Amount: reflect.TypeFor[Null[Money]](),
	Day:    reflect.TypeFor[Null[Date]](),
	Moment: reflect.TypeFor[Null[Instant]](),
	Flag:   reflect.TypeFor[Null[bool]](),
}
