package dictionary

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema"
)

// ViewsOf are questions as the store makes them, with what each column means.
func ViewsOf(asked []queries.Query) []duck.View {
	docs := columnDocs()
	var all []duck.View
	for _, q := range asked {
		columns := maps.Clone(docs)
		maps.Copy(columns, q.Columns)
		all = append(all, duck.View{
			Schema: q.Schema, Name: q.Name, SQL: q.SQL, Doc: q.Question + " Trap: " + q.Trap, Columns: columns,
			Parameters: q.Parameters, IsValue: q.IsValue, IsTable: q.IsTable, ByMonth: q.ByMonth, Reads: q.Reads(),
		})
	}
	return all
}

// columnDocs returns the dictionary's text for each column name; the first table with the column
// supplies it.
func columnDocs() map[string]string {
	docs := map[string]string{}
	for _, t := range schema.Tables {
		for _, c := range t.Columns {
			if docs[c.Name] == "" {
				docs[c.Name] = c.Doc
			}
		}
	}
	return docs
}

// Names are what tables takes as a name, and what a shell offers.
func Names() (names []string) {
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
	return slices.DeleteFunc(everyView(), func(v queries.Query) bool { return v.Parameters != "" })
}

// everyView are all models and macros, with the default thresholds.
func everyView() []queries.Query {
	views, err := queries.Views(nil)
	if err != nil {
		panic(err) // the defaults are ours
	}
	return views
}

// ViewList names the views under the tables.
func ViewList() string {
	var b strings.Builder
	b.WriteString("\nViews, whose columns 'spendsync tables VIEW' describes:\n\n")
	for _, v := range defaultViews() {
		if v.Schema == "int" {
			continue
		}
		fmt.Fprintf(&b, "  %-32s %s\n", v.Schema+"."+v.Name, v.Question)
	}
	return b.String()
}

// Describe describes the named tables and views, each by its name with or without
// its schema.
func Describe(ctx context.Context, names []string) (docs []schema.TableDoc, err error) {
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
				cli.DidYouMean(name, Names()))
		}
		if columns == nil {
			if columns, err = duck.ColumnsOfViews(ctx, duck.Options{Views: ViewsOf(everyView())}); err != nil {
				return nil, err
			}
		}
		docs = append(docs, viewDoc(ViewsOf(views[i : i+1])[0], columns))
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

// DescribeAll describes the named tables and views, or all of them without their columns.
func DescribeAll(ctx context.Context, names []string) ([]schema.TableDoc, error) {
	if len(names) > 0 {
		return Describe(ctx, names)
	}
	all := schema.Dictionary(schema.Documented())
	for i := range all {
		all[i].Columns = nil
	}
	for _, v := range ViewsOf(defaultViews()) {
		if v.Schema != "int" {
			all = append(all, viewDoc(v, nil))
		}
	}
	return all, nil
}
