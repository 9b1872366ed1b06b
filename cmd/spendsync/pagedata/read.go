package pagedata

import (
	"context"
	"errors"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/page"
	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/queries"
)

// questions are the ready questions whose results become tables of the schema page. The map has the value of a
// question's parameter "rows", for questions whose default does not suit the page.
var (
	questions = []string{"which_campaigns_pay", "last_week", "yesterday", "month"}
	rows      = map[string]string{"last_week": "100000", "yesterday": "0"}
)

// Read reads the data of the report page from one generation. The parameter account selects an account; "" selects all.
func Read(ctx context.Context, dir, account string, o load.Options) (r page.Page, err error) {
	m, err := manifest.Read(dir)
	if err != nil {
		return r, err
	}
	s, err := duck.OpenSession(ctx, dir, o.DuckDB)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var other *duck.OtherVersionError
	if err := s.CheckModels(ctx, o.DuckDB); errors.As(err, &other) {
		return r, exit.Advise(exit.Usagef("%s: %v", dir, other), "%s", other.Advice())
	} else if err != nil {
		return r, err
	}
	accounts, err := s.Accounts(ctx, account)
	if err != nil {
		return r, err
	}
	r = page.Page{Version: o.Version, Schema: m.SchemaVersion}
	for _, name := range accounts {
		a, err := ReadAccount(ctx, s, name)
		if err != nil {
			return r, err
		}
		r.Accounts = append(r.Accounts, a)
	}
	return r, nil
}

// ReadAccount reads the data of one account's sections, after it has run the ready questions that the sections use.
func ReadAccount(ctx context.Context, s *duck.Session, name string) (a page.Account, err error) {
	if err := prepare(ctx, s, name); err != nil {
		return a, err
	}
	a.Name = name
	if a.Head, err = table(ctx, s, read("head")); err != nil {
		return a, err
	}
	for _, sec := range sections() {
		for i := range sec.Blocks {
			b, err := table(ctx, s, sec.sql[i])
			if err != nil {
				return a, err
			}
			sec.Blocks[i].Columns, sec.Blocks[i].Rows = b.Columns, b.Rows
		}
		a.Sections = append(a.Sections, sec.Section)
	}
	return a, nil
}

// prepare runs the ready questions for an account, and creates the tables and macros that the sections read.
func prepare(ctx context.Context, s *duck.Session, account string) error {
	if err := s.Choose(ctx, account); err != nil {
		return err
	}
	statements := []string{"CREATE SCHEMA page"}
	for _, name := range questions {
		q, err := queries.Find(name)
		if err != nil {
			return err
		}
		statements = append(statements, "CREATE TABLE page."+name+" AS "+q.With(map[string]string{"rows": rows[name]}))
	}
	for _, statement := range strings.SplitAfter(read("prepare"), ";\n") {
		if strings.TrimSpace(statement) != "" {
			statements = append(statements, statement)
		}
	}
	return s.Define(ctx, statements...)
}

func table(ctx context.Context, s *duck.Session, sql string) (b page.Block, err error) {
	t, err := s.Query(ctx, sql)
	return page.Block{Columns: t.Columns, Rows: t.Rows}, err
}
