package load

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// copies writes Parquet files with the rows of ops.day_coverage and ops.run, see [schema.Copies].
type copies struct {
	n       *generation
	rewrite bool // whether every file is rewritten, even if the base has the same content
}

// add writes the coverage files of all accounts that the generation may change, and adds the given runs to the files of
// their months. Every call compares the coverage with the published coverage, because the state of a day depends on
// today's date.
func (c copies) add(runs []schema.Run) error {
	for _, account := range c.n.accounts() {
		if err := c.coverage(account); err != nil {
			return err
		}
	}
	byPart := map[runsFile][]schema.Run{}
	for _, r := range runs {
		part := runsFile{r.AccountID, schema.DateOf(r.StartedAt.Time()).Month()}
		byPart[part] = append(byPart[part], r)
	}
	for part, runs := range byPart {
		if err := c.runs(part, runs); err != nil {
			return err
		}
	}
	return nil
}

func (c copies) coverage(account string) error {
	months := func(m *manifest.Manifest) map[schema.Date][]schema.DayCoverage {
		days := map[schema.Date][]schema.DayCoverage{}
		for _, day := range m.Coverage(account) {
			days[day.ReportDate.Month()] = append(days[day.ReportDate.Month()], day)
		}
		return days
	}
	var base map[schema.Date][]schema.DayCoverage
	if !c.rewrite {
		base = months(c.n.base)
	}
	next, files := months(c.n.next), c.n.next.Accounts[account].Files
	for path, f := range files {
		// A month may have no days left, for example because the clock was set back.
		if f.Table == schema.CoverageFiles.Name && next[f.Day] == nil {
			delete(files, path)
			c.n.files.removes = append(c.n.files.removes, path)
		}
	}
	for _, month := range slices.Sorted(maps.Keys(next)) {
		published := files[manifest.TablePath(schema.CoverageFiles.Table, account, month)]
		if published != nil && slices.Equal(base[month], next[month]) {
			continue
		}
		if err := putCopy(c, schema.CoverageFiles, account, month, next[month]); err != nil {
			return err
		}
	}
	return nil
}

// runsFile identifies the Parquet file with the runs of one account and month.
type runsFile struct {
	account string
	month   schema.Date
}

// runs adds rows of ops.run to the file of a month. A new row of a run replaces the stored row of that run.
func (c copies) runs(part runsFile, runs []schema.Run) error {
	path := manifest.TablePath(schema.RunFiles.Table, part.account, part.month)
	if info := c.n.next.Accounts[part.account].Files[path]; info != nil && !c.rewrite {
		dir, name := c.n.files.whereIs(path)
		stored, err := manifest.Rows(c.n.store.opts.disk, dir, name, info, schema.RunFiles)
		if errors.Is(err, durable.ErrDamaged) {
			c.n.store.opts.Log.Warn("a file of runs is damaged and made again from the ledger", "error", err)
			stored, err = c.ledgerRuns(part)
		}
		if err != nil {
			return err
		}
		runs = lastOfEachRun(append(stored, runs...))
	}
	slices.SortFunc(runs, func(a, b schema.Run) int { return strings.Compare(a.RunID, b.RunID) })
	return putCopy(c, schema.RunFiles, part.account, part.month, runs)
}

// ledgerRuns reads the runs of a month from the ledgers.
func (c copies) ledgerRuns(part runsFile) (runs []schema.Run, err error) {
	for _, path := range slices.Sorted(maps.Keys(c.n.next.Accounts[part.account].Ledger)) {
		dir, name := c.n.files.whereIs(path)
		rows, _, err := manifest.ReadLedger(c.n.store.opts.disk, dir, name, 0, manifest.ToEnd)
		if err != nil {
			return nil, err
		}
		for _, r := range rows.Runs {
			if schema.DateOf(r.StartedAt.Time()).Month() == part.month {
				runs = append(runs, r)
			}
		}
	}
	return runs, nil
}

// putCopy stages an account's file of coverage or runs for a month. If the content is unchanged, the published file
// stays.
func putCopy[R any](c copies, t schema.TableOf[R], account string, month schema.Date, rows []R) error {
	path := manifest.TablePath(t.Table, account, month)
	info, err := c.n.area.putRecords(path, t.Table, parquet.Record(t, rows))
	if err != nil {
		return err
	}
	info.Day = month
	_, err = c.n.files.enterPartition(c.n.next.Accounts[account].Files, path, info, c.n.repair)
	return err
}

// lastOfEachRun returns the last row of each run: a run that publishes twice has two rows.
func lastOfEachRun(runs []schema.Run) []schema.Run {
	last := map[[2]string]int{}
	for i, r := range runs {
		last[[2]string{r.AccountID, r.RunID}] = i
	}
	var latest []schema.Run
	for i, r := range runs {
		if last[[2]string{r.AccountID, r.RunID}] == i {
			latest = append(latest, r)
		}
	}
	return latest
}
