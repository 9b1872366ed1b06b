package world

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"spendsync/extract/adsim/ledger"
)

// Journal records every request that changed the service, in a file, a line of JSON
// each. Replaying all of the changes, at the same instants, gives the same service:
// numbers and texts follow from the seed.
//
// A line is handed to the system before the write is answered, so that an answered
// write outlives the process, however it ends. It is not forced to the disk before
// CloseState: a power failure may take the last lines, and the file is valid without
// them. If a line cannot be written, no later line is either: later lines would
// describe a service that the next start does not find.
type Journal struct {
	mu      sync.Mutex
	path    string
	File    *os.File
	again   bool // being read: nothing is written
	failure error
}

// Entry is one line: the request, its account, and its time.
type Entry struct {
	Op      string    `json:"op"`
	Account int       `json:"account,omitempty"`
	At      time.Time `json:"at"`

	Name  string    `json:"name,omitempty"`
	Until time.Time `json:"until,omitzero"`
	// Amount is in millionths of a US dollar.
	Amount int64 `json:"amount,omitempty"`

	// A write of the API: the operation's name is Op.
	Path  []string        `json:"path,omitempty"`
	Query url.Values      `json:"query,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`

	// What is the change itself, by Op.
	What json.RawMessage `json:"what,omitempty"`
}

// What returns the JSON of a change.
func What(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("journal: %v", err)) // texts, numbers, and values that were encoded before
	}
	return raw
}

// Into decodes the change of a line.
func (line *Entry) Into(v any) error {
	d := json.NewDecoder(bytes.NewReader(line.What))
	d.UseNumber()
	return d.Decode(v)
}

// RedoWhat decodes the change of a line and makes it again.
func RedoWhat[T any](line *Entry, do func(T) error) error {
	var v T
	if err := line.Into(&v); err != nil {
		return err
	}
	return do(v)
}

// Open reads a file and makes its changes again, then appends to it. belongs is the first line of a new file.
func (j *Journal) Open(path, belongs string, redo func(Entry) error, begin func()) error {
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("state: %w", err)
	}
	raw = raw[:bytes.LastIndexByte(raw, '\n')+1]
	if err := j.replay(raw, belongs, redo); err != nil {
		return fmt.Errorf("state %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = file.Truncate(int64(len(raw)))
	}
	if err == nil {
		_, err = file.Seek(0, 2)
	}
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	j.mu.Lock()
	j.path, j.File = path, file
	j.mu.Unlock()
	if len(raw) == 0 {
		begin()
	}
	return nil
}

// replay makes the changes of the lines again.
func (j *Journal) replay(raw []byte, belongs string, redo func(Entry) error) error {
	j.setReplaying(true)
	defer j.setReplaying(false)
	number := 0
	for text := range bytes.Lines(raw) {
		number++
		var line Entry
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if number == 1 && (line.Op != "accounts" || line.Name != belongs) {
			return fmt.Errorf("line 1: it is of %q, this is %q", line.Name, belongs)
		}
		if err := redo(line); err != nil {
			return fmt.Errorf("line %d: %s: %w", number, line.Op, err)
		}
	}
	return nil
}

// Close forces the file to the disk and ends it. It returns the first error of the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.File == nil {
		return nil
	}
	err := errors.Join(j.failure, j.File.Sync(), j.File.Close())
	j.File = nil
	return err
}

// Empty removes all lines. It reports whether there is a file.
func (j *Journal) Empty() (kept bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.File == nil {
		return false, nil
	}
	if err = j.File.Truncate(0); err == nil {
		_, err = j.File.Seek(0, 0)
	}
	j.failure = err // earlier failures no longer matter
	return true, err
}

// Status returns the path of the file, "" without one, and why it is no longer written.
func (j *Journal) Status() (path string, failure error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.path, j.failure
}

// Replaying reports whether the journal is being read.
func (j *Journal) Replaying() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.again
}

func (j *Journal) setReplaying(on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.again = on
}

// write appends a line. A failure is returned by close.
func (j *Journal) write(line Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.File == nil || j.again || j.failure != nil {
		return
	}
	raw, err := json.Marshal(line)
	if err == nil {
		_, err = j.File.Write(append(raw, '\n'))
	}
	if err != nil {
		j.failure = fmt.Errorf("state %s: %w", j.path, err)
	}
}

// Record appends a line to the journal.
func (s *World) Record(line Entry) {
	line.Account = s.index
	if line.At.IsZero() {
		line.At = s.Clock.Now()
	}
	s.Journal.write(line)
}

// Redo makes the change of a line again. It reports false for one of another room.
func (s *World) Redo(line *Entry) (known bool, err error) {
	switch line.Op {
	case "review":
		err = RedoWhat(line, s.Review)
	case "balance":
		err = s.SetBalance(line.Name)
	case "funds":
		err = s.AddFunds(line.Amount)
	case "restate":
		err = RedoWhat(line, func(r ledger.Restatement) error { _, err := s.Restate(line.Name, r); return err })
	case "plant":
		err = RedoWhat(line, s.Plant)
	case "freeze", "thaw":
		s.FreezeRestatements(line.Op == "freeze")
	case "image":
		err = RedoWhat(line, func(up Image) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.budgets = s.budgets.with(line.At, map[string]int{ImageUpload: 1})
			s.addImage(&up)
			return nil
		})
	default:
		return false, nil
	}
	return true, err
}
