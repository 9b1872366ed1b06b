package dictionary

import (
	"cmp"
	"context"
	"maps"
	"slices"

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
	for name := range tableDocs() {
		names = append(names, name)
	}
	return slices.Sorted(slices.Values(names))
}

// Views are the models and macros that the next sync publishes, schema by schema; those of the warehouse differ only if
// another version made it.
func Views() []queries.Query {
	views, err := queries.Views(nil)
	if err != nil {
		panic(err) // the defaults are ours
	}
	views = slices.DeleteFunc(views, func(v queries.Query) bool { return v.IsValue })
	slices.SortStableFunc(views, func(x, y queries.Query) int {
		return cmp.Or(-cmp.Compare(x.Schema, y.Schema), cmp.Compare(x.Name, y.Name))
	})
	return views
}

// described are the views that have columns of their own: macros get theirs with their parameters.
func described() []queries.Query {
	return slices.DeleteFunc(Views(), func(v queries.Query) bool { return v.Parameters != "" })
}

// ViewDocs describe the views, but for working tables, without their columns.
func ViewDocs() (docs []schema.TableDoc) {
	for _, v := range ViewsOf(described()) {
		if v.Schema != "int" {
			docs = append(docs, viewDoc(v, nil))
		}
	}
	return docs
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
		views := described()
		i := slices.IndexFunc(views, func(v queries.Query) bool {
			return v.Name == name || v.Schema+"."+v.Name == name
		})
		if i < 0 {
			return nil, exit.Usagef("there is no table or view %q%s; 'spendsync tables' lists them", name,
				cli.DidYouMean(name, Names()))
		}
		if columns == nil {
			all, err := queries.Views(nil)
			if err != nil {
				return nil, err
			}
			if columns, err = duck.ColumnsOfViews(ctx, duck.Options{Views: ViewsOf(all)}); err != nil {
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
	return append(all, ViewDocs()...), nil
}
