package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load"
	"spendsync/queries"
	"spendsync/schema"
)

// queryFlags are what the caller of query chose.
type queryFlags struct {
	sql    string
	params []string
	format string
	out    string
	raw    bool
}

func (a *app) queryCommand() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use: "query [NAME | -c SQL]", Short: "Ask the warehouse: a ready question, a view, or SQL of your own",
		Long: `Asks the published warehouse. Without a name it lists the ready questions, the views and the macros.

On a terminal the answer is a table as wide as the terminal, elsewhere CSV. The DuckDB file is opened read-only, nothing
else is reached, and one statement that reads is answered at a time; an answer larger than the memory limit goes through
$TMPDIR. CSV puts an apostrophe before texts that a spreadsheet would run as a formula; --raw leaves them as they are.
In CSV an empty cell is NULL and "" an empty text. Instants are UTC, days are Chicago's.`,
		Example: `  spendsync query
  spendsync query last_week
  spendsync query top_campaigns --param days=14 --param rows=50
  spendsync query mart.source_performance --out sources.parquet
  spendsync query -c "SELECT report_date, sum(spend) AS spend FROM spend_daily GROUP BY ALL ORDER BY ALL"
  spendsync query -c - --format json < question.sql | jq .[0]`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return questionNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.setUp(cmd.Context()); err != nil {
				return err
			}
			hasSQL := cmd.Flags().Changed("command")
			switch {
			case len(args) == 0 && !hasSQL:
				if cmd.Flags().NFlag() > 0 && !(cmd.Flags().NFlag() == 1 && a.json) {
					return exit.Usagef("which question? Give a name or -c SQL; 'spendsync query' lists the names")
				}
				return quietPipe(a.listQuestions())
			case len(args) > 1 || (len(args) == 1 && hasSQL):
				return exit.Usagef("one NAME or -c SQL, not %q; SQL needs -c and quotes", strings.Join(args, " "))
			}
			q, err := a.question(args, f, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return a.query(cmd.Context(), q, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.sql, "command", "c", "", "SQL to answer; - reads it from stdin")
	flags.StringArrayVar(&f.params, "param", nil, "name=value: sets a parameter of the question; may be given several times")
	flags.StringVar(&f.format, "format", "", "table, csv, json, markdown or parquet (default: table on a terminal, else by the ending of --out, else csv)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(answerFormats, cobra.ShellCompDirectiveNoFileComp)) // fails only without the flag
	flags.StringVar(&f.out, "out", "", "file to write the answer to; it appears when it is whole")
	flags.BoolVar(&f.raw, "raw", false, "CSV without apostrophes before formulas")
	return cmd
}

// question is what to ask, and how it is introduced to a person.
type question struct {
	load.Question
	asks, trap string
}

// question finds what the caller asks for.
func (a *app) question(args []string, f queryFlags, stdin io.Reader) (q question, err error) {
	given, err := splitParams(f.params)
	if err != nil {
		return q, err
	}
	if len(args) == 0 {
		if len(given) > 0 {
			return q, exit.Usagef("--param %s: SQL given with -c has no parameters; write the value into it", f.params[0])
		}
		q.SQL, err = readSQL(f.sql, stdin)
		return q, err
	}
	found, err := a.findQuestion(args[0])
	if err != nil {
		return q, err
	}
	q.asks, q.trap = found.Question, found.Trap
	params := found.Params
	for name := range strings.SplitSeq(found.Parameters, ",") {
		if name = strings.TrimSpace(name); name != "" {
			params = append(params, queries.Param{Name: name})
		}
	}
	values, err := paramValues(args[0], params, given, found.Parameters != "")
	if err != nil {
		return q, err
	}
	switch {
	case found.Parameters != "": // a macro takes texts where they stand
		var list []string
		for _, p := range params {
			list = append(list, schema.QuoteText(values[p.Name]))
		}
		q.SQL = fmt.Sprintf("FROM %s.%s(%s) ORDER BY ALL", schema.Quote(found.Schema), schema.Quote(found.Name), strings.Join(list, ", "))
	case found.Schema != "":
		// A view has no order; an answer that has one can be compared with the next.
		q.SQL = fmt.Sprintf("FROM %s.%s ORDER BY ALL", schema.Quote(found.Schema), schema.Quote(found.Name))
	default:
		q.SQL, q.Params = found.SQL, values
	}
	return q, nil
}

// maxSQL is more than anybody writes; it keeps a wrong pipe from filling memory.
const maxSQL = 4 << 20

// readSQL is the SQL of -c, or of stdin.
func readSQL(given string, stdin io.Reader) (string, error) {
	if given != "-" {
		if strings.TrimSpace(given) == "" {
			return "", exit.Usagef("-c: there is no SQL")
		}
		return given, nil
	}
	b, err := io.ReadAll(io.LimitReader(stdin, maxSQL+1))
	if err != nil {
		return "", exit.Usagef("-c -: stdin: %v", err)
	}
	text := strings.TrimPrefix(string(b), "\ufeff")
	if len(text) > maxSQL || strings.TrimSpace(text) == "" {
		return "", exit.Usagef("-c -: stdin holds %s", cmp.Or(map[bool]string{true: "no SQL"}[len(text) <= maxSQL], "more than 4 MiB: that is no question"))
	}
	return text, nil
}

func splitParams(given []string) (map[string]string, error) {
	values := map[string]string{}
	for _, p := range given {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("--param %q is not name=value", p)
		}
		if _, twice := values[name]; twice {
			return nil, exit.Usagef("--param %s is given twice", name)
		}
		values[name] = value
	}
	return values, nil
}

// paramValues are the parameters' values: those given, else the defaults.
func paramValues(question string, params []queries.Param, given map[string]string, required bool) (map[string]string, error) {
	values, names := map[string]string{}, []string{}
	for _, p := range params {
		names = append(names, p.Name)
		value, ok := given[p.Name]
		if !ok && required {
			return nil, exit.Usagef("%s needs --param %s=...", question, p.Name)
		}
		if !ok {
			value = p.Default
		}
		if kind := paramKind(p.Default); !kind.fits(value) {
			return nil, exit.Usagef("--param %s=%s: not %s such as %s; %s", p.Name, value, kind.name, p.Default, p.Doc)
		}
		values[p.Name] = value
	}
	for name := range given {
		if _, ok := values[name]; !ok {
			if len(names) == 0 {
				return nil, exit.Usagef("--param %s: %s has no parameters", name, question)
			}
			return nil, exit.Usagef("--param %s: %s has no such parameter; it has %s", name, question, strings.Join(names, ", "))
		}
	}
	return values, nil
}

// valueKind is what a parameter may hold.
type valueKind struct {
	name string
	fits func(string) bool
}

var valueKinds = []valueKind{
	{"a whole number from 0", func(s string) bool { _, err := strconv.ParseUint(s, 10, 31); return err == nil }},
	{"a number", regexp.MustCompile(`^-?[0-9]{1,12}(\.[0-9]{1,6})?$`).MatchString},
	{"a day", func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }},
	{"a text", func(string) bool { return true }},
}

// paramKind is told by the default.
func paramKind(value string) valueKind {
	return valueKinds[slices.IndexFunc(valueKinds, func(k valueKind) bool { return k.fits(value) })]
}

// query asks and writes the answer.
func (a *app) query(ctx context.Context, q question, f queryFlags) error {
	format, err := a.answerFormat(f)
	if err != nil {
		return err
	}
	dir, err := a.cfg.dataDir()
	if err != nil {
		return err
	}
	if err := checkOut(f.out, dir); err != nil {
		return err
	}
	result, err := load.Ask(ctx, dir, q.Question, a.loadOptions())
	if err != nil {
		return a.queryErr(err, dir, q.asks != "")
	}
	n := queryAnswer{result: result, question: q, terminal: f.out == "" && isTerminal(a.stdout), raw: f.raw}
	if f.out == "" {
		if n.terminal {
			n.width = terminalWidth(a.stdout)
		}
		err = quietPipe(n.write(ctx, a.stdout, format))
	} else {
		err = quietPipe(writeWhole(f.out, func(w io.Writer) error { return n.write(ctx, w, format) }))
	}
	return errors.Join(a.queryErr(err, dir, q.asks != ""), result.Close())
}

// queryErr says what is wrong with the question as a usage error, with the place
// in the SQL above the last line.
func (a *app) queryErr(err error, dir string, named bool) error {
	var q *load.QuestionError
	switch {
	case errors.Is(err, load.ErrEmpty):
		return exit.Usagef("%s holds nothing yet: run 'spendsync sync' first", dir)
	case errors.As(err, &q):
		if q.Excerpt != "" && !a.cfg.jsonLogs(a.stderr) {
			fmt.Fprintln(a.stderr, visibleLines(q.Excerpt))
		}
		message := phrase.OneLine(q.Message)
		if named && strings.HasPrefix(message, "Catalog Error") {
			message += " The warehouse was made by another version: 'spendsync rebuild' gives it this one's views"
		}
		return exit.Usagef("%s", visible(message))
	}
	return err
}

// quietPipe ends quietly when whoever reads the answer has read enough, such as
// head. Another trouble of writing is one of storage.
func quietPipe(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, syscall.EPIPE):
		return nil
	case errors.As(err, &path):
		return fmt.Errorf("%w: %w", err, load.ErrStorage)
	}
	return err
}

// ignoreBrokenPipe makes a write to a closed pipe an error: by default it ends
// the process with a signal.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }

// answerFormat is the format that the caller chose, or the one that fits.
func (a *app) answerFormat(f queryFlags) (string, error) {
	format := f.format
	if a.json {
		if format != "" && format != "json" {
			return "", exit.Usagef("--json and --format %s: which one counts?", format)
		}
		format = "json"
	}
	if format == "" {
		format = formatOf(f.out, isTerminal(a.stdout))
	}
	if !slices.Contains(answerFormats, format) {
		return "", exit.Usagef("--format %s: there are %s", format, strings.Join(answerFormats, ", "))
	}
	if format == "parquet" && f.out == "" && isTerminal(a.stdout) {
		return "", exit.Usagef("--format parquet is not for a terminal: give --out FILE")
	}
	if f.raw && format != "csv" {
		return "", exit.Usagef("--raw is about csv; --format %s leaves formulas as they are", format)
	}
	return format, nil
}

// formatOf is the format when nobody chose one.
func formatOf(out string, terminal bool) string {
	switch {
	case out == "" && terminal:
		return "table"
	case strings.HasSuffix(out, ".json"):
		return "json"
	case strings.HasSuffix(out, ".md"):
		return "markdown"
	case strings.HasSuffix(out, ".parquet"):
		return "parquet"
	}
	return "csv"
}

// terminalWidth is in columns; a terminal that does not say has 80.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, err := widthOf(f); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
