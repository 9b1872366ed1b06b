package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// models makes the models of the DuckDB file, and the Parquet files that copy some of them.
//
// One rule decides. A partition is the rows of a model for an account, or for an account and a month. A partition is
// made again if, and only if, the hash of its inputs differs from the hash in int.made. The inputs are the text of the
// model and the state of everything that the model reads: for a stored table the hashes of the table's files, for
// another model the hash of that model's rows. So if a partition is made again with equal rows, the models that read
// the partition are not made again. Of the coverage, only the columns that the model's text names are inputs, because
// every run changes the times of the last reads. The runs and steps of the ledger are not inputs: every run adds some,
// and those of the present run are stored after the models are made. So a model that reads steps does not see the
// present run's steps, and takes the last read of a day from the coverage.
type models struct {
	*warehouse
	views  map[string]duck.View
	made   map[duck.ModelPartition]duck.Made
	fresh  map[duck.ModelPartition]duck.Made
	failed map[string]bool // models that failed, and models that read a failed one

	days map[string][]map[string]json.RawMessage // coverage of each account: a list of rows, each a map by column
}

// makeModels makes the models whose inputs have changed. Each of the viewErrors names a model that failed. The rows of
// a failed model, and of the models that read it, are not changed.
func (n *warehouse) makeModels(ctx context.Context) (viewErrors []error, err error) {
	if n.newViews && !n.fromNothing {
		if err := n.w.Models().Drop(ctx); err != nil {
			return nil, err
		}
	}
	m := models{warehouse: n, views: map[string]duck.View{}, fresh: map[duck.ModelPartition]duck.Made{},
		failed: map[string]bool{}, days: map[string][]map[string]json.RawMessage{}}
	if m.made, err = n.w.Models().Made(ctx); err != nil {
		return nil, err
	}
	n.next.Views = n.store.opts.DuckDB.ViewsDefinition()
	for _, v := range n.store.opts.DuckDB.Views {
		m.views[v.Full()] = v
		if slices.ContainsFunc(v.Reads, func(name string) bool { return m.failed[name] }) {
			m.fail(v)
			continue
		}
		if err := m.make(ctx, v); isFatal(ctx, err) {
			return nil, err
		} else if err != nil {
			m.fail(v)
			viewErrors = append(viewErrors, fmt.Errorf("%s could not be made: %w", v.Full(), err))
		}
	}
	more, err := m.copyMarts(ctx)
	if err != nil {
		return nil, err
	}
	if n.newViews || n.fromNothing {
		if err := n.w.Models().CommentColumns(ctx, n.store.opts.DuckDB.Views); err != nil {
			return nil, err
		}
		n.store.opts.DuckDB.AddModels(m.fresh)
	}
	return append(viewErrors, more...), n.w.Models().SetMade(ctx, m.fresh)
}

// isFatal reports whether an error stops the publication. An error in a model's SQL does not.
func isFatal(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, durable.ErrStorage) || duck.IsOutOfMemory(err))
}

// fail marks a model as failed, so that its rows are not changed. If the model is a view, the file may lack the view,
// so the next run makes all models again.
func (m *models) fail(v duck.View) {
	m.failed[v.Full()] = true
	if !v.IsTable {
		m.next.Views = ""
	}
}

// make makes a model if necessary. It creates a view only if the file lacks the current views. For a table, it computes
// only the partitions with changed inputs.
func (m *models) make(ctx context.Context, v duck.View) error {
	if !v.IsTable {
		if m.newViews || m.fromNothing {
			return m.w.Models().Make(ctx, v)
		}
		return nil
	}
	created := duck.ModelPartition{Model: v.Full(), Month: "created"}
	if _, ok := m.made[created]; !ok {
		if err := m.w.Models().Make(ctx, v); err != nil {
			return err
		}
		m.fresh[created] = duck.Made{Inputs: durable.HashBytes([]byte(v.SQL))}
		if !v.ByMonth {
			return m.record(ctx, v)
		}
	}
	for _, p := range m.partitions(v) {
		inputs := m.inputs(v, p.account, p.month)
		if m.made[p.name].Inputs == inputs {
			continue
		}
		where := p.where
		if !v.ByMonth && len(m.next.AccountNames()) == 1 {
			where = "" // all rows belong to the only account
		}
		if err := m.w.Models().MakeRows(ctx, v, where); err != nil {
			return err
		}
		contents, err := m.w.Contents(ctx, v.Full(), "t", "''", p.where)
		if err != nil {
			return err
		}
		m.fresh[p.name] = duck.Made{Inputs: inputs, Content: contents[""]}
	}
	return nil
}

// record adds to m.fresh the hashes of each partition of a table that was just created with all its rows.
func (m *models) record(ctx context.Context, v duck.View) error {
	key := "account_id"
	if len(v.Reads) == 0 {
		key = "''"
	}
	contents, err := m.w.Contents(ctx, v.Full(), "t", key, "true")
	for _, p := range m.partitions(v) {
		m.fresh[p.name] = duck.Made{Inputs: m.inputs(v, p.account, p.month), Content: contents[p.account]}
	}
	return err
}

// modelPartition is a partition of a model, with the condition on its rows.
type modelPartition struct {
	name    duck.ModelPartition
	account string
	month   schema.Date // 0 for all months
	where   string
}

// partitions returns the partitions of a model: one for each account, or one for each account and month. A model that
// reads nothing has a single partition.
func (m *models) partitions(v duck.View) (partitions []modelPartition) {
	if len(v.Reads) == 0 {
		return []modelPartition{{name: duck.ModelPartition{Model: v.Full()}, where: "true"}}
	}
	for _, account := range m.accounts() {
		where := "account_id = " + schema.QuoteText(account)
		if !v.ByMonth {
			name := duck.ModelPartition{Model: v.Full(), Account: account}
			partitions = append(partitions, modelPartition{name, account, 0, where})
			continue
		}
		months := map[schema.Date]bool{}
		for d := range m.next.Accounts[account].Days {
			months[d.Month()] = true
		}
		for _, month := range slices.Sorted(maps.Keys(months)) {
			name := duck.ModelPartition{Model: v.Full(), Account: account, Month: month.String()}
			partitions = append(partitions, modelPartition{name, account, month, where +
				fmt.Sprintf(" AND report_date BETWEEN DATE '%s' AND DATE '%s'", month, (month+31).Month()-1)})
		}
	}
	return partitions
}

// inputs returns the hash of the inputs of a partition. The last argument is 0 unless the model is made by months.
func (m *models) inputs(v duck.View, account string, month schema.Date) string {
	h := sha256.New()
	fmt.Fprintln(h, v.SQL)
	for _, name := range v.Reads {
		fmt.Fprintln(h, name)
		m.addInput(h, v, name, account, month)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// addCoverage adds columns of an account's coverage to the hash, but only columns whose names occur in a model's text.
func (m *models) addCoverage(h hash.Hash, text, account string) {
	if _, ok := m.days[account]; !ok {
		var rows []map[string]json.RawMessage
		b, _ := json.Marshal(m.next.Coverage(account)) // the rows have plain values, so neither call can fail
		_ = json.Unmarshal(b, &rows)
		m.days[account] = rows
	}
	for _, c := range schema.Coverage.Columns {
		if strings.Contains(text, c.Name) {
			for _, row := range m.days[account] {
				fmt.Fprintf(h, "%s ", row[c.Name])
			}
		}
	}
}

// addInput adds the state of the table or model called name to the hash.
func (m *models) addInput(h hash.Hash, reader duck.View, name, account string, month schema.Date) {
	v, isModel := m.views[name]
	switch {
	case name == schema.Coverage.FullName():
		m.addCoverage(h, reader.SQL, account)
	case name == schema.CampaignSpends.FullName():
		m.addFiles(h, schema.SpendDaily.Name, account, month)
	case isModel && v.IsTable:
		for _, owner := range []string{"", account} {
			fmt.Fprintln(h, m.content(duck.ModelPartition{Model: name, Account: owner}))
		}
		// The loop finds no hash of a monthly partition. Such a partition is computed from the files of days.
		if v.ByMonth {
			m.addFiles(h, schema.SpendDaily.Name, account, month)
		}
	case isModel:
		fmt.Fprintln(h, m.inputs(v, account, month))
	default:
		m.addFiles(h, strings.TrimPrefix(name, "main."), account, month)
	}
}

// content returns the hash of the present rows of a partition.
func (m *models) content(p duck.ModelPartition) string {
	if made, ok := m.fresh[p]; ok {
		return made.Content
	}
	return m.made[p].Content
}

// addFiles adds the hashes of a table's files to the hash.
func (m *models) addFiles(h hash.Hash, table, account string, month schema.Date) {
	files := m.next.Accounts[account].Files
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f := files[path]
		if f.Table == table && (month == 0 || table != schema.SpendDaily.Name || f.Day.Month() == month) {
			fmt.Fprintln(h, f.SHA256, f.Rows)
		}
	}
}

// copyMarts writes a Parquet file for each mart, account and month with changed rows.
func (m *models) copyMarts(ctx context.Context) (viewErrors []error, err error) {
	for _, mart := range schema.Marts {
		v, ok := m.views["mart."+mart.View]
		if !ok || m.failed[v.Full()] {
			continue
		}
		for _, account := range m.accounts() {
			err := m.copyMart(ctx, mart, account)
			if isFatal(ctx, err) {
				return nil, err
			}
			if err != nil {
				viewErrors = append(viewErrors, fmt.Errorf("%s of account %s is as it was before: %w", mart.FullName(),
					account, err))
			}
		}
	}
	return viewErrors, nil
}

// copyMart writes the changed files of a mart for one account.
func (m *models) copyMart(ctx context.Context, mart *schema.Table, account string) error {
	contents := map[schema.Date]string{0: m.content(duck.ModelPartition{Model: "mart." + mart.View, Account: account})}
	if mart.Partition == schema.ByMonth {
		var err error
		if contents, err = m.monthsOf(ctx, mart, account); err != nil {
			return err
		}
	}
	for _, month := range slices.Sorted(maps.Keys(contents)) {
		p := duck.ModelPartition{Model: mart.FullName(), Account: account, Month: month.String()}
		inputs := durable.HashBytes(fmt.Append(nil, mart.FilesVersion(), " ", contents[month]))
		path := manifest.TablePath(mart, account, month)
		if m.next.Accounts[account].Files[path] != nil && m.made[p].Inputs == inputs {
			continue
		}
		rows, err := m.w.Models().WriteMart(ctx, mart, account, month, m.area.path(path))
		if err != nil {
			return err
		}
		if err := m.addMart(mart, account, month, rows); err != nil {
			return err
		}
		m.fresh[p] = duck.Made{Inputs: inputs}
	}
	return nil
}

// monthsOf returns the hash of a mart's rows for each month. A month that has a file but no rows any more has an empty
// hash, so that its file is written again, without rows.
func (m *models) monthsOf(ctx context.Context, mart *schema.Table, account string) (map[schema.Date]string, error) {
	months := map[schema.Date]string{}
	for _, f := range m.next.Accounts[account].Files {
		if f.Table == mart.Name {
			months[f.Day] = ""
		}
	}
	contents, err := m.w.Contents(ctx, "mart."+mart.View, "t",
		"(date_trunc('month', report_date)::DATE - DATE '1970-01-01')::VARCHAR",
		"account_id = "+schema.QuoteText(account))
	for day, content := range contents { // keys are days since 1970-01-01
		var month schema.Date
		fmt.Sscan(day, (*int32)(&month))
		months[month] = content
	}
	return months, err
}

// addMart adds a staged file, which DuckDB has written, to the generation.
func (m *models) addMart(mart *schema.Table, account string, month schema.Date, rows int64) error {
	path := manifest.TablePath(mart, account, month)
	disk, staged := m.store.opts.disk, m.area.path(path)
	sha, size, err := disk.HashFile(staged)
	if err != nil {
		return err
	}
	info := &manifest.File{Kind: manifest.KindParquet, Table: mart.Name, Day: month, Rows: rows, Bytes: size,
		SHA256: sha, RunID: m.area.runID}
	files := m.next.Accounts[account].Files
	if entered, err := m.files.enterPartition(files, path, info, m.repair || m.newViews); err != nil || !entered {
		return err
	}
	return disk.SyncFile(staged)
}
