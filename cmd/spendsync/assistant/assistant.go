// Package assistant serves a published warehouse to an AI assistant over the Model Context Protocol: five tools that
// read, and the guide as instructions. Every answer is bounded in time, rows and bytes, and states its generation.
package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/spendsync/answer"
	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/queries"
	"spendsync/schema"
)

// Bounds of an answer. An assistant reads the complete answer into its context, so a longer answer would only displace
// the question.
const (
	DefaultRows = 100
	MaxRows     = 1000
	MaxBytes    = 64 << 10
	MaxTime     = time.Minute
)

// Warehouse gives the server access to a store.
type Warehouse struct {
	// Store updates the store to the newest generation, and returns its folder and its manifest.
	Store   func(context.Context) (dir string, m *manifest.Manifest, err error)
	Account string // the only account whose rows are read; if empty, all accounts are read
	Options duck.Options
	Now     func() time.Time
	// Within returns a context with a time limit for one answer.
	Within func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	// Describe describes tables and views by name, as 'spendsync tables' does. If names is empty, it describes all
	// tables and views, but not their columns.
	Describe func(ctx context.Context, names []string) ([]schema.TableDoc, error)
}

// NewServer returns a server with the five tools.
func NewServer(w Warehouse, version string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "spendsync", Version: version},
		&mcp.ServerOptions{Instructions: queries.Guide})
	s.AddReceivingMiddleware(lenient)
	add(s, "questions", "Lists the ready questions with their parameters, and the views. Begin here.",
		func(context.Context, struct{}) (string, error) { return text(listed()) })
	add(s, "ask", "Answers a ready question, or returns a view, by its name. Prefer it to SQL: it knows the traps.",
		w.ask)
	add(s, "describe", "Describes tables and views: what a row is, its trap, and the meaning and unit of every column.",
		w.describe)
	add(s, "sql", "Answers one DuckDB statement that reads. Ask spend and today first. The tool describe "+
		"names the traps of spend_daily and of tables named *_history. Every answer has facts: as of when, which days "+
		"are open, missing, lost or young.", w.sql)
	add(s, "coverage", "Reports which day is the last whole one, how old the numbers are, and which days are missing.",
		w.coverage)
	return s
}

// listed returns the names of all questions, views and macros without further texts, because an assistant reads the
// complete list. The tool describe gives the details.
func listed() any {
	all := answer.List()
	type question struct {
		Name       string            `json:"name"`
		Question   string            `json:"question"`
		Parameters map[string]string `json:"parameters,omitempty"` // names and defaults
	}
	var asks []question
	for _, q := range all.Asks {
		short := question{Name: q.Name, Question: q.Question}
		for _, p := range q.Parameters {
			if short.Parameters == nil {
				short.Parameters = map[string]string{}
			}
			short.Parameters[p.Name] = *p.Default
		}
		asks = append(asks, short)
	}
	names := func(list []answer.Listed) (all []string) {
		for _, v := range list {
			all = append(all, v.Name)
		}
		return all
	}
	return map[string]any{"questions": asks, "views": names(slices.Concat(all.Views, all.Tables)),
		"macros": names(all.Macros)}
}

// lenient converts the arguments of a call before the library checks their types.
func lenient(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if call, ok := request.(*mcp.CallToolRequest); ok {
			call.Params.Arguments = asMeant(call.Params.Arguments)
		}
		return next(ctx, method, request)
	}
}

// asMeant corrects arguments that have the wrong type and a clear meaning: a number or a boolean in parameters becomes
// a text, a text in rows becomes a number, and a single name becomes a list of one name. An argument that is null is
// dropped. All other arguments stay unchanged.
func asMeant(arguments json.RawMessage) json.RawMessage {
	var all map[string]any
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if d.Decode(&all) != nil {
		return arguments
	}
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	if text, ok := all["rows"].(string); ok {
		if n, err := strconv.Atoi(text); err == nil {
			all["rows"] = n
		}
	}
	if name, ok := all["names"].(string); ok {
		all["names"] = []string{name}
	}
	if parameters, ok := all["parameters"].(map[string]any); ok {
		maps.DeleteFunc(parameters, func(_ string, v any) bool { return v == nil })
		for name, v := range parameters {
			switch v.(type) {
			case json.Number, bool:
				parameters[name] = fmt.Sprint(v)
			}
		}
	}
	if b, err := json.Marshal(all); err == nil {
		return b
	}
	return arguments
}

// add adds a read-only tool that returns a text. An error is returned as an answer, so that the assistant can correct
// its question.
func add[In any](s *mcp.Server, name, description string, answer func(context.Context, In) (string, error)) {
	tool := &mcp.Tool{Name: name, Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}}
	mcp.AddTool(s, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		t, err := answer(ctx, in)
		if err != nil {
			return nil, nil, errors.New(cli.Visible(cli.OneLine(err.Error())))
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t}}}, nil, nil
	})
}

// Asked contains the arguments of the tool for ready questions.
type Asked struct {
	Name       string            `json:"name" jsonschema:"a ready question, a view or a macro, such as last_week"`
	Parameters map[string]string `json:"parameters,omitempty" jsonschema:"its parameters' values, as texts"`
	Rows       int               `json:"rows,omitempty" jsonschema:"most rows: 100 unless given, at most 1000"`
}

func (w Warehouse) ask(ctx context.Context, in Asked) (string, error) {
	var params []string
	for _, name := range slices.Sorted(maps.Keys(in.Parameters)) {
		params = append(params, name+"="+in.Parameters[name])
	}
	q, err := answer.Find(in.Name, params)
	if err != nil {
		return "", err
	}
	return w.answer(ctx, q, in.Rows)
}

// Statement contains the arguments of the tool for SQL that the assistant writes.
type Statement struct {
	SQL  string `json:"sql" jsonschema:"one DuckDB statement that reads: SELECT, FROM, WITH, DESCRIBE, SUMMARIZE"`
	Rows int    `json:"rows,omitempty" jsonschema:"most rows: 100 unless given, at most 1000"`
}

func (w Warehouse) sql(ctx context.Context, in Statement) (string, error) {
	q, err := answer.FromSQL(in.SQL, nil, strings.NewReader(""))
	if err != nil {
		return "", err
	}
	return w.answer(ctx, q, in.Rows)
}

// coverageQuestion is the ready question about coverage: its answer has a row per account, with the days that are not
// complete.
const coverageQuestion = "coverage_gaps"

func (w Warehouse) coverage(ctx context.Context, _ struct{}) (string, error) {
	return w.ask(ctx, Asked{Name: coverageQuestion, Rows: MaxRows})
}

// Named contains the arguments of the tool that describes tables and views.
type Named struct {
	Names []string `json:"names,omitempty" jsonschema:"tables and views, such as spend; none: the list of all"`
}

func (w Warehouse) describe(ctx context.Context, in Named) (string, error) {
	docs, err := w.Describe(ctx, in.Names)
	if err != nil {
		return "", err
	}
	return text(docs)
}

// Answer is the result of a tool, as JSON: the rows, and the facts that a reader needs to interpret the rows correctly.
type Answer struct {
	Generation  int64             `json:"generation"`
	PublishedAt time.Time         `json:"published_at"`
	Question    string            `json:"question,omitempty"`
	Mind        string            `json:"mind,omitempty"`  // how the answer is easily misread
	Facts       []duck.Caveats    `json:"facts,omitempty"` // facts about the data that a reader needs, by account
	Rows        []json.RawMessage `json:"rows"`
	LeftOut     string            `json:"left_out,omitempty"`
}

// answer queries the warehouse. It leaves out rows beyond the bounds, and says in the answer that rows are missing.
func (w Warehouse) answer(ctx context.Context, q answer.Question, rows int) (_ string, err error) {
	if rows < 0 || rows > MaxRows {
		return "", fmt.Errorf("rows %d: must be from 1 to %d", rows, MaxRows)
	}
	if rows == 0 {
		rows = DefaultRows
	}
	dir, m, err := w.Store(ctx)
	if err != nil {
		return "", err
	}
	ctx, cancel := w.Within(ctx, MaxTime)
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("stopped: %w; ask for fewer days or rows", context.Cause(ctx))
		}
	}()
	q.Account = w.Account
	q.CaveatsAt = w.Now()
	q.MaxRows = int64(rows) + 1 // one row more than is shown, to know whether there are more
	result, err := duck.Ask(ctx, dir, q.Query, w.Options)
	var other *duck.OtherVersionError
	if errors.As(err, &other) {
		return "", fmt.Errorf("%w: %s", err, other.Advice())
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	var b bytes.Buffer
	if err := (answer.Rendering{Result: result, Question: q}).Write(ctx, &b, "json"); err != nil {
		return "", err
	}
	a := Answer{Generation: m.Generation, PublishedAt: m.PublishedAt.Time(), Question: q.Asks, Mind: q.Trap,
		Facts: result.Caveats}
	if err := json.Unmarshal(b.Bytes(), &a.Rows); err != nil {
		return "", err
	}
	if len(a.Rows) > rows {
		a.Rows = a.Rows[:rows]
		a.LeftOut = fmt.Sprintf("there are more than %d rows: add up, filter, or ask for more rows", rows)
	}
	if result.Total > result.Count {
		a.LeftOut = fmt.Sprintf("%d of %d rows: the parameter rows asks for more", result.Count, result.Total)
	}
	size := 0
	for i, row := range a.Rows {
		if size += len(row) + 1; size > MaxBytes {
			a.Rows = a.Rows[:i]
			a.LeftOut = fmt.Sprintf("rows after the first %d would exceed %d KiB: select fewer columns or rows", i,
				MaxBytes>>10)
			break
		}
	}
	return text(a)
}

// text returns a value as JSON without line breaks.
func text(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.String(), err
}
