package duck

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"spendsync/schema"
)

// ModelPartition names a partition of a model. The rows of a partition are made together: the rows of an account, or of
// an account and a month if the model is made by months. A model that reads nothing has one partition without an
// account.
type ModelPartition struct{ Model, Account, Month string }

// Made is a row of int.made: a hash of the inputs of a partition, and a hash of the partition's rows.
type Made struct {
	Inputs  string // hash of the model's text and of everything that it reads
	Content string // hash of the partition's rows, as DuckDB computes it
}

// madeTable creates int.made, with a row for each partition of the models and for each Parquet file that copies a
// model.
const madeTable = `CREATE TABLE int.made (
  model VARCHAR, account_id VARCHAR, month VARCHAR, inputs VARCHAR, content VARCHAR);
COMMENT ON TABLE int.made IS 'What each part of a model was made from: it is made again only if that differs.';
COMMENT ON COLUMN int.made.model IS 'Name of the model, or of the Parquet table that copies one.';
COMMENT ON COLUMN int.made.account_id IS 'Whose rows they are; empty: of no account.';
COMMENT ON COLUMN int.made.month IS
  'First day of the month of rows made by months; created: the table is there; else empty.';
COMMENT ON COLUMN int.made.inputs IS 'Hash of its text and of all that it reads.';
COMMENT ON COLUMN int.made.content IS 'Hash of its rows.'`

// Models are the views, macros and computed tables in a DuckDB file.
type Models struct{ w *Warehouse }

// Models returns the models of the file.
func (w *Warehouse) Models() Models { return Models{w} }

// Made returns the rows of int.made.
func (ms Models) Made(ctx context.Context) (map[ModelPartition]Made, error) {
	made := map[ModelPartition]Made{}
	var p ModelPartition
	var m Made
	err := scanRows(ctx, ms.w.conn, "SELECT model, account_id, month, inputs, content FROM int.made", func() error {
		made[p] = m
		return nil
	}, &p.Model, &p.Account, &p.Month, &m.Inputs, &m.Content)
	if err != nil {
		return nil, unread(err, "int.made cannot be read")
	}
	return made, nil
}

// SetMade writes rows to int.made. A new row replaces the stored row of the same partition.
func (ms Models) SetMade(ctx context.Context, made map[ModelPartition]Made) error {
	if len(made) == 0 {
		return nil
	}
	var rows, keys []string
	for p, m := range made {
		key := schema.QuoteText(p.Model) + ", " + schema.QuoteText(p.Account) + ", " + schema.QuoteText(p.Month)
		keys = append(keys, "("+key+")")
		rows = append(rows, "("+key+", "+schema.QuoteText(m.Inputs)+", "+schema.QuoteText(m.Content)+")")
	}
	return ms.replace(ctx, []string{
		"DELETE FROM int.made WHERE (model, account_id, month) IN (" + strings.Join(keys, ", ") + ")",
		"INSERT INTO int.made VALUES " + strings.Join(rows, ", ")})
}

// Full returns the model's name with its schema.
func (v View) Full() string { return v.Schema + "." + v.Name }

// Make creates a view, a macro or a table with all its rows. The table of a model that is made by months is created
// empty. After an error the model may exist without its comment; the next attempt replaces it.
func (ms Models) Make(ctx context.Context, v View) error {
	return ms.w.WithMemory(ctx, func() error { return execAll(ctx, ms.w.conn, v.createSQL()) })
}

// replace runs statements in one transaction. If DuckDB runs out of memory, replace runs them again with more memory.
func (ms Models) replace(ctx context.Context, statements []string) error {
	if len(statements) == 0 {
		return nil
	}
	return ms.w.WithMemory(ctx, func() error { return execTogether(ctx, ms.w.conn, statements) })
}

// MakeRows replaces those rows of a model that meet an SQL condition. If the condition is empty, it replaces all rows.
func (ms Models) MakeRows(ctx context.Context, v View, where string) error {
	remove, insert := "DELETE FROM "+v.Full(), "INSERT INTO "+v.Full()+" BY NAME "+v.SQL
	if where != "" {
		sql := v.SQL
		if v.ByMonth {
			// DuckDB does not push the condition down to every use of the table.
			sql = strings.ReplaceAll(sql, "main.spend_daily", "(FROM main.spend_daily WHERE "+where+")")
		}
		remove += " WHERE " + where
		insert = "INSERT INTO " + v.Full() + " BY NAME FROM (\n" + sql + "\n) WHERE " + where
	}
	return ms.replace(ctx, []string{remove, insert})
}

// Contents returns a hash of the rows of each group in a table. In the parameters, key is an SQL expression for the
// text that identifies a row's group.
func (w *Warehouse) Contents(ctx context.Context, table, columns, key, where string) (map[string]string, error) {
	q := fmt.Sprintf("SELECT %s, sum(hash(%s)::HUGEINT)::VARCHAR || ' ' || count(*) FROM %s AS t WHERE %s GROUP BY 1",
		key, columns, table, where)
	contents := map[string]string{}
	var k, content string
	err := w.WithMemory(ctx, func() error {
		return scanRows(ctx, w.conn, q, func() error { contents[k] = content; return nil }, &k, &content)
	})
	if err != nil {
		return nil, duckErr(q, err)
	}
	return contents, nil
}

// modelsPart is the key of the one row of int.made that is not about a partition: it has a hash of all models.
var modelsPart = ModelPartition{Model: "models"}

// AddModels adds the row that identifies the set of models.
func (o Options) AddModels(made map[ModelPartition]Made) {
	made[modelsPart] = Made{Inputs: o.modelsHash()}
}

// modelsHash returns a hash of the texts of all models. It leaves out the models that read nothing. Their texts contain
// thresholds, which a reader may set differently than the publisher.
func (o Options) modelsHash() string {
	h := sha256.New()
	for _, v := range o.Views {
		if len(v.Reads) > 0 || v.Parameters != "" {
			fmt.Fprintln(h, v.Full(), v.Parameters, v.IsTable, v.SQL)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// OtherVersionError means that another version of spendsync has made the models of a warehouse, so this version's ready
// questions do not fit.
type OtherVersionError struct{ Version string }

func (e *OtherVersionError) Error() string {
	return fmt.Sprintf("the warehouse was published by another version of spendsync (%s), and this version's "+
		"questions do not fit its tables", cmp.Or(e.Version, "unknown"))
}

// Advice returns what a person can do about the error.
func (e *OtherVersionError) Advice() string {
	return "the next 'spendsync sync' of this version, or 'spendsync repair rebuild', makes the tables anew; to only " +
		"read the store, ask with the version that publishes it, or in SQL of the tables that are there: " +
		"spendsync query -c SQL"
}

// CheckModels returns an [*OtherVersionError] if the file's models differ from the models in the options. Options
// without models, as in tests, fit every file.
func (s *Session) CheckModels(ctx context.Context, o Options) error {
	if len(o.Views) == 0 {
		return nil
	}
	made, err := s.Query(ctx, "SELECT m.inputs FROM int.made AS m WHERE m.model = "+
		schema.QuoteText(modelsPart.Model))
	if err != nil && !IsUnknownName(err) {
		return err
	}
	if err == nil && len(made.Rows) == 1 && made.Rows[0][0].V == o.modelsHash() {
		return nil
	}
	mismatch := &OtherVersionError{}
	run, err := s.Query(ctx, "SELECT arg_max(r.version, r._run_id) FROM ops.run AS r")
	if err == nil && len(run.Rows) == 1 {
		mismatch.Version = run.Rows[0][0].V
	}
	return mismatch
}
