package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"spendsync/schema"
)

// ledgerLine is one line of a ledger file: one of the fields is set.
type ledgerLine struct {
	Run    *schema.Run        `json:"run,omitempty"`
	Step   *schema.Step       `json:"step,omitempty"`
	Entity *schema.EntityRead `json:"entity_read,omitempty"`
}

// ledgerRows are ledger lines, sorted into their tables.
type ledgerRows struct {
	runs     []schema.Run
	steps    []schema.Step
	entities []schema.EntityRead
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
	for i := range rows.runs {
		if err := e.Encode(ledgerLine{Run: &rows.runs[i]}); err != nil {
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
			return rows, damaged(path, "", "line %d is not readable: %v", n+1, err)
		}
		switch {
		case l.Run != nil:
			rows.runs = append(rows.runs, *l.Run)
		case l.Step != nil:
			rows.steps = append(rows.steps, *l.Step)
		case l.Entity != nil:
			rows.entities = append(rows.entities, *l.Entity)
		}
	}
	return rows, nil
}

// readLedger reads an account's ledger file from an offset to its end; none is
// an empty one.
func readLedger(dir, path string, from int64) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(dir, path))
	if errors.Is(err, fs.ErrNotExist) && from == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, storage(err)
	}
	if int64(len(b)) < from {
		return nil, damaged(path, "", "it has %d bytes, and had %d when it was published", len(b), from)
	}
	return b[from:], nil
}

// RecordFailure adds a run that published nothing to the ledger. The next
// published generation shows it in ops.run.
func (s *Store) RecordFailure(run schema.Run, steps []schema.Step) error {
	lines, err := encodeLedger(ledgerRows{runs: []schema.Run{run}, steps: steps})
	if err != nil {
		return err
	}
	path := ledgerPath(s.account, run.FinishedAt.Time())
	old, err := readLedger(s.dir, path, 0)
	if err != nil {
		return err
	}
	draft := filepath.Join(s.dir, "staging", s.account+"."+run.RunID+".ledger"+stagedSuffix)
	if _, _, err := writeStaged(draft, slices.Concat(old, lines)); err != nil {
		return err
	}
	to := filepath.Join(s.dir, path)
	if err := makeDirs(s.dir, filepath.Dir(to)); err != nil {
		return err
	}
	if err := os.Rename(draft, to); err != nil {
		return storage(err)
	}
	return syncDir(filepath.Dir(to))
}

// ledgerFiles are the account's ledger files, from the oldest on.
func ledgerFiles(dir, account string) ([]string, error) {
	folder := "ledger/account=" + account
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, storage(err)
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jsonl") {
			files = append(files, folder+"/"+e.Name())
		}
	}
	return files, nil
}

// LastRun is the last run that the account's ledger tells of, published or not.
func LastRun(dir, account string) (*schema.Run, error) {
	files, err := ledgerFiles(dir, account)
	if err != nil {
		return nil, err
	}
	for _, rel := range slices.Backward(files) {
		b, err := readLedger(dir, rel, 0)
		if err != nil {
			return nil, err
		}
		rows, err := decodeLedger(rel, b)
		if err != nil {
			return nil, err
		}
		if n := len(rows.runs); n > 0 {
			return &rows.runs[n-1], nil
		}
	}
	return nil, nil
}
