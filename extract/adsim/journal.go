package adsim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// journal is everything that was asked of the service and changed it, in a file, a
// line of JSON each. Whoever does all of it again, at the same instants, has the
// same service: numbers and texts follow from the seed.
//
// A line is handed to the system before the write is answered, so that what was
// answered outlives the process, however that ends. It is not forced to the disk
// before CloseState: what a power failure takes are the last lines, and the file is
// good without them. After a line that could not be written no other is, for they
// would tell of a service that the next start does not find.
type journal struct {
	mu      sync.Mutex
	path    string
	file    *os.File
	again   bool // being read: nothing is written
	failure error
}

// journalLine is one line: what was asked, of which account, and when.
type journalLine struct {
	Op      string    `json:"op"`
	Account int       `json:"account,omitempty"`
	At      time.Time `json:"at"`

	Name  string    `json:"name,omitempty"`
	Scope string    `json:"scope,omitempty"`
	Until time.Time `json:"until,omitzero"`
	// Amount is in millionths of a US dollar.
	Amount int64 `json:"amount,omitempty"`

	// A write of the API: the operation's name is Op.
	Path  []string        `json:"path,omitempty"`
	Query url.Values      `json:"query,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`

	Change      *Change       `json:"change,omitempty"`
	Restatement *Restatement  `json:"restatement,omitempty"`
	Effect      *Effect       `json:"effect,omitempty"`
	Image       *imageEntry   `json:"image,omitempty"`
	Review      *Verdict      `json:"review,omitempty"`
	Subscriber  *Subscriber   `json:"subscriber,omitempty"`
	Sent        *Notification `json:"sent,omitempty"`
	Outcome     *outcome      `json:"outcome,omitempty"`
	Clock       *clockEntry   `json:"clock,omitempty"`
}

// imageEntry is what is kept of an image.
type imageEntry struct {
	Kind        string `json:"kind"`
	ContentType string `json:"content_type"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	Size        int    `json:"size"`
}

// clockEntry is a clock as it was set.
type clockEntry struct {
	Standing bool          `json:"standing,omitempty"`
	At       time.Time     `json:"at,omitzero"`
	From     time.Time     `json:"from,omitzero"`
	Speed    float64       `json:"speed,omitempty"`
	Shift    time.Duration `json:"shift,omitempty"`
}

// KeepState reads what a file holds of an earlier run, does it again, and adds to
// the file from now on. The file is made where there is none. It must be called
// before anything is asked of the service, and refuses the file of other accounts.
//
// What was answered is kept when the process is killed, but a failing system may lose
// the last of it. A last line that was not written whole is dropped. Where the file
// can't be written any more it keeps what it has, and CloseState tells.
func (s *Service) KeepState(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("state: %w", err)
	}
	raw = raw[:bytes.LastIndexByte(raw, '\n')+1]
	if err := s.replay(raw); err != nil {
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
	s.journal.mu.Lock()
	s.journal.path, s.journal.file = path, file
	s.journal.mu.Unlock()
	if len(raw) == 0 {
		s.beginJournal()
	}
	return nil
}

// CloseState forces the file to the disk, ends it, and tells what went wrong with it.
func (s *Service) CloseState() error {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	if s.journal.file == nil {
		return nil
	}
	err := errors.Join(s.journal.failure, s.journal.file.Sync(), s.journal.file.Close())
	s.journal.file = nil
	return err
}

// fingerprint is what a journal belongs to.
func (s *Service) fingerprint() string {
	var parts []string
	for _, own := range s.accounts {
		c := own.cfg
		part := fmt.Sprintf("seed %d, %d campaigns, %d creatives, %d rows, %d sources", c.Seed, c.Campaigns,
			c.CreativesPerCampaign, c.RowsPerDay, c.Sources)
		if c.Prepaid > 0 {
			part += ", prepaid " + exact(c.Prepaid)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// beginJournal writes the first line: whose journal it is, and the first day.
func (s *Service) beginJournal() {
	for _, own := range s.accounts {
		own.snapshot()
	}
	s.record(journalLine{Op: "accounts", Name: s.fingerprint()})
}

// record appends a line. What can't be written is told by CloseState.
func (s *Service) record(line journalLine) {
	j := s.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil || j.again || j.failure != nil {
		return
	}
	line.Account = s.cfg.index
	if line.At.IsZero() {
		line.At = s.clock.now()
	}
	raw, err := json.Marshal(line)
	if err == nil {
		_, err = j.file.Write(append(raw, '\n'))
	}
	if err != nil {
		j.failure = fmt.Errorf("state %s: %w", j.path, err)
	}
}

// recordCall records a write of the API that was done.
func (s *Service) recordCall(c *call, now time.Time) {
	body := c.raw
	if len(bytes.TrimSpace(body)) == 0 {
		body = nil
	}
	s.record(journalLine{Op: c.op.name, At: now, Path: c.path, Query: c.query, Body: body})
}

// replaying says whether the journal is being read.
func (s *Service) replaying() bool {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return s.journal.again
}

func (s *Service) setReplaying(on bool) {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	s.journal.again = on
}

// replay does again what the lines say, and leaves the clock as it was last set.
func (s *Service) replay(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	s.setReplaying(true)
	defer s.setReplaying(false)
	last := s.clock.entry()
	number := 0
	for text := range bytes.Lines(raw) {
		number++
		var line journalLine
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if number == 1 && (line.Op != "accounts" || line.Name != s.fingerprint()) {
			return fmt.Errorf("line 1: it is of %q, this is %q", line.Name, s.fingerprint())
		}
		if line.Clock != nil {
			last = *line.Clock
		}
		if line.Account >= len(s.accounts) {
			return fmt.Errorf("line %d: there is no account %d", number, line.Account)
		}
		s.clock.stand(line.At)
		if err := s.accounts[line.Account].redo(line); err != nil {
			return fmt.Errorf("line %d: %s: %w", number, line.Op, err)
		}
	}
	s.clock.restore(last)
	return nil
}

// redo does what a line says.
func (s *Service) redo(line journalLine) error {
	s.snapshot() // what was due until then
	switch line.Op {
	case "accounts":
		for _, own := range s.accounts { // their first day
			own.snapshot()
		}
		return nil
	case "clock":
		return nil
	case "change":
		_, err := s.change(*line.Change)
		return err
	case "review":
		return s.Review(*line.Review)
	case "balance":
		return s.SetBalance(line.Name)
	case "funds":
		return s.AddFunds(line.Amount)
	case "restate":
		_, err := s.Restate(line.Name, *line.Restatement)
		return err
	case "plant":
		return s.Plant(*line.Effect)
	case "freeze", "thaw":
		s.FreezeRestatements(line.Op == "freeze")
		return nil
	case "key":
		s.addKey(line.Name, line.Scope)
		return nil
	case "renew":
		return s.RenewKey(line.Name, line.Until)
	case "revoke":
		return s.RevokeKey(line.Name)
	case "image":
		in := line.Image
		s.mu.Lock()
		defer s.mu.Unlock()
		s.budgets = s.budgets.with(line.At, map[string]int{imageUpload: 1})
		s.addImage(&image{kind: in.Kind, contentType: in.ContentType, width: in.Width, height: in.Height,
			size: in.Size})
		return nil
	}
	if strings.HasPrefix(line.Op, "push_") {
		return s.redoPush(line)
	}
	return s.redoCall(line)
}

// redoCall does a write of the API.
func (s *Service) redoCall(line journalLine) error {
	st := s.snapshot()
	c := &call{st: &st, key: &apiKey{scope: scopeWrite}, query: line.Query, path: line.Path, raw: line.Body}
	for _, op := range s.operations {
		if op.name == line.Op {
			c.op = op
		}
	}
	if c.op == nil {
		return errors.New("there is no such thing to do")
	}
	if p := c.takeBody(); p != nil {
		return errors.New(p.message)
	}
	if rep := c.op.answer(s, c); rep.status >= http.StatusMultipleChoices {
		return fmt.Errorf("it is refused now: %s", rep.body)
	}
	return nil
}

// Reset puts everything back as it was at the start, of all accounts, but for the
// clock: what was changed, keys, images, notifications, faults, quirks and the log.
// The file of KeepState is emptied.
func (s *Service) Reset() error {
	for _, own := range s.accounts {
		own.resetAccount()
		own.resetAccess()
	}
	s.ClearFaults()
	if err := s.SetQuirks(s.cfg.Quirks...); err != nil {
		return err
	}
	s.ResetRequests()
	s.journal.mu.Lock()
	file := s.journal.file
	var err error
	if file != nil {
		if err = file.Truncate(0); err == nil {
			_, err = file.Seek(0, 0)
		}
		s.journal.failure = err // what could not be written before does not matter any more
	}
	s.journal.mu.Unlock()
	if file != nil && err == nil {
		s.beginJournal()
	}
	return err
}

func (s *Service) resetAccount() {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Numbers of states go on: what was computed for one is kept by its number.
	next := &changes{}
	if s.changes != nil {
		next.seq = s.changes.seq
	}
	s.changes, s.reviews, s.budgets, s.busy = next, nil, nil, map[string]time.Time{}
	s.images, s.uploads, s.keys = map[string]*image{}, 0, configuredKeys(&s.cfg)
	s.overlays, s.frozen, s.anchor, s.fundsChecked = nil, s.cfg.FreezeRestatements, 0, time.Time{}
	s.balanceRead = time.Time{}
	s.version++
	s.push.mu.Lock()
	defer s.push.mu.Unlock()
	s.push.subscribers = seededSubscribers(&s.cfg, s.account.seed)
	s.push.pending, s.push.broadcasts, s.push.outbox, s.push.numbers = nil, nil, nil, 0
}
