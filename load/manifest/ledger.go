package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/durable"
	"spendsync/schema"
)

// ledgerLine is one line of a ledger file: one of the fields is set.
type ledgerLine struct {
	Run     *schema.Run        `json:"run,omitempty"`
	Step    *schema.Step       `json:"step,omitempty"`
	Entity  *schema.EntityRead `json:"entity_read,omitempty"`
	Refused *schema.RefusedRow `json:"refused_row,omitempty"`
	Lost    *ReportedLost      `json:"reported_lost,omitempty"`
}

// ReportedLost reports whether a run ended with the exit code for lost days.
type ReportedLost struct {
	RunID string        `json:"run_id"`
	Days  []schema.Date `json:"days"`
}

// LedgerRows are ledger lines, sorted into their tables.
type LedgerRows struct {
	Runs     []schema.Run
	Steps    []schema.Step
	Entities []schema.EntityRead
	Refused  []schema.RefusedRow
	Lost     []ReportedLost
}

// EncodeLedger writes the rows as lines. The run follows its steps, as its end does.
func EncodeLedger(rows LedgerRows) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i := range rows.Steps {
		if err := e.Encode(ledgerLine{Step: &rows.Steps[i]}); err != nil {
			return nil, err
		}
	}
	for i := range rows.Entities {
		if err := e.Encode(ledgerLine{Entity: &rows.Entities[i]}); err != nil {
			return nil, err
		}
	}
	for i := range rows.Refused {
		if err := e.Encode(ledgerLine{Refused: &rows.Refused[i]}); err != nil {
			return nil, err
		}
	}
	for i := range rows.Runs {
		if err := e.Encode(ledgerLine{Run: &rows.Runs[i]}); err != nil {
			return nil, err
		}
	}
	for i := range rows.Lost {
		if err := e.Encode(ledgerLine{Lost: &rows.Lost[i]}); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// DecodeLedger reads lines. It ignores unknown fields, so that an older binary can read the lines of a newer
// one.
func DecodeLedger(path string, b []byte) (rows LedgerRows, err error) {
	for n, line := range bytes.Split(b, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var l ledgerLine
		if err := json.Unmarshal(line, &l); err != nil {
			return rows, durable.Damaged(path, RepairLost, "line %d is not readable: %v", n+1, err)
		}
		switch {
		case l.Run != nil:
			rows.Runs = append(rows.Runs, *l.Run)
		case l.Step != nil:
			rows.Steps = append(rows.Steps, *l.Step)
		case l.Entity != nil:
			rows.Entities = append(rows.Entities, *l.Entity)
		case l.Refused != nil:
			rows.Refused = append(rows.Refused, *l.Refused)
		case l.Lost != nil:
			rows.Lost = append(rows.Lost, *l.Lost)
		}
	}
	return rows, nil
}

// ReadLedger reads a ledger file. A missing file is empty.
func ReadLedger(d durable.Disk, dir, path string) ([]byte, error) {
	b, err := d.ReadFile(filepath.Join(dir, path), durable.MaxText)
	var odd *durable.Damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.As(err, &odd):
		odd.Path, odd.Repair = path, "move it out of the data directory, then "+RepairLost
	}
	return b, err
}

// CheckLedger compares the published part of a ledger file with its hash. sha is empty if nothing is published.
func CheckLedger(path string, b []byte, published int64, sha string) error {
	switch {
	case len(b) == 0 && published > 0:
		return durable.Damaged(path, RepairLost, "it is missing or empty, and had %d bytes when it "+
			"was published", published)
	case int64(len(b)) < published:
		return durable.Damaged(path, RepairLost, "it has %d bytes, and had %d when it was published", len(b),
			published)
	case published > 0 && HashLedger(b[:published]) != sha:
		return durable.Damaged(path, RepairLost, "its bytes are not those that were published")
	}
	return nil
}

// HashLedger returns the SHA-256 of some bytes in hex.
func HashLedger(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// LedgerFiles returns the account's ledger files, oldest first.
func LedgerFiles(d durable.Disk, dir, account string) ([]string, error) {
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

// LastRun returns the last run in the account's ledger, published or not; nil if there is none.
func LastRun(dir, account string) (*schema.Run, error) {
	return LastRunThat(dir, account, func(*schema.Run) bool { return true })
}

// LastRunThat returns the last run in the account's ledger that satisfies a condition; nil if none does. If
// a run has several lines, the last one counts.
func LastRunThat(dir, account string, isSo func(*schema.Run) bool) (*schema.Run, error) {
	files, err := LedgerFiles(durable.OS, dir, account)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, rel := range slices.Backward(files) {
		b, err := ReadLedger(durable.OS, dir, rel)
		if err != nil {
			return nil, err
		}
		rows, err := DecodeLedger(rel, b)
		if err != nil {
			return nil, err
		}
		for i := range slices.Backward(rows.Runs) {
			run := &rows.Runs[i]
			if !seen[run.RunID] && isSo(run) {
				return run, nil
			}
			seen[run.RunID] = true
		}
	}
	return nil, nil
}
