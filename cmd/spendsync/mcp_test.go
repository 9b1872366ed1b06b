package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"spendsync/cmd/spendsync/assistant"
	"spendsync/queries"
)

// assistantSession simulates an assistant that has started the command.
type assistantSession struct {
	*testing.T
	*mcp.ClientSession
}

// call calls a tool. It returns the text, and reports whether the text is an error.
func (s *assistantSession) call(tool string, arguments any) (text string, refused bool) {
	s.Helper()
	r, err := s.CallTool(s.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		s.Fatalf("%s %v: %v", tool, arguments, err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

// answer calls a tool, which must not return an error.
func (s *assistantSession) answer(tool string, arguments any) (a assistant.Answer) {
	s.Helper()
	text, refused := s.call(tool, arguments)
	if err := json.Unmarshal([]byte(text), &a); err != nil || refused {
		s.Fatalf("%s %v: %v: %s", tool, arguments, err, text)
	}
	return a
}

// TestMCP_AnswersAnAssistant starts the command as an assistant does, with the MCP client of a library.
func TestMCP_AnswersAnAssistant(t *testing.T) {
	w := newWorld(t).withMarts().synced()
	client := mcp.NewClient(&mcp.Implementation{Name: "assistant", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{
		Command: w.start(context.WithoutCancel(t.Context()), "mcp")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("the command did not end with its stdin: %v", err)
		}
	})
	s := &assistantSession{t, session}
	if got := s.InitializeResult().Instructions; got != queries.Guide {
		t.Errorf("the instructions are not the guide: %q", got)
	}
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s does not say that it only reads", tool.Name)
		}
	}
	if got := strings.Join(names, " "); got != "ask coverage describe questions sql" {
		t.Errorf("tools %s", got)
	}
	s.wantTheTruth(w)
	s.wantBounds()
	s.wantRefusals(w)
}

// wantTheTruth compares answers with the output of query, and checks that they are from the published generation.
func (s *assistantSession) wantTheTruth(w *world) {
	a := s.answer("ask", map[string]any{"name": "spend_by_day", "parameters": map[string]string{"days": "2"}})
	want := w.must("query", "spend_by_day", "--param", "days=2", "--format", "json")
	for _, row := range a.Rows {
		if !strings.Contains(want, string(row)) {
			s.Errorf("spend_by_day has %s, query:\n%s", row, want)
		}
	}
	if len(a.Rows) == 0 || a.Mind == "" || fmt.Sprint(a.Generation) != w.ask("SELECT max(generation) FROM ops.run") {
		s.Errorf("%d rows of generation %d, mind %q", len(a.Rows), a.Generation, a.Mind)
	}
	a = s.answer("sql", map[string]any{"sql": "SELECT sum(spend)::VARCHAR AS spend FROM spend"})
	truth := w.ask("SELECT sum(spend) FROM spend_daily WHERE report_date < (SELECT today FROM today)")
	if got := string(a.Rows[0]); got != fmt.Sprintf(`{"spend":%q}`, truth) {
		s.Errorf("spend is %s, want %s", got, truth)
	}
	if a = s.answer("sql", map[string]any{"sql": "SELECT sum(spend) FROM spend_daily"}); len(a.Facts) != 1 ||
		a.Facts[0].OpenDay != w.today().String() {
		s.Errorf("an answer has the facts %+v", a.Facts)
	}
	a = s.answer("coverage", nil)
	if got := string(a.Rows[0]); !strings.Contains(got, fmt.Sprintf(`"last_whole_date":"%v"`, w.today()-1)) ||
		!strings.Contains(got, `"what_to_do":`) {
		s.Errorf("coverage is %s", got)
	}
	if text, _ := s.call("describe", map[string]any{"names": []string{"spend"}}); !strings.Contains(text,
		"conversions_expected") {
		s.Errorf("spend is described as %s", text)
	}
	for what, arguments := range map[string]map[string]any{
		"a number for a text": {"name": "spend_by_day", "parameters": map[string]any{"days": 1}},
		"a text for a number": {"name": "spend_by_day", "rows": "2"},
		"null for nothing":    {"name": "spend_by_day", "parameters": nil, "rows": 2},
	} {
		if a := s.answer("ask", arguments); len(a.Rows) != 2 { // the last closed day and the open day, or two rows
			s.Errorf("%s: %d rows", what, len(a.Rows))
		}
	}
	if text, refused := s.call("describe", map[string]any{"names": "spend"}); refused {
		s.Errorf("a name for a list: %s", text)
	}
	if text, _ := s.call("questions", nil); !strings.Contains(text, `"last_week"`) || len(text) > 8<<10 {
		s.Errorf("questions are %s", text)
	}
}

// wantBounds checks that answers stay within their bounds for any SQL.
func (s *assistantSession) wantBounds() {
	for sql, rows := range map[string]int{
		"FROM range(1000000000)": assistant.DefaultRows,
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) FROM r": assistant.DefaultRows,
		"SELECT repeat('x', 10000) AS x FROM range(100)":                         6,
		"SELECT repeat('x', 100000) AS x":                                        0,
	} {
		a := s.answer("sql", map[string]any{"sql": sql})
		if len(a.Rows) != rows || a.LeftOut == "" {
			s.Errorf("%s: %d rows, want %d; left out: %q", sql, len(a.Rows), rows, a.LeftOut)
		}
	}
	if a := s.answer("sql", map[string]any{"sql": "FROM range(100)"}); len(a.Rows) != 100 || a.LeftOut != "" {
		s.Errorf("%d rows of 100, left out: %q", len(a.Rows), a.LeftOut)
	}
}

// wantRefusals: SQL can read only the warehouse, and an error names what is wrong.
func (s *assistantSession) wantRefusals(w *world) {
	outside := filepath.Join(s.TempDir(), "outside.csv")
	for sql, says := range map[string]string{
		"FROM '" + w.dir + "/manifest.json'":            "file system operations are disabled",
		"FROM read_text('" + w.dir + "/manifest.json')": "read_text cannot be called in a query",
		"ATTACH '" + outside + "'":                      "not one statement that reads",
		"SELECT 1; SELECT 2":                            "not one statement that reads",
		"SELECT nothing FROM spend":                     "nothing",
	} {
		if text, refused := s.call("sql", map[string]any{"sql": sql}); !refused || !strings.Contains(text, says) {
			s.Errorf("%s: refused %v, says %q, want %q", sql, refused, text, says)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		s.Error("SQL wrote a file")
	}
	for what, call := range map[string]struct {
		tool      string
		arguments map[string]any
		says      string
	}{
		"a misspelt question": {"ask", map[string]any{"name": "last_weak"}, "did you mean last_week"},
		"a wrong parameter": {"ask", map[string]any{"name": "last_week", "parameters": map[string]string{"weeks": "1"}},
			"no such parameter"},
		"a wrong argument": {"ask", map[string]any{"question": "last_week"},
			"question"},
		"too many rows":   {"sql", map[string]any{"sql": "FROM spend", "rows": 100000}, "must be from 1 to 1000"},
		"a missing table": {"describe", map[string]any{"names": []string{"spends"}}, "did you mean"},
	} {
		if text, refused := s.call(call.tool, call.arguments); !refused || !strings.Contains(text, call.says) {
			s.Errorf("%s: refused %v, says %q, want %q", what, refused, text, call.says)
		}
	}
}

// TestMCP_NeedsAStore: the command fails before an assistant sees any tool.
func TestMCP_NeedsAStore(t *testing.T) {
	w := newWorldInLine(t)
	if code, stdout, last := w.run("mcp"); code == 0 || stdout != "" || !strings.Contains(last, "sync") {
		t.Errorf("exit %d, stdout %q, last line %q", code, stdout, last)
	}
}

func TestGuide_FitsAnAssistant(t *testing.T) {
	if len(queries.Guide) > 4096 {
		t.Errorf("the guide has %d bytes", len(queries.Guide))
	}
	w := newWorld(t).withMarts().synced()
	if got := w.must("guide"); got != queries.Guide {
		t.Errorf("guide prints %q", got)
	}
	for line := range strings.Lines(queries.Guide) {
		if len(line) > 81 || strings.HasPrefix(line, "|") {
			t.Errorf("'help guide' prints a line that a terminal of 80 columns breaks, or a table: %s", line)
		}
	}
	_, sql, _ := strings.Cut(queries.Guide, "```sql\n")
	sql, _, _ = strings.Cut(sql, "```")
	for statement := range strings.SplitSeq(strings.TrimSpace(sql), ";\n") {
		w.must("query", "-c", statement)
	}
	for name := range strings.SplitSeq(queries.Guide, "`") {
		if view, ok := strings.CutPrefix(name, "mart."); ok { // the tests of package queries run each mart
			w.wantAnswer("1", "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'mart' AND "+
				"table_name = '"+view+"'")
		}
	}
}
