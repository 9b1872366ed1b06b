package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/nearest"
	"spendsync/cmd/internal/output"
	"spendsync/cmd/internal/wrap"
	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema"
)

// tablesCommand is "tables".
type tablesCommand struct {
	*terminal
	all bool
}

func newTablesCommand(t *terminal) *cobra.Command {
	c := &tablesCommand{terminal: t}
	cmd := &cobra.Command{
		Use: "tables [TABLE | VIEW | WORD]", Short: "List the tables; describe one with its columns; search by a word",
		Long: `Lists tables and views by subject. With names it describes those with their columns; with a word that is
no name it searches the names and descriptions of tables, views and columns. --all and --json describe
every table.
No store is needed: the views are those that this version publishes.`,
		Example: `  spendsync tables
  spendsync tables spend_daily
  spendsync tables mart.campaign_performance
  spendsync tables restated`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return documentedNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, text, err := c.tables(cmd.Context(), args)
			if err != nil {
				return err
			}
			if c.json {
				return output.JSON(c.stdout, answer)
			}
			return c.page(text)
		},
	}
	cmd.Flags().BoolVar(&c.all, "all", false, "without a name: describe every table with its columns")
	return cmd
}

// tables returns the answer for programs and the text for people.
func (c *tablesCommand) tables(ctx context.Context, args []string) (answer any, text string, err error) {
	width := output.TextWidth(c.stdout)
	if len(args) == 0 {
		docs := schema.Dictionary(schema.Documented())
		if !c.all {
			return docs, tableList(width), nil
		}
		return docs, wrapped(schema.DictionaryText(docs)+viewList(), width), nil
	}
	if c.all {
		return nil, "", exit.Usagef("--all is about every table: give it, or a name, not both")
	}
	docs, err := documented(ctx, args)
	if err != nil && len(args) == 1 {
		all, errAll := documented(ctx, documentedNames())
		if errAll != nil {
			return nil, "", errAll
		}
		if hits := search(args[0], all); len(hits) > 0 {
			return hits, searchText(args[0], hits, width), nil
		}
	}
	return docs, wrapped(schema.DictionaryText(docs), width), err
}

// labeled is the start of a line that names a value, up to the value.
var labeled = regexp.MustCompile(`^ *(?:\S+ ){0,4}\S+ {2,}`)

// wrapped breaks long lines of a text between words. A value continues below its start.
func wrapped(all string, width int) string {
	lines := strings.Split(all, "\n")
	for i, line := range lines {
		if text.StringWidthWithoutEscSequences(line) <= width {
			continue
		}
		label := labeled.FindString(line)
		if len(label) == 0 || len(label) > width/2 {
			label = line[:len(line)-len(strings.TrimLeft(line, " "))]
		}
		indent := strings.Repeat(" ", len(label))
		lines[i] = label + strings.TrimPrefix(wrap.Line(indent+line[len(label):], width, indent), indent)
	}
	return strings.Join(lines, "\n")
}

// documentedNames are what tables takes as a name, and what a shell offers.
func documentedNames() (names []string) {
	for _, t := range schema.Documented() {
		names = append(names, t.FullName())
	}
	for _, v := range defaultViews() {
		names = append(names, v.Schema+"."+v.Name)
	}
	return names
}

// defaultViews are the views that have columns of their own: macros get theirs with
// their parameters.
func defaultViews() []queries.Query {
	views, err := queries.Views(nil)
	if err != nil {
		panic(err) // the defaults are ours
	}
	return slices.DeleteFunc(views, func(v queries.Query) bool { return v.Parameters != "" })
}

// viewList names the views under the tables.
func viewList() string {
	var b strings.Builder
	b.WriteString("\nViews, whose columns 'spendsync tables VIEW' describes:\n\n")
	for _, v := range defaultViews() {
		fmt.Fprintf(&b, "  %-32s %s\n", v.Schema+"."+v.Name, v.Question)
	}
	return b.String()
}

// documented describes the named tables and views, each by its name with or without
// its schema.
func documented(ctx context.Context, names []string) (docs []schema.TableDoc, err error) {
	var columns map[string][]duck.Column
	for _, name := range names {
		tables := schema.Documented()
		if i := slices.IndexFunc(tables, func(t *schema.Table) bool {
			return t.Name == name || t.FullName() == name
		}); i >= 0 {
			docs = append(docs, schema.Dictionary(tables[i:i+1])...)
			continue
		}
		views := defaultViews()
		i := slices.IndexFunc(views, func(v queries.Query) bool {
			return v.Name == name || v.Schema+"."+v.Name == name
		})
		if i < 0 {
			return nil, exit.Usagef("there is no table or view %q%s; 'spendsync tables' lists them", name,
				nearest.DidYouMean(name, documentedNames()))
		}
		if columns == nil {
			if columns, err = duck.ColumnsOfViews(ctx, duck.Options{Views: viewsOf(views)}); err != nil {
				return nil, err
			}
		}
		docs = append(docs, viewDoc(viewsOf(views[i : i+1])[0], columns))
	}
	return docs, nil
}

// viewDoc is a view as the dictionary describes it.
func viewDoc(v duck.View, columns map[string][]duck.Column) schema.TableDoc {
	name := v.Schema + "." + v.Name
	d := schema.TableDoc{Name: name, Kind: schema.KindView, Doc: v.Doc}
	for _, c := range columns[name] {
		d.Columns = append(d.Columns, schema.ColumnDoc{Name: c.Name, Type: c.Type, Nullable: true,
			Doc: v.Columns[c.Name]})
	}
	return d
}
