package load

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"spendsync/load/durable"
	"spendsync/schema"
)

// ledgerLine is one line of a ledger file: one of the fields is set.
type ledgerLine struct {
	Run     *schema.Run        `json:"run,omitempty"`
	Step    *schema.Step       `json:"step,omitempty"`
	Entity  *schema.EntityRead `json:"entity_read,omitempty"`
	Refused *schema.RefusedRow `json:"refused_row,omitempty"`
	Lost    *reportedLost      `json:"reported_lost,omitempty"`
}

// reportedLost says that a run has ended with the exit code that reports lost days.
type reportedLost struct {
	RunID string        `json:"run_id"`
	Days  []schema.Date `json:"days"`
}

// ledgerRows are ledger lines, sorted into their tables.
type ledgerRows struct {
	runs     []schema.Run
	steps    []schema.Step
	entities []schema.EntityRead
	refused  []schema.RefusedRow
	lost     []reportedLost
}

// ledgerPath is the account's ledger of a month (UTC), below the data directory.
func ledgerPath(account string, at time.Time) string {
	return fmt.Sprintf("ledger/account=%s/%s.jsonl", account, at.UTC().Format("2006-01"))
}

// encodeLedger writes the rows as lines; the run comes last, as its end does.
func encodeLedger(rows ledgerRows) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i := range rows.steps {
		if err := e.Encode(ledgerLine{Step: &rows.steps[i]}); err != nil {
			return nil, err
		}
	}
	for i := range rows.entities {
		if err := e.Encode(ledgerLine{Entity: &rows.entities[i]}); err != nil {
			return nil, err
		}
	}
	for i := range rows.refused {
		if err := e.Encode(ledgerLine{Refused: &rows.refused[i]}); err != nil {
			return nil, err
		}
	}
	for i := range rows.runs {
		if err := e.Encode(ledgerLine{Run: &rows.runs[i]}); err != nil {
			return nil, err
		}
	}
	for i := range rows.lost {
		if err := e.Encode(ledgerLine{Lost: &rows.lost[i]}); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// decodeLedger reads lines. Unknown fields are left alone, so that an older
// binary can read what a newer one has added.
func decodeLedger(path string, b []byte) (rows ledgerRows, err error) {
	for n, line := range bytes.Split(b, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var l ledgerLine
		if err := json.Unmarshal(line, &l); err != nil {
			return rows, durable.Damaged(path, durable.MendRebuild, "line %d is not readable: %v", n+1, err)
		}
		switch {
		case l.Run != nil:
			rows.runs = append(rows.runs, *l.Run)
		case l.Step != nil:
			rows.steps = append(rows.steps, *l.Step)
		case l.Entity != nil:
			rows.entities = append(rows.entities, *l.Entity)
		case l.Refused != nil:
			rows.refused = append(rows.refused, *l.Refused)
		case l.Lost != nil:
			rows.lost = append(rows.lost, *l.Lost)
		}
	}
	return rows, nil
}

// readLedger reads a ledger file; none is an empty one.
func readLedger(d durable.Disk, dir, path string) ([]byte, error) {
	b, err := d.ReadFile(filepath.Join(dir, path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// checkLedger compares the part of a ledger file that is published with what it
// was. A store of the first format knows its length only, and sha is empty.
func checkLedger(path string, b []byte, published int64, sha string) error {
	switch {
	case len(b) == 0 && published > 0:
		return durable.Damaged(path, durable.MendRebuild, "it is missing or empty, and had %d bytes when it "+
			"was published", published)
	case int64(len(b)) < published:
		return durable.Damaged(path, durable.MendRebuild, "it has %d bytes, and had %d when it was published", len(b),
			published)
	case sha != "" && hashLedger(b[:published]) != sha:
		return durable.Damaged(path, durable.MendRebuild, "its bytes are not those that were published")
	}
	return nil
}

func hashLedger(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// RecordFailure adds the end of a run that published nothing to the ledger, or
// nothing after the generation that it names: its last line counts. The next
// published generation shows it in ops.run.
func (s *Store) RecordFailure(run schema.Run, steps []schema.Step) error {
	lines, err := encodeLedger(ledgerRows{runs: []schema.Run{run}, steps: steps})
	if err != nil {
		return err
	}
	// A generation that has come as far as its commit is told of by the ledger that
	// comes with it, as published: that is what it will be. One that the run knows of
	// is not in question: its report stands, and what came after failed.
	if r, err := readCommit(s.opts.disk, s.dir, s.base); err != nil || r != nil && r.RunID == run.RunID {
		return err
	}
	if m, err := readManifest(s.opts.disk, s.dir); err == nil && m.RunID == run.RunID && m.Generation > run.Generation {
		return nil
	}
	return s.appendLedger(run.RunID, run.FinishedAt.Time(), lines)
}

// RecordLost notes that a run ends now with the exit code that reports lost days. A run
// that is stopped, fails or dies before that has reported nothing: the next one will.
func (s *Store) RecordLost(run schema.Run, days []schema.Date) error {
	if len(days) == 0 {
		return nil
	}
	lines, err := encodeLedger(ledgerRows{lost: []reportedLost{{RunID: run.RunID, Days: days}}})
	if err != nil {
		return err
	}
	return s.appendLedger(run.RunID, run.FinishedAt.Time(), lines)
}

// appendLedger adds lines to the ledger of a month. The file is replaced by a longer one.
func (s *Store) appendLedger(runID string, at time.Time, lines []byte) error {
	path := ledgerPath(s.account, at)
	old, err := readLedger(s.opts.disk, s.dir, path)
	if err != nil {
		return err
	}
	draft := filepath.Join(s.dir, "staging", s.account+"."+runID+".ledger"+stagedSuffix)
	if _, _, err := s.opts.disk.WriteFile(draft, slices.Concat(old, lines)); err != nil {
		return err
	}
	to := filepath.Join(s.dir, path)
	if err := s.opts.disk.MakeDirs(filepath.Dir(to)); err != nil {
		return err
	}
	if err := s.opts.disk.Rename(draft, to); err != nil {
		return durable.Storage(err)
	}
	return s.opts.disk.SyncNames(s.dir, map[string]bool{filepath.Dir(to): true})
}

// ledgerFiles are the account's ledger files, from the oldest on.
func ledgerFiles(d durable.Disk, dir, account string) ([]string, error) {
	folder := "ledger/account=" + account
	entries, err := d.ReadDir(filepath.Join(dir, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, durable.Storage(err)
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jsonl") {
			files = append(files, folder+"/"+e.Name())
		}
	}
	return files, nil
}

// LastRun is the last run that the account's ledger tells of, published or not;
// nil if it tells of none.
func LastRun(dir, account string) (*schema.Run, error) {
	return LastRunThat(dir, account, func(*schema.Run) bool { return true })
}

// LastRunThat is the last run of the account's ledger that is as asked for, or nil.
// A run is what the last of its lines says: the one of its report may say that all is
// well, and that of its settings not.
func LastRunThat(dir, account string, isSo func(*schema.Run) bool) (*schema.Run, error) {
	files, err := ledgerFiles(durable.OS, dir, account)
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	for _, rel := range slices.Backward(files) {
		b, err := readLedger(durable.OS, dir, rel)
		if err != nil {
			return nil, err
		}
		rows, err := decodeLedger(rel, b)
		if err != nil {
			return nil, err
		}
		for i := range slices.Backward(rows.runs) {
			run := &rows.runs[i]
			if !told[run.RunID] && isSo(run) {
				return run, nil
			}
			told[run.RunID] = true
		}
	}
	return nil, nil
}
