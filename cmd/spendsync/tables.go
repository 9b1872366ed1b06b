package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/nearest"
	"spendsync/cmd/internal/output"
	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema"
)

func newTablesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "tables [TABLE | VIEW]", Short: "Print the data dictionary: every table and column, with its meaning",
		Long: "Prints what every table and its columns mean. With names it prints those of the named tables and " +
			"views alone.\nNo store is needed: the views are those that this version publishes.",
		Example: "  spendsync tables\n  spendsync tables spend_daily\n  spendsync tables mart.campaign_performance",
		Args:    cobra.ArbitraryArgs,

		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return documentedNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			docs := schema.Dictionary(schema.Documented())
			if len(args) > 0 {
				var err error
				if docs, err = documented(cmd.Context(), args); err != nil {
					return err
				}
			}
			if a.json {
				return output.JSON(a.stdout, docs)
			}
			text := schema.DictionaryText(docs)
			if len(args) == 0 {
				text += viewList()
			}
			output.IgnoreBrokenPipe()
			return output.QuietPipe(output.Paged(a.stdout, a.environ, func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			}))
		},
	}
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
