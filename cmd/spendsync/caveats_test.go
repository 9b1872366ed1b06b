package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/load/duck"
	"spendsync/load/duck/caveat"
	"spendsync/queries"
	"spendsync/schema"
)

// statement is one statement of a file of testdata, below the kind of caveat that it must get.
type statement struct {
	kind caveat.Kind
	sql  string
}

// dated puts days in the places of {-3} and the like.
func dated(text string, today schema.Date) string {
	return regexp.MustCompile(`\{-(\d+)\}`).ReplaceAllStringFunc(text, func(day string) string {
		n, _ := strconv.Atoi(day[2 : len(day)-1])
		return (today - schema.Date(n)).String()
	})
}

// statements reads a file of answer/testdata. {-3} is the day three days before today.
func statements(t *testing.T, name string, today schema.Date) (all []statement) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("answer", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	kind := ""
	for line := range strings.Lines(dated(string(b), today)) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "-- "); ok {
			kind = comment
		} else if line != "" {
			all = append(all, statement{caveat.Kind(kind), strings.TrimSuffix(line, ";")})
		}
	}
	return all
}

// playedDemo plays a demo once for all tests and returns its folder and its output. The environment has the settings of
// another account.
var playedDemo = sync.OnceValues(func() (dir, printed string) {
	root, err := os.MkdirTemp("", "spendsync-played-demo-")
	if err != nil {
		panic(err)
	}
	removeAtExit = append(removeAtExit, root)
	dir = filepath.Join(root, "demo-data")
	var out bytes.Buffer
	code := run(context.Background(), []string{"demo", "--dir", dir, "--rows-per-day", "300"},
		[]string{"SPENDSYNC_REPORT_URL=https://real.example.com", "SPENDSYNC_ACCOUNT=real"}, &out, &out)
	return dir, fmt.Sprintf("%sexit %d", &out, code)
})

// demoStore returns the store of a demo.
func demoStore(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("SPENDSYNC_TEST_DEMO"); dir != "" { // a demo of today that is there already
		return dir
	}
	dir, printed := playedDemo()
	if !strings.HasSuffix(printed, "exit 0") {
		t.Fatal(printed)
	}
	return dir
}

// openStore opens a store, and returns the open day in it.
func openStore(t *testing.T, dir string) (*duck.Session, schema.Date) {
	t.Helper()
	s, err := duck.OpenSession(t.Context(), dir, duck.Options{Memory: "256MiB"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a, err := s.Query(t.Context(), "SELECT max(today) FROM today")
	if err != nil {
		t.Fatal(err)
	}
	today, err := schema.ParseDate(a.Rows[0][0].V)
	if err != nil {
		t.Fatal(err)
	}
	return s, today
}

// guided returns the SQL that the guides teach.
func guided(t *testing.T) (all []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "queries", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, guide, _ := strings.Cut(string(b), "## A guide of answers\n")
	guide, _, _ = strings.Cut(guide, "\n## ")
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(guide+queries.Guide, -1) {
		for _, sql := range strings.Split(block[1], ";") {
			if sql = strings.TrimSpace(sql); sql != "" {
				all = append(all, sql)
			}
		}
	}
	if len(all) < 10 {
		t.Fatalf("the guides have %d statements", len(all))
	}
	for _, e := range queries.Examples() {
		all = append(all, e.SQL)
	}
	return all
}

// TestExamples_Answer runs every example that the store names.
func TestExamples_Answer(t *testing.T) {
	session, _ := openStore(t, demoStore(t))
	examples, err := session.Query(t.Context(), "SELECT question, sql, answer FROM mart.example")
	if err != nil {
		t.Fatal(err)
	}
	if len(examples.Rows) != len(queries.Asks())+len(queries.Examples()) || len(queries.Examples()) < 20 {
		t.Errorf("%d examples", len(examples.Rows))
	}
	mayBeEmpty := regexp.MustCompile(`missing|new|Tuesday`)
	for _, e := range examples.Rows {
		question, sql, answer := e[0].V, e[1].V, e[2].V
		a, err := session.Query(t.Context(), sql)
		columns, ready := strings.CutPrefix(answer, "columns ")
		if err != nil || len(a.Rows) == 0 && !ready && !mayBeEmpty.MatchString(question) {
			t.Errorf("%s: %d rows, %v\n%s", question, len(a.Rows), err, sql)
		}
		if ready {
			for name := range strings.SplitSeq(columns, ", ") {
				if !slices.Contains(a.Columns, name) {
					t.Errorf("%s: the answer has no column %s", question, name)
				}
			}
		}
	}
}

// TestCaveats_OfWrongStatementsAlone holds 200 right statements and 200 wrong ones to what they get.
func TestCaveats_OfWrongStatementsAlone(t *testing.T) {
	dir := demoStore(t)
	session, today := openStore(t, dir)
	caveatsOf := func(sql string) []caveat.Finding {
		found, err := session.Caveats(t.Context(), sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		return found
	}
	views, err := queries.Views(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range views {
		if q.Parameters != "" {
			continue
		}
		if found := caveatsOf("FROM " + q.Schema + "." + q.Name); len(found) > 0 {
			t.Errorf("our own %s is warned: %v", q.Name, found)
		}
	}
	for _, sql := range guided(t) {
		if found := caveatsOf(sql); len(found) > 0 {
			t.Errorf("the guide teaches what is warned: %v: %s", found, sql)
		}
	}
	right, wrong := statements(t, "right.sql", today), statements(t, "wrong.sql", today)
	if len(right) < 200 || len(wrong) < 200 {
		t.Fatalf("%d right statements and %d wrong ones", len(right), len(wrong))
	}
	var warned, missed []string
	for _, s := range right {
		for _, c := range caveatsOf(s.sql) {
			warned = append(warned, fmt.Sprintf("%s\n  %s: %s", s.sql, c.Kind, c.Text))
			break
		}
	}
	for _, s := range wrong {
		got := caveatsOf(s.sql)
		ok := false
		for _, c := range got {
			ok = ok || c.Kind == s.kind
			if strings.Contains(c.Text, "\n") || !strings.Contains(c.Text, ": ") {
				t.Errorf("%s\nis no line with a cure: %q", s.sql, c.Text)
			}
		}
		if !ok {
			missed = append(missed, fmt.Sprintf("%s\n  lacks %s, has %v", s.sql, s.kind, got))
		}
	}
	t.Logf("%d of %d right statements are warned:\n%s\n%d of %d wrong ones are not:\n%s", len(warned), len(right),
		strings.Join(warned, "\n"), len(missed), len(wrong), strings.Join(missed, "\n"))
	if len(warned)*100 > 2*len(right) {
		t.Errorf("of %d right statements %d are warned, more than 2 %%", len(right), len(warned))
	}
	if len(missed)*100 > 5*len(wrong) {
		t.Errorf("of %d wrong statements %d are not warned, more than 5 %%", len(wrong), len(missed))
	}
	t.Run("of days that are not known", func(t *testing.T) { wantGapsNamed(t, dir, today) })
}

// wantGapsNamed takes days out of a copy of a store, adds an account, and holds the caveats to it.
func wantGapsNamed(t *testing.T, from string, today schema.Date) {
	b, err := os.ReadFile(filepath.Join(from, duck.FileName))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, duck.FileName)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"DELETE FROM ops.day_coverage WHERE report_date = DATE '%v' - 3",
		"DELETE FROM spend_daily WHERE report_date = DATE '%v' - 3",
		"UPDATE ops.day_coverage SET state = 'lost' WHERE report_date = DATE '%v' - 40",
		"UPDATE ops.day_coverage SET state = 'partial' WHERE report_date = DATE '%v' - 6",
		"UPDATE mart.campaign_spend SET rows_with_clicks = 0 WHERE report_date = DATE '%v' - 20",
		"INSERT INTO ops.day_coverage SELECT * REPLACE ('other' AS account_id) FROM ops.day_coverage " +
			"WHERE report_date > DATE '%v' - 10",
		"INSERT INTO calendar SELECT * REPLACE ('other' AS account_id) FROM calendar " +
			"WHERE report_date < DATE '%v' + 99",
	} {
		if _, err := db.Exec(fmt.Sprintf(q, today)); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	session, _ := openStore(t, dir)
	const days = "SELECT sum(spend) FROM spend WHERE report_date BETWEEN "
	const idle = "SELECT campaign_id FROM campaign AS c WHERE "
	const between = "s.report_date BETWEEN '{-4}' AND '{-2}'"
	const joined = "SELECT sum(s.spend) FROM spend s JOIN today t "
	for _, c := range []struct {
		sql  string
		want []caveat.Kind
	}{
		{"SELECT sum(spend) FROM spend", []caveat.Kind{caveat.Lost, caveat.Missing, caveat.Open}},
		{days + "'{-3}' AND '{-3}'", []caveat.Kind{caveat.Missing}},
		{days + "'{-4}' AND '{-2}'", []caveat.Kind{caveat.Missing}},
		{days + "'{-41}' AND '{-39}'", []caveat.Kind{caveat.Lost}},
		{days + "'{-6}' AND '{-6}'", []caveat.Kind{caveat.Open}},
		{days + "'{-21}' AND '{-19}'", nil},
		{"SELECT sum(clicks) FROM spend WHERE report_date BETWEEN '{-21}' AND '{-19}'", []caveat.Kind{caveat.Null}},
		{idle + "NOT EXISTS (SELECT 1 FROM spend AS s WHERE s.campaign_id = c.campaign_id AND " + between + ")",
			[]caveat.Kind{caveat.Missing}},
		{idle + "campaign_id NOT IN (SELECT campaign_id FROM spend AS s WHERE " + between + ")",
			[]caveat.Kind{caveat.Missing}},
		{idle + "campaign_id IN (SELECT campaign_id FROM spend AS s WHERE " + between + ")", nil},
		{"SELECT report_date FROM calendar EXCEPT SELECT report_date FROM spend AS s WHERE " +
			between, []caveat.Kind{caveat.Missing}},
		{joined + "ON s.report_date = '{-2}'", []caveat.Kind{caveat.FanOut}},
		{joined + "USING (account_id) WHERE s.report_date = '{-2}'", nil},
	} {
		q, want := c.sql, c.want
		found, err := session.Caveats(t.Context(), dated(q, today))
		var kinds []caveat.Kind
		for _, f := range found {
			kinds = append(kinds, f.Kind)
		}
		if !slices.Equal(kinds, want) || err != nil {
			t.Errorf("%s: %v, want %v: %v", q, found, want, err)
		}
	}
}

// TestCaveats_OfReadyQuestions: the answer to a ready question names the lost days that it covers, and no others.
func TestCaveats_OfReadyQuestions(t *testing.T) {
	w := newSyncedWorld(t)
	w.service.Advance(36 * 24 * time.Hour)
	if code, _, last := w.run("sync"); code != exit.DayAtRisk {
		t.Fatalf("exit %d: %s", code, last)
	}
	for _, tc := range []struct {
		question, params string
		lost             bool
	}{
		{"top_campaigns", "days=7", false}, {"top_campaigns", "days=40", true}, {"last_week", "rows=20", false},
		{"campaigns_at_limit", "rows=20", false}, {"yesterday", "rows=20", false},
		{"month", "", false}, {"which_campaigns_pay", "rows=20", false},
	} {
		args := []string{"query", tc.question, "--format", "markdown"}
		if tc.params != "" {
			args = append(args, "--param", tc.params)
		}
		if out := w.must(args...); strings.Contains(out, "lost, out of the report's reach") != tc.lost {
			t.Errorf("%s %s:\n%s", tc.question, tc.params, out)
		}
	}
}
