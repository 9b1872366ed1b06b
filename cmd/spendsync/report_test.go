package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/schema/schematest"
)

// demoAsks asks the demo's store in each of the ways in which people do.
type demoAsks struct {
	t   *testing.T
	env []string
}

func (s demoAsks) run(args ...string) string {
	s.t.Helper()
	var out, errOut bytes.Buffer
	if code := run(s.t.Context(), args, s.env, &out, &errOut); code != exit.OK {
		s.t.Fatalf("%s: exit %d: %s", strings.Join(args, " "), code, errOut.String())
	}
	return out.String()
}

// TestReport_TellsTheStory: the demo's page names the break that is over, the changes that people made with what came
// of them, and the limit that holds back.
func TestReport_TellsTheStory(t *testing.T) {
	dir, _ := playedDemo()
	s := demoAsks{t, []string{"SPENDSYNC_DATA_DIR=" + dir, "SPENDSYNC_ACCOUNT=demo"}}
	file := filepath.Join(t.TempDir(), "report.html")
	if out := s.run("report", "--out", file); !strings.Contains(out, file) || !strings.Contains(out,
		"account demo as of ") {
		t.Errorf("report says %q", out)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	html := string(written)
	text := regexp.MustCompile(`<[^>]+>`).ReplaceAllString(html, " ")
	for _, want := range []string{"conversions stopped", "default bid ", "daily spend limit ", "broken before"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(text, "(C1") {
		t.Error("the page has an ID beside a name that no other campaign has")
	}
	if schematest.All() {
		if out := s.run("report", "--out", "-"); out != html {
			t.Errorf("the same warehouse gave another page on stdout: %d bytes instead of %d", len(out), len(html))
		}
	}
	if out := s.run("report", "--json", "--out", file); !strings.Contains(out, `"last_whole_day"`) ||
		!strings.Contains(out, `"bytes"`) {
		t.Errorf("report --json says %q", out)
	}
	if len(html) > 700_000 {
		t.Errorf("the page has %d bytes", len(html))
	}
}

func TestReport_RefusesWhatItCannotDo(t *testing.T) {
	w := newWorld(t).withMarts()
	refused := func(want string, args ...string) {
		t.Helper()
		code, out, last := w.run(append([]string{"report"}, args...)...)
		if code != exit.Usage || out != "" || !strings.Contains(last, want) {
			t.Errorf("report %v: exit %d, %q, want %d with %q", args, code, last, exit.Usage, want)
		}
	}
	file := filepath.Join(t.TempDir(), "r.html")
	refused("sync", "--out", file) // nothing is published yet
	w.synced()
	refused("the warehouse has acme", "--account", "nobody", "--out", file)
	refused("spendsync's own files", "--out", filepath.Join(w.dir, "r.html"))
	refused("which one", "--json", "--out", "-")
	w.must("report", "--out", file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", filepath.Join(w.dir, "warehouse.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE int.made SET inputs = 'other' WHERE model = 'models'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	refused("'spendsync repair rebuild'", "--out", file)
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused report left a file")
	}
}
