package dictionary

import (
	"cmp"
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

// ViewsOf converts queries into the views that the store makes of them, with a description of each column.
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

// columnDocs returns the dictionary's text for each column name. The text comes from the first table that has the
// column.
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

// Names returns the names that the command tables accepts, and that a shell completes.
func Names() (names []string) {
	for name := range tableDocs() {
		names = append(names, name)
	}
	return slices.Sorted(slices.Values(names))
}

// Views returns the models and macros that the next sync publishes, schema by schema. A warehouse has other models only
// if another version of spendsync made it.
func Views() []queries.Query {
	views := queries.Views(nil)
	views = slices.DeleteFunc(views, func(v queries.Query) bool { return v.IsValue })
	slices.SortStableFunc(views, func(x, y queries.Query) int {
		return cmp.Or(-cmp.Compare(x.Schema, y.Schema), cmp.Compare(x.Name, y.Name))
	})
	return views
}

// MacroValues has an example value for each parameter of a macro. Macro parameters have no defaults.
var MacroValues = map[string]string{"instant": "2026-03-08 12:00:00+00", "day": "2026-03-08",
	"from_date": "2026-03-01", "to_date": "2026-03-08"}

// callOf returns SQL that calls a macro with example values.
func callOf(v duck.View) string {
	var values []string
	for name := range strings.SplitSeq(v.Parameters, ", ") {
		values = append(values, schema.QuoteText(MacroValues[name]))
	}
	return "FROM " + v.Schema + "." + v.Name + "(" + strings.Join(values, ", ") + ")"
}

// called adds to the views a view for each macro. This view calls the macro with example values, so that it has the
// columns of the macro.
func called(all []duck.View) []duck.View {
	for _, v := range slices.Clone(all) {
		if v.Parameters != "" && !v.IsValue {
			all = append(all, duck.View{Schema: v.Schema, Name: macroView + v.Name, SQL: callOf(v)})
		}
	}
	return all
}

// macroView is the prefix of the names of the views that [called] adds.
const macroView = "macro_"

// ViewDocs describes the views and macros without their columns. Working tables are left out.
func ViewDocs() (docs []schema.TableDoc) {
	for _, v := range ViewsOf(Views()) {
		if v.Schema != "int" {
			docs = append(docs, viewDoc(v, nil))
		}
	}
	return docs
}

// Describe describes the named tables, views and macros, each by its name with or without
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
		views := Views()
		i := slices.IndexFunc(views, func(v queries.Query) bool {
			return v.Name == name || v.Schema+"."+v.Name == name
		})
		if i < 0 {
			return nil, exit.Usagef("there is no table, view or macro %q%s; 'spendsync tables' lists them", name,
				cli.DidYouMean(name, Names()))
		}
		if columns == nil {
			all := queries.Views(nil)
			if columns, err = duck.ColumnsOfViews(ctx, duck.Options{Views: called(ViewsOf(all))}); err != nil {
				return nil, err
			}
		}
		docs = append(docs, viewDoc(ViewsOf(views[i : i+1])[0], columns))
	}
	return docs, nil
}

// viewDoc returns the dictionary's description of a view or a macro.
func viewDoc(v duck.View, columns map[string][]duck.Column) schema.TableDoc {
	name := v.Schema + "." + v.Name
	d, view := schema.TableDoc{Name: name, Kind: schema.KindView, Doc: v.Doc}, name
	if v.Parameters != "" {
		d.Kind, view = schema.KindMacro, v.Schema+"."+macroView+v.Name
		d.Doc += fmt.Sprintf(" It is a macro of %s; call it like this: %s.", v.Parameters, callOf(v))
	}
	for _, c := range columns[view] {
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
