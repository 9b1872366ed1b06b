package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

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

// statements reads a file of answer/testdata. {-3} is the day three days before today.
func statements(t *testing.T, name string, today schema.Date) (all []statement) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("answer", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\{-(\d+)\}`).ReplaceAllStringFunc(string(b), func(day string) string {
		n, _ := strconv.Atoi(day[2 : len(day)-1])
		return (today - schema.Date(n)).String()
	})
	kind := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "-- "); ok {
			kind = comment
		} else if line != "" {
			all = append(all, statement{caveat.Kind(kind), strings.TrimSuffix(line, ";")})
		}
	}
	return all
}

// demoStore returns the store of a demo.
func demoStore(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SPENDSYNC_TEST_DEMO") // a demo of today that is there already
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "demo-data")
		var out bytes.Buffer
		if code := run(t.Context(), []string{"demo", "--dir", dir, "--rows-per-day", "300"}, nil, &out,
			&out); code != 0 {
			t.Fatalf("exit %d: %s", code, &out)
		}
	}
	return dir
}

// openDemo opens the store of a demo, and returns the day that goes on in it.
func openDemo(t *testing.T) (*duck.Session, schema.Date) {
	t.Helper()
	s, err := duck.OpenSession(t.Context(), demoStore(t), duck.Options{Memory: "256MiB"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a, err := s.Query(t.Context(), "SELECT today FROM today")
	if err != nil {
		t.Fatal(err)
	}
	today, err := schema.ParseDate(a.Rows[0][0].V)
	if err != nil {
		t.Fatal(err)
	}
	return s, today
}

// TestCaveats_OfWrongStatementsAlone holds 200 right statements and 200 wrong ones to what they get.
func TestCaveats_OfWrongStatementsAlone(t *testing.T) {
	session, today := openDemo(t)
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
}
