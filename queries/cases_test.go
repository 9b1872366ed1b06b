package queries_test

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"spendsync/queries"
	"spendsync/schema"
)

// A case is a folder testdata/queries/NAME/CASE, of a view, a macro, a ready question or a part of them, with
//
//	case.txt      what the case shows, and how the answer was worked out by hand. Lines that set something:
//	              "now: 2026-11-20T18:00:00Z" is the result of now() (default: that instant, noon in Chicago),
//	              "param: NAME=VALUE" a parameter of a ready question, "arguments: ..." the arguments of a macro,
//	              "threshold: NAME=VALUE" a threshold or a constant.
//	TABLE.csv     rows of a table. If its schema is not main, the name begins with the schema. Columns that are left
//	              out have the value in the map usual. An empty cell is NULL, "" in quotes is an empty text.
//	expected.csv  the answer: the columns to compare, with the rows sorted.
//
// Without calendar.csv the calendar has the days of 2025 to 2027 for the account acme.

// usual contains values for columns that can't be NULL. They are used if a case leaves such a column out.
var usual = map[string]string{
	"account_id": "acme", "_run_id": "r1", "version_no": "1", "valid_from": "2026-10-01 00:00:00+00",
	"valid_to":   "9999-12-31 00:00:00+00",
	"is_current": "true", "is_deleted": "false", "last_confirmed_at": "2026-11-20 17:00:00+00",
	"change_type": schema.FirstSeen,
	"read_state":  schema.ReadOK, "creative_id": "", "source_id": "", "state": schema.StateComplete,
	"control_total_state": schema.ControlMatched,
	"finished_at":         "2026-11-20 17:00:00+00", "started_at": "2026-11-20 16:59:00+00",
	"_first_seen_at": "2026-11-20 17:00:00+00", "_changed_at": "2026-11-20 17:00:00+00",
	"seen_at": "2026-11-20 17:00:00+00", "first_seen_at": "2026-11-20 17:00:00+00",
	"last_seen_at": "2026-11-20 17:00:00+00",
}

const noon = "2026-11-20T18:00:00Z"

func TestViews_AnswerTheirCases(t *testing.T) {
	root := filepath.Join("..", "testdata", "queries")
	cases, err := filepath.Glob(filepath.Join(root, "*", "*", "case.txt"))
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	w := newWarehouse(t)
	compared := map[string]map[string]bool{} // view -> columns that some case expects
	for _, file := range cases {
		dir := filepath.Dir(file)
		name := filepath.Base(filepath.Dir(dir))
		if compared[name] == nil {
			compared[name] = map[string]bool{}
		}
		t.Run(name+"/"+filepath.Base(dir), func(t *testing.T) { w.runCase(t, dir, name, compared[name]) })
	}
	t.Run("every view and column is in a case", func(t *testing.T) { w.everyColumnIsCompared(t, compared) })
}

// runCase answers one case in a session whose time zone is not Chicago's. An answer that depends on the time zone of
// the session then fails.
func (w *warehouse) runCase(t *testing.T, dir, name string, compared map[string]bool) {
	c := readCase(t, dir)
	expected := readTable(t, filepath.Join(dir, "expected.csv"))
	for _, column := range expected[0] {
		compared[column.text] = true
	}
	want := texts(expected[1:])
	slices.Sort(want)
	defer w.exec(t, "ROLLBACK")
	w.fill(t, c, c.question(t, name))
	w.exec(t, "SET TimeZone = 'Pacific/Auckland'")
	got := w.ask(t, c.question(t, name), c.arguments(name), expected[0])
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// testCase is a parsed case.
type testCase struct {
	now        string
	params     map[string]string
	macro      string // arguments of a macro
	thresholds map[string]string
	tables     []*fixture
	calendar   bool // the case has its own calendar
}

// caseLine is a line of case.txt that sets something.
var caseLine = regexp.MustCompile(`(?m)^(now|param|arguments|threshold): (.*)$`)

func readCase(t *testing.T, dir string) *testCase {
	b, err := os.ReadFile(filepath.Join(dir, "case.txt"))
	if err != nil {
		t.Fatal(err)
	}
	c := &testCase{now: noon, params: map[string]string{}, thresholds: map[string]string{}}
	for _, m := range caseLine.FindAllStringSubmatch(string(b), -1) {
		name, value, _ := strings.Cut(m[2], "=")
		switch m[1] {
		case "now":
			c.now = m[2]
		case "param":
			c.params[name] = value
		case "threshold":
			c.thresholds[name] = value
		case "arguments":
			c.macro = m[2]
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".csv")
		if name == "expected" {
			continue
		}
		c.calendar = c.calendar || name == "calendar"
		c.tables = append(c.tables, &fixture{name: name, rows: readTable(t, f)})
	}
	return c
}

// constant matches a named constant in SQL that is not a published threshold.
var constant = regexp.MustCompile(`[0-9.]+::DOUBLE /\* ([a-z_]+) \*/`)

// at returns the SQL with now() replaced by the time of the case, and constants replaced by the values that the case
// sets.
func (c *testCase) at(sql string) string {
	now, err := time.Parse(time.RFC3339, c.now)
	if err != nil {
		panic(err)
	}
	sql = constant.ReplaceAllStringFunc(sql, func(text string) string {
		if value, ok := c.thresholds[constant.FindStringSubmatch(text)[1]]; ok {
			return value + "::DOUBLE"
		}
		return text
	})
	// The replacement is also valid inside a string.
	return strings.ReplaceAll(sql, "now()", fmt.Sprintf("to_timestamp(%d)", now.Unix()))
}

// question returns the SQL of the case's view, macro or ready question.
func (c *testCase) question(t *testing.T, name string) string {
	if a, err := queries.Find(name); err == nil {
		return c.at(a.WithConditions(c.params))
	}
	views := queries.Views(nil)
	for _, v := range views {
		if v.Name != name {
			continue
		}
		if (v.Parameters != "") == (c.macro != "") {
			return "SELECT * FROM " + v.Schema + "." + name + parenthesize(c.macro)
		}
	}
	// The name is that of a dbt model for use with packages of other platforms. The references in such a model are
	// replaced by names of tables.
	b, err := os.ReadFile(filepath.Join("dbt", "models", "spendsync__"+name+".sql"))
	if err != nil {
		t.Fatalf("there is no question, model or macro %s", name)
	}
	return c.at(dbtName.ReplaceAllStringFunc(string(b), func(text string) string {
		of := dbtName.FindStringSubmatch(text)
		switch of[2] {
		case "spendsync__revenue":
			return "mart.revenue"
		case "spendsync__campaign_spend", "spendsync__campaign_profit":
			return "int." + strings.TrimPrefix(of[2], "spendsync__")
		}
		return "main." + strings.TrimPrefix(of[2], "spendsync__")
	}))
}

// dbtName matches a reference to another model or a source in a dbt model.
var dbtName = regexp.MustCompile(`\{\{ (ref|source)\((?:'spendsync', )?'([a-z_]+)'\) \}\}`)

func parenthesize(arguments string) string {
	if arguments == "" {
		return ""
	}
	return "(" + arguments + ")"
}

// arguments returns the values of a ready question's parameters.
func (c *testCase) arguments(name string) []any {
	a, err := queries.Find(name)
	if err != nil {
		return nil
	}
	var args []any
	for _, p := range a.Params {
		if p.Over {
			continue
		}
		v := p.Default
		if set, ok := c.params[p.Name]; ok {
			v = set
		}
		args = append(args, sql.Named(p.Name, v))
	}
	return args
}

// warehouse has all tables. The tables are empty except for the calendar. A case fills the tables in a transaction that
// is rolled back.
type warehouse struct {
	*sql.DB
}

func newWarehouse(t *testing.T) *warehouse {
	t.Helper()
	connector, err := duckdb.NewConnector("?threads=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &warehouse{sql.OpenDB(connector)}
	w.SetMaxOpenConns(1)
	t.Cleanup(func() { w.Close(); connector.Close() })
	w.exec(t, "CREATE SCHEMA ops; CREATE SCHEMA int; CREATE SCHEMA mart")
	for _, table := range schema.Tables {
		w.exec(t, strings.Join(table.CreateSQL(), ";\n"))
	}
	var days []string
	for _, d := range schema.CalendarDays("acme", "r1", 2025, 2027) {
		days = append(days, fmt.Sprintf("('acme', '%s', '%s', '%s', %d, %t, make_timestamptz(%d), "+
			"make_timestamptz(%d), %d, 'r1')",
			d.ReportDate, d.Month, d.ISOWeek, d.DayOfWeek, d.IsWeekend, d.StartsAt, d.EndsAt, d.Hours))
	}
	w.exec(t, "INSERT INTO main.calendar VALUES "+strings.Join(days, ", "))
	return w
}

// fill begins a transaction, inserts the case's rows and makes the models that the question needs. If the question is
// empty, it makes all models.
func (w *warehouse) fill(t *testing.T, c *testCase, question string) {
	t.Helper()
	w.exec(t, "BEGIN")
	if c.calendar {
		w.exec(t, "DELETE FROM main.calendar")
	}
	for _, table := range c.tables {
		table.insert(t, w)
	}
	w.make(t, c, question)
}

// make makes the models that a question needs from the present rows, in the order of the models. If the question is
// empty, it makes all models.
func (w *warehouse) make(t *testing.T, c *testCase, question string) {
	t.Helper()
	values := maps.Clone(c.thresholds) // thresholds without the constants, which the method at replaces
	maps.DeleteFunc(values, func(name, _ string) bool {
		return !slices.ContainsFunc(queries.Thresholds(), func(t queries.Threshold) bool { return t.Name == name })
	})
	views := queries.Views(values)
	needed := map[string]bool{}
	for _, name := range reference.FindAllString(question, -1) {
		needed[name] = true
	}
	for _, v := range slices.Backward(views) { // each view comes after the views that it reads
		if needed[v.Schema+"."+v.Name] {
			for _, name := range v.Reads() {
				needed[name] = true
			}
		}
	}
	w.exec(t, "DELETE FROM int.campaign_spend")
	w.exec(t, "INSERT INTO int.campaign_spend "+schema.CampaignSpendSQL("true"))
	for _, v := range views {
		if question != "" && !needed[v.Schema+"."+v.Name] && !v.IsValue {
			continue
		}
		kind, body := "VIEW", "AS "
		switch {
		case v.IsValue:
			kind, body = "MACRO", "("+v.Parameters+") AS "
		case v.Parameters != "":
			kind, body = "MACRO", "("+v.Parameters+") AS TABLE "
		case v.IsTable:
			kind = "TABLE"
		}
		w.exec(t, fmt.Sprintf("CREATE OR REPLACE %s %s.%s %s%s", kind, v.Schema, v.Name, body, c.at(v.SQL)))
	}
}

// reference matches the name of a table or view in SQL.
var reference = regexp.MustCompile(`\b(main|int|mart)\.[a-z_0-9]+`)

func (w *warehouse) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := w.Exec(statement); err != nil {
		t.Fatalf("%s\n%v", statement, err)
	}
}

// fixture contains rows of a table.
type fixture struct {
	name string
	rows [][]cell // the first row has the names of the columns
}

// insert inserts the rows. Columns that the rows lack get their values from usual[].
func (f *fixture) insert(t *testing.T, w *warehouse) {
	t.Helper()
	i := slices.IndexFunc(schema.Tables, func(s *schema.Table) bool { return s.FullName() == f.name })
	if i < 0 {
		t.Fatalf("%s.csv: there is no such table", f.name)
	}
	head := f.rows[0]
	for _, c := range head {
		if !slices.ContainsFunc(schema.Tables[i].Columns, func(k schema.Column) bool { return k.Name == c.text }) {
			t.Fatalf("%s.csv: the table has no column %q", f.name, c.text)
		}
	}
	var names, values []string
	for _, c := range schema.Tables[i].Columns {
		at := slices.IndexFunc(head, func(h cell) bool { return h.text == c.Name })
		switch v, ok := usual[c.Name]; {
		case at >= 0:
			names, values = append(names, schema.Quote(c.Name)), append(values, fmt.Sprintf("$%d", at+1))
		case c.Nullable:
		case ok:
			names, values = append(names, schema.Quote(c.Name)), append(values, schema.QuoteText(v))
		case c.DuckDB() == "VARCHAR":
			names, values = append(names, schema.Quote(c.Name)), append(values, "''")
		default:
			names, values = append(names, schema.Quote(c.Name)), append(values, "0")
		}
	}
	statement := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s", schema.Tables[i].SQLName(), strings.Join(names, ", "),
		strings.Join(values, ", "))
	for n, row := range f.rows[1:] {
		args := make([]any, len(row))
		for j, c := range row {
			if !c.null {
				args[j] = c.text
			}
		}
		if _, err := w.Exec(statement, args...); err != nil {
			t.Fatalf("%s.csv, row %d: %v", f.name, n+1, err)
		}
	}
}

// ask returns the requested columns of the answer's rows as text.
func (w *warehouse) ask(t *testing.T, question string, args []any, columns []cell) []string {
	t.Helper()
	var list []string
	for _, c := range columns {
		list = append(list, asText(schema.Quote(c.text)))
	}
	rows, err := w.Query("SELECT "+strings.Join(list, ", ")+" FROM (\n"+question+"\n)", args...)
	if err != nil {
		t.Fatalf("%s\n%v", question, err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		scanned := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range scanned {
			into[i] = &scanned[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var row []cell
		for _, s := range scanned {
			row = append(row, cell{s.String, !s.Valid})
		}
		all = append(all, text(row))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// asText formats a value as a person would write it in a CSV file: numbers rounded to six decimals without trailing
// zeros, instants in UTC.
func asText(column string) string {
	return fmt.Sprintf(`CASE
  WHEN typeof(%[1]s) = 'TIMESTAMP WITH TIME ZONE'
    THEN strftime(make_timestamp(epoch_us(try_cast(%[1]s::VARCHAR AS TIMESTAMPTZ))), '%%Y-%%m-%%dT%%H:%%M:%%SZ')
  WHEN typeof(%[1]s) IN ('DOUBLE', 'FLOAT')
    THEN regexp_replace(round(try_cast(%[1]s::VARCHAR AS DOUBLE), 6)::VARCHAR, '\.0$', '')
  WHEN typeof(%[1]s) LIKE 'DECIMAL%%'
    THEN regexp_replace(regexp_replace(%[1]s::VARCHAR, '(\.[0-9]*?)0+$', '\1'), '\.$', '')
  ELSE %[1]s::VARCHAR END`, column)
}

// cell is a value of a CSV file. An empty cell without quotes is NULL.
type cell struct {
	text string
	null bool
}

func cells(texts ...string) []cell {
	var all []cell
	for _, s := range texts {
		all = append(all, cell{text: s})
	}
	return all
}

// text joins the cells of a row, for comparing and printing.
func text(row []cell) string {
	var parts []string
	for _, c := range row {
		if c.null {
			c.text = "NULL"
		}
		parts = append(parts, c.text)
	}
	return strings.Join(parts, " | ")
}

func texts(rows [][]cell) []string {
	var all []string
	for _, r := range rows {
		all = append(all, text(r))
	}
	return all
}

// emptyText stands for a quoted empty cell, which encoding/csv does not distinguish from an unquoted one.
var emptyText = regexp.MustCompile(`(?m)(^|,)""(,|$)`)

const isEmptyText = "\x00"

func readTable(t *testing.T, path string) [][]cell {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for emptyText.Match(b) {
		b = emptyText.ReplaceAll(b, []byte("${1}"+isEmptyText+"${2}"))
	}
	records, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(records) == 0 {
		t.Fatalf("%s: %v", path, err)
	}
	var rows [][]cell
	for _, r := range records {
		row := cells(r...)
		for i, c := range row {
			row[i] = cell{text: strings.TrimPrefix(c.text, isEmptyText), null: c.text == ""}
		}
		rows = append(rows, row)
	}
	return rows
}

// everyColumnIsCompared checks that every column of the views in mart and every ready question has a case.
func (w *warehouse) everyColumnIsCompared(t *testing.T, compared map[string]map[string]bool) {
	defer w.exec(t, "ROLLBACK")
	w.fill(t, &testCase{now: noon}, "")
	views := queries.Views(nil)
	for _, v := range views {
		if v.Schema != "mart" {
			continue
		}
		for _, column := range w.columnsOf(t, v.Schema+"."+v.Name) {
			if !compared[v.Name][column] {
				t.Errorf("no case of %s expects anything of %s", v.Name, column)
			}
		}
	}
	for _, a := range queries.Asks() {
		if compared[a.Name] == nil {
			t.Errorf("the ready question %s has no case", a.Name)
		}
	}
}

func (w *warehouse) columnsOf(t *testing.T, view string) []string {
	t.Helper()
	rows, err := w.Query("SELECT * FROM " + view + " LIMIT 0")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	return columns
}

// rows contains the rows of an answer as text.
func (w *warehouse) rows(t *testing.T, question string) (all [][]string) {
	t.Helper()
	rows, err := w.Query(question)
	if err != nil {
		t.Fatalf("%s\n%v", question, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		scanned, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range scanned {
			into[i] = &scanned[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, v := range scanned {
			switch v := v.(type) {
			case nil:
				row[i] = "NULL"
			case time.Time:
				row[i] = v.UTC().Format(time.DateOnly)
			case duckdb.Decimal:
				row[i] = v.String()
			default:
				row[i] = fmt.Sprint(v)
			}
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
