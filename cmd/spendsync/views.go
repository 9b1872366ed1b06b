package main

import (
	"maps"

	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema"
)

// viewsOf are questions as the store makes them, with what each column means.
func viewsOf(asked []queries.Query) []duck.View {
	docs := columnDocs()
	var all []duck.View
	for _, q := range asked {
		columns := maps.Clone(docs)
		maps.Copy(columns, q.Columns)
		all = append(all, duck.View{
			Schema: q.Schema, Name: q.Name, SQL: q.SQL, Doc: q.Question + " Trap: " + q.Trap, Columns: columns,
			Parameters: q.Parameters, Stored: q.Stored, ByDay: q.ByDay, Key: q.Key,
			WholeDays: q.WholeDays,
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
