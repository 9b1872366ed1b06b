package duck

import (
	"fmt"
	"regexp"
	"slices"

	"spendsync/schema"
)

// keeping describes which views a session keeps in memory, and whose rows: the account's.
type keeping struct {
	views       []View
	asked, kept []string
	account     string
}

// statements returns the SQL that creates the views again in the engine's own memory, and
// the kept views as tables. A view finds only tables of its own database, so each table of
// the file, given by schema, name, and whether it has accounts, gets a view there too.
func (k *keeping) statements(tables [][]schema.Null[string]) []string {
	statements := []string{"USE w", "DROP SCHEMA IF EXISTS memory.mart CASCADE", "CREATE SCHEMA memory.mart",
		"CREATE SCHEMA IF NOT EXISTS memory.ops"}
	for _, r := range tables {
		name := schema.Quote(r[0].V) + "." + schema.Quote(r[1].V)
		statement := fmt.Sprintf("CREATE OR REPLACE VIEW memory.%[1]s AS FROM w.%[1]s", name)
		if r[2].V == "true" {
			statement += " WHERE account_id = " + schema.QuoteText(k.account)
		}
		statements = append(statements, statement)
	}
	statements = append(statements, "USE memory")
	for _, v := range k.needed() {
		kind := "VIEW"
		if v.Schema == "mart" && slices.Contains(k.kept, v.Name) {
			kind = "TABLE"
		}
		statements = append(statements, fmt.Sprintf("CREATE OR REPLACE %s %s.%s AS %s", kind, schema.Quote(v.Schema),
			schema.Quote(v.Name), v.SQL))
	}
	return statements
}

// needed returns the asked and kept views, each after the views that it uses.
func (k *keeping) needed() (list []View) {
	left := map[string]View{}
	for _, v := range k.views {
		if v.Parameters == "" && !v.Stored {
			left[v.Schema+"."+v.Name] = v
		}
	}
	var visit func(name string)
	visit = func(name string) {
		v, is := left[name]
		if !is {
			return
		}
		delete(left, name)
		for _, asked := range namedBy.FindAllString(v.SQL, -1) {
			visit(asked)
		}
		list = append(list, v)
	}
	for _, name := range slices.Concat(k.asked, k.kept) {
		visit("mart." + name)
	}
	return list
}

// namedBy matches the tables and views that a view names.
var namedBy = regexp.MustCompile(`\b(?:main|mart|ops)\.[a-z_0-9]+`)
