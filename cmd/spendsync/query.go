package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/answer"
	"spendsync/load/duck"
)

// queryCommand is "query".
type queryCommand struct {
	*call

	sql     string
	params  []string
	format  string
	out     string
	raw     bool
	all     bool
	wide    bool
	rows    int64
	from    string
	timeout time.Duration
	width   int // width of a table outside a terminal, in columns; 0 means unlimited
}

// maxTableRows is the default number of rows on a terminal. More rows would scroll the first rows out of sight.
const maxTableRows = 100

func newQueryCommand(a *call) *cobra.Command {
	c := &queryCommand{call: a}
	cmd := &cobra.Command{
		Use: "query [NAME | -c SQL]", Short: "Ask the warehouse: a ready question, a view, or SQL of your own",
		Long: `Asks the published warehouse. Without a name it lists the ready questions; --all lists
every question, view and macro.

On a terminal the answer is a table that fits. A ready question names the columns that come first. Dollars have two
decimals, an account that is the same in all rows is left out, and so are columns that do not fit (--wide shows
them, in lines as long as they get), but never the verdict; at most 100 rows are shown (--rows).
Elsewhere it is CSV with every digit. An .xlsx file is a workbook with typed cells. The DuckDB file is opened read-only,
nothing else is reached, and one statement that reads is answered at a time. Answers in CSV and Parquet pass through
$TMPDIR whole, and so does any other that is larger than the memory limit: it needs the room, 1 GiB at most beside the
answer. CSV puts an apostrophe before texts that a spreadsheet would run as a formula; --raw leaves them as they are. In
CSV an empty cell is NULL and "" an empty text. Days are Chicago's; instants are Chicago's to the minute in a table on a
terminal, and UTC elsewhere.

Under every answer stands as of when it is, which day is open, which of the days asked for are missing or lost and, if
it has conversions, a CPA or an ROI, of how many days the conversions still arrive, and what share of them is to come.
Of the other formats this goes to stderr or, with --out FILE, to FILE.notes.txt.

SQL of your own, and a condition of your own, may take 2 GiB of memory (1 GiB beyond SPENDSYNC_DUCKDB_MEMORY, if that
is set) and the time of --timeout: beyond that it ends with exit 2.

With --account every question, view and SQL is answered from a DuckDB file that has the rows of that account only: a
store of several accounts publishes one for each.

--format ids and --format request make the answer of sources_to_block ready to paste: the IDs by campaign in lists of
50, the most that the service takes at once, or the calls with their bodies, an object a line. Nothing is sent.`,
		Example: `  spendsync query
  spendsync query last_week
  spendsync query spend_by_day --param days=14
  spendsync query mart.source_performance --out sources.parquet
  spendsync query which_campaigns_pay --out campaigns.xlsx
  spendsync query -c "SELECT report_date, sum(spend) FROM spend GROUP BY ALL"
  spendsync query --from s3://acme-spend/store last_week
  spendsync query --account acme last_week
  spendsync query sources_to_block --format request | jq -c .body
  spendsync query -c - --format json < question.sql | jq .[0]`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeNames(answer.Names),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), args, cmd.Flags().Changed("command"), cmd.InOrStdin())
		},
	}
	addFrom(cmd, &c.from)
	flags := cmd.Flags()
	flags.StringVarP(&c.sql, "command", "c", "", "SQL to answer; - reads it from stdin")
	flags.StringArrayVar(&c.params, "param", nil, "name=value: sets a parameter of the question; may be given "+
		"several times")
	// cannot fail: the flag exists
	_ = cmd.RegisterFlagCompletionFunc("param", completeParams)
	flags.StringVar(&c.format, "format", "", "table, csv, json, parquet or xlsx (default: table on a "+
		"terminal, else by the ending of --out, else csv); of sources_to_block also ids or request: its block lists, "+
		"ready to paste")
	// cannot fail: the flag exists
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(answer.FormatNames(),
		cobra.ShellCompDirectiveNoFileComp))
	flags.StringVar(&c.out, "out", "", "file to write the answer to; it appears when it is whole")
	flags.Int64Var(&c.rows, "rows", -1, "most rows of a table; 0 shows all (default: 100 on a terminal, else all)")
	// The usage text already names the default; without this, cobra would add "(default -1)"
	flags.Lookup("rows").DefValue = "0"
	flags.BoolVar(&c.all, "all", false, "without a name: list every question, view and macro, with its parameters")
	flags.BoolVar(&c.wide, "wide", false, "every column of a table, also those that do not fit beside the others")
	flags.DurationVar(&c.timeout, "timeout", 10*time.Minute, "the longest that SQL of your own may take")
	flags.BoolVar(&c.raw, "raw", false, "CSV without apostrophes before formulas")
	return cmd
}

func (c *queryCommand) run(ctx context.Context, args []string, hasSQL bool, stdin io.Reader) error {
	if err := c.setUp(ctx); err != nil {
		return err
	}
	switch {
	case len(args) == 0 && !hasSQL:
		if c.about() {
			return exit.Usagef("which question? Give a name or -c SQL; 'spendsync query' lists the names")
		}
		return c.listQuestions()
	case len(args) > 1 || (len(args) == 1 && hasSQL):
		return exit.Usagef("one NAME or -c SQL, not %q; SQL needs -c and quotes", strings.Join(args, " "))
	}
	format, err := c.answerFormat()
	if err == nil {
		err = c.fits(format)
	}
	if err != nil {
		return err
	}
	q, err := c.question(args, stdin, format)
	if err != nil {
		return err
	}
	q.Account, q.CaveatsAt = c.account, c.now()
	if err := c.pullFrom(ctx, c.bucketOf(c.from)); err != nil {
		return err
	}
	return c.query(ctx, q, format)
}

// completeParams completes the name of a parameter, if the command line names a question.
func completeParams(_ *cobra.Command, args []string, typed string) (names []cobra.Completion,
	_ cobra.ShellCompDirective) {
	for _, p := range answer.ParamsOf(strings.Join(args, " ")) {
		if name := p.Name + "="; strings.HasPrefix(name, typed) {
			names = append(names, cobra.CompletionWithDesc(name, p.Meaning))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// about reports whether the caller gave a flag that requires a question.
func (c *queryCommand) about() bool {
	return c.format != "" || c.out != "" || c.raw || c.wide || c.rows >= 0 || len(c.params) > 0 || c.from != ""
}

// beginsSQL lists words that begin SQL statements and are not names of questions.
var beginsSQL = []string{"SELECT", "WITH", "FROM", "DESCRIBE", "SHOW", "SUMMARIZE"}

// question returns the question whose name is the argument, or the SQL that -c gives.
func (c *queryCommand) question(args []string, stdin io.Reader, f answer.Format) (q answer.Question, err error) {
	name := strings.Join(args, "")
	word, _, _ := strings.Cut(name, " ")
	switch {
	case f.CallsOf != "" && f.CallsOf != name:
		return q, exit.Usagef("--format %s is for an answer that the service can be asked to follow: %s", f.Name,
			f.CallsOf)
	case len(args) == 0:
		return answer.FromSQL(c.sql, c.params, stdin)
	case word != name, slices.Contains(beginsSQL, strings.ToUpper(word)):
		return q, exit.Advise(exit.Usagef("%q is no name of a question", name),
			"SQL goes after -c: spendsync query -c %s", strconv.Quote(name))
	}
	return answer.Find(name, c.params)
}

// query answers a question and writes the answer.
func (c *queryCommand) query(ctx context.Context, q answer.Question, f answer.Format) error {
	dir := c.cfg.DataDir
	if err := cli.CheckFile("--out", c.out, dir); err != nil {
		return err
	}
	// If a parameter limits the rows, do not stream the answer: streamed rows are not counted, and the user must learn
	// how many rows were left out.
	q.Once = f.IsOnce && q.RowsParam == ""
	options := c.loadOptions().DuckDB
	if q.Written {
		options = c.questionOptions()
		within, cancel := c.within(ctx, c.timeout)
		defer cancel()
		ctx = within
	}
	result, err := duck.Ask(ctx, dir, q.Query, options)
	if err != nil {
		return c.queryErr(err, dir, q.Asks != "" && !q.Written)
	}
	n := c.rendering(result, q)
	if c.out == "" {
		err = n.Write(ctx, c.stdout, f.Name)
	} else {
		err = cli.WriteFile(c.out, func(w io.Writer) error { return n.Write(ctx, w, f.Name) })
	}
	if err = cli.QuietPipe(err); err == nil && f.Name != "table" {
		facts := duck.CaveatLines(result.Caveats)
		if none := n.Nothing(); none != "" {
			facts = []string{none}
		} else if left := n.NotAll(); left != "" {
			facts = append([]string{left + "."}, facts...)
		}
		err = c.writeFacts(facts)
	}
	return errors.Join(c.queryErr(err, dir, q.Asks != "" && !q.Written), result.Close())
}

// companion is the suffix of the notes file beside an answer's file. The notes state how recent and complete the answer
// is.
const companion = ".notes.txt"

// writeFacts writes the facts about an answer, for example missing days. It is used for formats that have no place for
// facts. With --out it writes them to the notes file, otherwise to stderr.
func (c *queryCommand) writeFacts(facts []string) error {
	if c.out == "" {
		for _, line := range facts {
			fmt.Fprintln(c.stderr, cli.Visible(line))
		}
		return nil
	}
	return cli.WriteFile(c.out+companion, func(w io.Writer) error {
		for _, line := range facts {
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
		return nil
	})
}

// queryErr turns a mistake in the user's SQL into a usage error, and keeps the faulty line to be printed below the
// error. If named is true, the SQL belongs to a ready question, and the user cannot correct it.
func (c *queryCommand) queryErr(err error, dir string, named bool) error {
	var q *duck.QueryError
	var other *duck.OtherVersionError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return exit.Advise(exit.Usagef("the question was stopped: it takes longer than %v", c.timeout),
			"ask for fewer days or rows; --timeout allows more")
	case errors.As(err, &other):
		return exit.Advise(exit.Usagef("%v", other), "%s", other.Advice())
	case !errors.As(err, &q):
		return warehouseErr(err, dir)
	}
	c.excerpt = cli.VisibleLines(q.Excerpt)
	message := cli.Visible(cli.OneLine(q.Message))
	about, isParam := strings.CutPrefix(message, "Invalid Input Error: --param ")
	switch {
	case q.NeedsMore:
		return exit.Advise(exit.Usagef("the question was stopped: %s", message),
			"ask for fewer days or rows; SPENDSYNC_DUCKDB_MEMORY allows more in memory")
	case isParam:
		return exit.Usagef("--param %s", about)
	case named: // a ready question failed: the user wrote no SQL to correct
		return fmt.Errorf("the ready question cannot be answered: %s", message)
	}
	return exit.Advise(exit.Usagef("%s", message),
		"correct the SQL; 'spendsync tables' names the tables, 'spendsync tables TABLE' their columns")
}

// rendering returns the answer with the width and colors of the output.
func (c *queryCommand) rendering(result *duck.Result, q answer.Question) answer.Rendering {
	n := answer.Rendering{Result: result, Question: q, Terminal: c.out == "" && cli.IsTerminal(c.stdout),
		Raw: c.raw, Wide: c.wide, MaxRows: max(0, c.rows), Width: c.width}
	if n.Color = n.Terminal; n.Terminal {
		if n.Width = cli.TerminalWidth(c.stdout); c.rows < 0 {
			n.MaxRows = maxTableRows
		}
	}
	return n
}

// answerFormat returns the format that --json or --format selects or, without these flags, a format that suits the
// output.
func (c *queryCommand) answerFormat() (answer.Format, error) {
	switch {
	case c.json && c.format != "" && c.format != "json":
		return answer.Format{}, exit.Usagef("--json and --format %s: which one counts?", c.format)
	case c.json:
		return answer.FindFormat("json")
	case c.format != "":
		return answer.FindFormat(c.format)
	case c.out == "" && cli.IsTerminal(c.stdout):
		return answer.FindFormat("table")
	}
	return answer.FormatOf(c.out)
}

// fits returns an error if a format cannot be combined with the output or with another flag.
func (c *queryCommand) fits(f answer.Format) error {
	switch isTable := f.Name == "table"; {
	case f.IsBinary && c.out == "" && cli.IsTerminal(c.stdout):
		return exit.Usagef("--format %s is not for a terminal: give --out FILE", f.Name)
	case c.rows >= 0 && !isTable:
		return exit.Usagef("--rows is about tables for a person; --format %s has every row: write LIMIT into the "+
			"SQL, or give the question its --param rows", f.Name)
	case c.wide && !isTable:
		return exit.Usagef("--wide is about tables for a person; --format %s has every column", f.Name)
	case c.raw && f.Name != "csv":
		return exit.Usagef("--raw is about csv; --format %s leaves formulas as they are", f.Name)
	}
	return nil
}

// listQuestions prints the named questions.
func (c *queryCommand) listQuestions() error {
	all := answer.List()
	return c.answer(all, all.Text(cli.TextWidth(c.stdout), c.all))
}
