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

// addCopies writes the files of [schema.Copies] that differ: the days, whose states follow the day of
// publishing, and the months of the runs that are new in this generation.
func (n *warehouse) addCopies(runs []schema.Run) error {
	for _, account := range n.accounts() {
		if err := n.copyCoverage(account); err != nil {
			return err
		}
	}
	byPart := map[runsFile][]schema.Run{}
	for _, r := range runs {
		part := runsFile{r.AccountID, schema.DateOf(r.StartedAt.Time()).Month()}
		byPart[part] = append(byPart[part], r)
	}
	for part, runs := range byPart {
		if err := n.copyRuns(part, runs); err != nil {
			return err
		}
	}
	return nil
}

func (n *warehouse) copyCoverage(account string) error {
	months := func(m *manifest.Manifest) map[schema.Date][]schema.DayCoverage {
		days := map[schema.Date][]schema.DayCoverage{}
		for _, c := range m.Coverage(account) {
			days[c.ReportDate.Month()] = append(days[c.ReportDate.Month()], c)
		}
		return days
	}
	var was map[schema.Date][]schema.DayCoverage
	if !n.fromNothing {
		was = months(n.base)
	}
	is, files := months(n.next), n.next.Accounts[account].Files
	for path, f := range files {
		if f.Table == schema.CoverageFiles.Name && is[f.Day] == nil { // the clock was set back
			delete(files, path)
			n.files.removes = append(n.files.removes, path)
		}
	}
	for _, month := range slices.Sorted(maps.Keys(is)) {
		there := files[manifest.PartPath(schema.CoverageFiles.Table, account, month)]
		if there != nil && slices.Equal(was[month], is[month]) {
			continue
		}
		if err := putCopy(n, schema.CoverageFiles, account, month, is[month]); err != nil {
			return err
		}
	}
	return nil
}

// runsFile identifies a file of runs.
type runsFile struct {
	account string
	month   schema.Date
}

// copyRuns adds runs to those of their month, or replaces them.
func (n *warehouse) copyRuns(part runsFile, runs []schema.Run) error {
	path := manifest.PartPath(schema.RunFiles.Table, part.account, part.month)
	if info := n.next.Accounts[part.account].Files[path]; info != nil && !n.fromNothing {
		dir, name := n.files.whereIs(path)
		stored, err := manifest.Rows(n.store.opts.disk, dir, name, info, schema.RunFiles)
		if errors.Is(err, durable.ErrDamaged) {
			n.store.opts.Log.Warn("a file of runs is damaged and made again from the ledger", "error", err)
			stored, err = n.runsOf(part)
		}
		if err != nil {
			return err
		}
		runs = lastOfEachRun(append(stored, runs...))
	}
	slices.SortFunc(runs, func(a, b schema.Run) int { return strings.Compare(a.RunID, b.RunID) })
	return putCopy(n, schema.RunFiles, part.account, part.month, runs)
}

// runsOf reads the runs of a month from the ledgers.
func (n *warehouse) runsOf(part runsFile) (runs []schema.Run, err error) {
	for _, path := range slices.Sorted(maps.Keys(n.next.Accounts[part.account].Ledger)) {
		dir, name := n.files.whereIs(path)
		rows, _, err := manifest.ReadLedger(n.store.opts.disk, dir, name, 0)
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

// putCopy writes one file. The published one stays if it has the same content.
func putCopy[R any](n *warehouse, t schema.TableOf[R], account string, month schema.Date, rows []R) error {
	info, err := n.area.putPart(manifest.PartPath(t.Table, account, month), t.Table, parquet.Record(t, rows))
	if err != nil {
		return err
	}
	info.Day = month
	_, err = n.enterStaged(t.Table, account, info, n.repair)
	return err
}

// lastOfEachRun drops the lines that a later line of the same run replaces.
func lastOfEachRun(runs []schema.Run) []schema.Run {
	last := map[[2]string]int{}
	for i, r := range runs {
		last[[2]string{r.AccountID, r.RunID}] = i
	}
	var kept []schema.Run
	for i, r := range runs {
		if last[[2]string{r.AccountID, r.RunID}] == i {
			kept = append(kept, r)
		}
	}
	return kept
}
