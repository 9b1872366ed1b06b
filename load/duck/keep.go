package duck

import (
	"context"
	"fmt"
	"slices"

	"spendsync/schema"
)

// Keep answers the kept views of schema mart once and holds their rows in memory: the questions
// that follow, and the asked views, find them answered. The views are those of the file, with
// the same SQL. A view that is in neither list, and that none of them asks, can't be asked any more.
func (s *Session) Keep(ctx context.Context, views []View, asked, kept []string) error {
	k := &keeping{views, asked, kept}
	if err := s.retried(ctx, func() error { return s.keep(ctx, k) }); err != nil {
		return err
	}
	s.kept = k
	return nil
}

// keeping is what a session keeps.
type keeping struct {
	views       []View
	asked, kept []string
}

// keep makes the views once more in the engine's own memory, over views of the file's tables,
// for a view finds what it asks in its own database only; of the kept ones it makes tables.
func (s *Session) keep(ctx context.Context, k *keeping) error {
	tables, err := s.query(ctx, "SELECT t.schema_name, t.table_name FROM duckdb_tables() AS t WHERE "+
		"t.database_name = 'w'")
	if err != nil {
		return err
	}
	statements := []string{"CREATE SCHEMA memory.mart", "CREATE SCHEMA memory.ops"}
	for _, r := range tables.Rows {
		name := schema.Quote(r[0].V) + "." + schema.Quote(r[1].V)
		statements = append(statements, fmt.Sprintf("CREATE VIEW memory.%[1]s AS FROM w.%[1]s", name))
	}
	statements = append(statements, "USE memory")
	for _, v := range k.needed() {
		kind := "VIEW"
		if v.Schema == "mart" && slices.Contains(k.kept, v.Name) {
			kind = "TABLE"
		}
		statements = append(statements, fmt.Sprintf("CREATE %s %s.%s AS %s", kind, schema.Quote(v.Schema),
			schema.Quote(v.Name), v.SQL))
	}
	return execAll(ctx, s.conn, statements)
}

// needed are the views that are asked or kept, each after those that it asks.
func (k *keeping) needed() (list []View) {
	left := map[string]View{}
	for _, v := range k.views {
		if v.Parameters == "" {
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
