package duck

import (
	"bytes"
	"context"
	"database/sql"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/duckdb/duckdb-go/v2"
	"github.com/google/go-cmp/cmp"

	"spendsync/load/parquet"
	"spendsync/schema"
)

// everyKind is a row with a column of every kind, both required and nullable.
type everyKind struct {
	Text      string                      `col:"text" id:"1" key:"true" doc:"x"`
	Count     int64                       `col:"count" id:"2" doc:"x"`
	Amount    schema.Money                `col:"amount" id:"3" doc:"x"`
	Bid       schema.Money                `col:"bid" id:"4" precision:"12" doc:"x"`
	Day       schema.Date                 `col:"day" id:"5" doc:"x"`
	Moment    schema.Instant              `col:"moment" id:"6" doc:"x"`
	Flag      bool                        `col:"flag" id:"7" doc:"x"`
	NText     schema.Null[string]         `col:"n_text" id:"8" doc:"x"`
	NCount    schema.Null[int64]          `col:"n_count" id:"9" doc:"x"`
	NAmount   schema.Null[schema.Money]   `col:"n_amount" id:"10" doc:"x"`
	NDay      schema.Null[schema.Date]    `col:"n_day" id:"11" doc:"x"`
	NMoment   schema.Null[schema.Instant] `col:"n_moment" id:"12" doc:"x"`
	NFlag     schema.Null[bool]           `col:"n_flag" id:"13" doc:"x"`
	Leftovers string                      `col:"_run_id" id:"14" doc:"x"`
}

var everyTable = schema.Define[everyKind]("every_kind", schema.ByAccount, "one of each")

func everyRow() []everyKind {
	const (
		firstDay, lastDay       = -719162, 2932896                         // 0001-01-01, 9999-12-31
		firstMoment, lastMoment = -62135596800_000000, 253402300799_999999 // the same as instants, in microseconds
	)
	return []everyKind{
		{}, // zeros and nulls
		{
			Text: "zero", NText: schema.Some(""), NCount: schema.Some[int64](0), NAmount: schema.Some[schema.Money](0),
			NDay: schema.Some[schema.Date](0), NMoment: schema.Some[schema.Instant](0), NFlag: schema.Some(false),
		},
		{
			Text: "min", Count: math.MinInt64, Amount: -schema.MaxMoney, Bid: -999_999_999_999, Day: firstDay,
			Moment: firstMoment, Flag: true,
			NCount: schema.Some[int64](math.MinInt64), NAmount: schema.Some(-schema.MaxMoney),
			NDay: schema.Some[schema.Date](firstDay), NMoment: schema.Some[schema.Instant](firstMoment),
			NFlag: schema.Some(true),
		},
		{
			Text: "max", Count: math.MaxInt64, Amount: schema.MaxMoney, Bid: 999_999_999_999, Day: lastDay,
			Moment: lastMoment, Flag: true,
			NText: schema.Some("x"), NCount: schema.Some[int64](math.MaxInt64), NAmount: schema.Some(schema.MaxMoney),
			NDay: schema.Some[schema.Date](lastDay), NMoment: schema.Some[schema.Instant](lastMoment),
		},
		{Text: "unicode: 日本語 🎿 \u202eRTL\u202c e\u0301 \x00 tab\t \"quotes\" 'single' =SUM(A1) <b>",
			NText: schema.Some("\u0000\U0010ffff"), Amount: -1, Bid: 1, Moment: -1, Day: -1},
		{Text: strings.Repeat("long ", 5000), Leftovers: "end"},
	}
}

// TestEveryKind_SurvivesTheWholeWay converts extreme values of every kind from structs through Arrow and Parquet into
// DuckDB, and compares them after each step.
func TestEveryKind_SurvivesTheWholeWay(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	want := everyRow()
	rec := everyTable.Record(mem, want)
	rec.Release()

	path := filepath.Join(t.TempDir(), "data.parquet")
	var b bytes.Buffer
	if n, err := parquet.Write(&b, everyTable.Table, parquet.Record(everyTable, want)); err != nil ||
		n != int64(len(want)) {
		t.Fatalf("writeParquet = %d, %v", n, err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	fromParquet, err := parquet.ReadRows(path, everyTable)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, fromParquet); d != "" {
		t.Errorf("row -> Arrow -> Parquet -> row (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, duckRows(t, path)); d != "" {
		t.Errorf("row -> Arrow -> Parquet -> DuckDB -> row (-want +got):\n%s", d)
	}
	var again bytes.Buffer
	if _, err := parquet.Write(&again, everyTable.Table, parquet.Record(everyTable, want)); err != nil ||
		!bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("the same rows gave another file (%v)", err)
	}
}

// duckRows loads the file into a DuckDB table with our DDL, and reads exact values back: microseconds and millionths,
// not floats.
func duckRows(t *testing.T, path string) []everyKind {
	t.Helper()
	ctx := context.Background()
	conn, stop, err := openEngine(ctx, Options{}, filepath.Dir(path), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	load := append(everyTable.CreateSQL(),
		"INSERT INTO "+everyTable.SQLName()+" SELECT "+everyTable.SQLColumns()+" FROM "+FilesSQL([]string{path}))
	if err := execAll(ctx, conn, load); err != nil {
		t.Fatal(err)
	}
	for _, c := range everyTable.Columns {
		var got string
		q := "SELECT data_type FROM duckdb_columns() WHERE table_name = 'every_kind' AND column_name = " +
			schema.QuoteText(c.Name)
		if err := conn.QueryRowContext(ctx, q).Scan(&got); err != nil || got != c.DuckDB() {
			t.Errorf("column %s is %s in DuckDB, want %s (%v)", c.Name, got, c.DuckDB(), err)
		}
	}
	rows, err := conn.QueryContext(ctx, `SELECT text, count, amount, bid, (day - DATE '1970-01-01')::INTEGER,
		epoch_us(moment), flag,
		n_text, n_count, n_amount, (n_day - DATE '1970-01-01')::INTEGER, epoch_us(n_moment), n_flag, _run_id FROM
		every_kind`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []everyKind
	for rows.Next() {
		var r everyKind
		var amount, bid duckdb.Decimal
		var nAmount any
		var nText sql.Null[string]
		var nCount, nMoment sql.Null[int64]
		var nDay sql.Null[int32]
		var nFlag sql.Null[bool]
		if err := rows.Scan(&r.Text, &r.Count, &amount, &bid, &r.Day, &r.Moment, &r.Flag, &nText, &nCount, &nAmount,
			&nDay, &nMoment, &nFlag, &r.Leftovers); err != nil {
			t.Fatal(err)
		}
		r.Amount, r.Bid = schema.Money(amount.Value.Int64()), schema.Money(bid.Value.Int64())
		r.NText, r.NCount, r.NFlag = schema.Null[string](nText), schema.Null[int64](nCount), schema.Null[bool](nFlag)
		if d, ok := nAmount.(duckdb.Decimal); ok {
			r.NAmount = schema.Some(schema.Money(d.Value.Int64()))
		}
		r.NDay = schema.Null[schema.Date]{V: schema.Date(nDay.V), Valid: nDay.Valid}
		r.NMoment = schema.Null[schema.Instant]{V: schema.Instant(nMoment.V), Valid: nMoment.Valid}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
