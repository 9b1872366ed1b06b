package manifest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/durable"
	"spendsync/schema"
)

// ledgerLine is one line of a ledger file. At most one of the fields is set. Ledgers of version 11 of the tables also
// have lines with lasting facts. Of these facts, only the refused rows are read.
type ledgerLine struct {
	Run     *schema.Run        `json:"run,omitempty"`
	Step    *schema.Step       `json:"step,omitempty"`
	Lost    *ReportedLost      `json:"reported_lost,omitempty"`
	Refused *schema.RefusedRow `json:"refused_row,omitempty"`
}

// ReportedLost records that a run of an earlier store ended with the exit code for these lost days. Now such days are
// part of the run's generation, see [Account.ReportedLost].
type ReportedLost struct {
	RunID string        `json:"run_id"`
	Days  []schema.Date `json:"days"`
}

// LedgerRows are ledger lines, by kind.
type LedgerRows struct {
	Runs  []schema.Run
	Steps []schema.Step
	Lost  []ReportedLost
}

// add adds a line.
func (rows *LedgerRows) add(l *ledgerLine) {
	switch {
	case l.Run != nil:
		rows.Runs = append(rows.Runs, *l.Run)
	case l.Step != nil:
		rows.Steps = append(rows.Steps, *l.Step)
	case l.Lost != nil:
		rows.Lost = append(rows.Lost, *l.Lost)
	}
}

// Add appends the rows of other.
func (rows *LedgerRows) Add(other LedgerRows) {
	rows.Runs, rows.Steps = append(rows.Runs, other.Runs...), append(rows.Steps, other.Steps...)
	rows.Lost = append(rows.Lost, other.Lost...)
}

// EncodeLedger encodes rows as lines. A run comes after its steps.
func EncodeLedger(rows LedgerRows) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	var err error
	encode := func(l ledgerLine) { err = errors.Join(err, e.Encode(l)) }
	for i := range rows.Steps {
		encode(ledgerLine{Step: &rows.Steps[i]})
	}
	for i := range rows.Runs {
		encode(ledgerLine{Run: &rows.Runs[i]})
	}
	for i := range rows.Lost {
		encode(ledgerLine{Lost: &rows.Lost[i]})
	}
	return b.Bytes(), err
}

// linesOf yields the lines of a ledger. A line is valid only until the next iteration.
func linesOf(path string, r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 1<<16), durable.MaxText)
		for lines.Scan() {
			if !yield(lines.Bytes(), nil) {
				return
			}
		}
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(nil, durable.Damaged(path, RepairLost, "it has a line of more than %d bytes", durable.MaxText))
		case err != nil:
			yield(nil, durable.Storage(err))
		}
	}
}

// eachLine calls a function with every line of a ledger, as text and decoded. Unknown fields are ignored, so that an
// older binary can read the lines of a newer binary.
func eachLine(path string, r io.Reader, each func([]byte, *ledgerLine) error) error {
	n := 0
	for line, err := range linesOf(path, r) {
		if err != nil {
			return err
		}
		n++
		var l ledgerLine
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return durable.Damaged(path, RepairLost, "line %d is not readable: %v", n, err)
		}
		if err := each(line, &l); err != nil {
			return err
		}
	}
	return nil
}

// DecodeLedger decodes all lines of a ledger. path is only used in errors.
func DecodeLedger(path string, r io.Reader) (rows LedgerRows, err error) {
	err = eachLine(path, r, func(_ []byte, l *ledgerLine) error { rows.add(l); return nil })
	return rows, err
}

// ReadLedger decodes the lines of a ledger file between two byte offsets, and returns the size of the file. A missing
// file counts as empty. Besides the result, only one line is in memory, because a ledger may be large.
func ReadLedger(d durable.Disk, dir, path string, from, to int64) (rows LedgerRows, size int64, err error) {
	f, size, err := openLedger(d, dir, path)
	if err != nil || f == nil {
		return rows, size, err
	}
	defer f.Close()
	rows, err = DecodeLedger(path, io.NewSectionReader(f, from, max(0, min(size, to)-from)))
	return rows, size, err
}

// ToEnd is the upper offset with which [ReadLedger] reads a file to its end.
const ToEnd = math.MaxInt64

// openLedger opens a ledger file and returns its size. If the file is missing or empty, f is nil.
func openLedger(d durable.Disk, dir, path string) (f durable.File, size int64, err error) {
	f, err = d.Open(filepath.Join(dir, path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, durable.Storage(err)
	}
	if size, err = durable.RegularSize(f, path); err != nil || size == 0 {
		if odd, ok := errors.AsType[*durable.Damage](err); ok {
			odd.Path, odd.Repair = path, "move it out of the data directory, then "+RepairLost
		}
		return nil, 0, errors.Join(durable.Storage(err), f.Close())
	}
	return f, size, nil
}

// CheckLedger returns damage if the published part of a ledger file is missing, or if its SHA-256 differs from the
// given one. The number is the size of that part in bytes.
func CheckLedger(d durable.Disk, dir, path string, published int64, sha string) error {
	f, size, err := openLedger(d, dir, path)
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close()
	}
	if err := CheckLedgerSize(path, size, published); err != nil || f == nil {
		return err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, published)); err != nil {
		return durable.Storage(err)
	}
	if published > 0 && hex.EncodeToString(h.Sum(nil)) != sha {
		return durable.Damaged(path, RepairLost, "its bytes are not those that were published")
	}
	return nil
}

// CheckLedgerSize refuses a ledger file that is shorter than its published part.
func CheckLedgerSize(path string, size, published int64) error {
	switch {
	case size == 0 && published > 0:
		return durable.Damaged(path, RepairLost, "it is missing or empty, and had %d bytes when it "+
			"was published", published)
	case size < published:
		return durable.Damaged(path, RepairLost, "it has %d bytes, and had %d when it was published", size, published)
	}
	return nil
}

// ExtendLedger copies a ledger file to another path, and appends new lines to the copy. It returns the hash and the
// size of the copy, which is durable.
func ExtendLedger(d durable.Disk, dir, path, to string, lines []byte) (sha string, size int64, err error) {
	f, _, err := openLedger(d, dir, path)
	if err != nil {
		return "", 0, err
	}
	if f != nil {
		defer f.Close()
	}
	w, err := d.Create(to)
	if err != nil {
		return "", 0, err
	}
	if f != nil {
		_, err = io.Copy(w, f)
	}
	if err == nil {
		_, err = w.Write(lines)
	}
	if err != nil {
		w.Abort()
		return "", 0, durable.Storage(err)
	}
	return w.Finish()
}

// EventsOf writes the events of a version 11 ledger file (runs, steps and reported lost days) to another path, durably.
// It returns, for each day, the refused rows from the last run that recorded refused rows of the day.
func EventsOf(d durable.Disk, dir, path, to string) (refused map[schema.Date][]schema.RefusedRow, err error) {
	f, _, err := openLedger(d, dir, path)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	w, err := d.Create(to)
	if err != nil {
		return nil, err
	}
	refused = map[schema.Date][]schema.RefusedRow{}
	out := bufio.NewWriterSize(w, 1<<16)
	err = eachLine(path, f, func(line []byte, l *ledgerLine) error {
		if l.Run != nil || l.Step != nil || l.Lost != nil {
			fmt.Fprintf(out, "%s\n", line) // Flush returns the first write error
		}
		if r := l.Refused; r != nil {
			day := refused[r.ReportDate]
			if len(day) > 0 && day[0].RunID != r.RunID {
				day = day[:0]
			}
			if len(day) < maxFacts {
				refused[r.ReportDate] = append(day, *r)
			}
		}
		return nil
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		w.Abort()
		return nil, err
	}
	_, _, err = w.Finish()
	return refused, err
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

// LastRunThat returns the last run in the account's ledger that satisfies a condition, or nil. If a run has several
// lines, only its last line counts.
func LastRunThat(dir, account string, isSo func(*schema.Run) bool) (*schema.Run, error) {
	files, err := LedgerFiles(durable.OS, dir, account)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, rel := range slices.Backward(files) {
		rows, _, err := ReadLedger(durable.OS, dir, rel, 0, ToEnd)
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
