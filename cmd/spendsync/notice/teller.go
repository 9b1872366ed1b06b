package notice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/internal/config"
	"spendsync/load/durable"
)

// maxState exceeds the state of any account: 500 messages of a few hundred bytes.
const maxState = 16 << 20

// Folder is the folder of the data directory with the state of each account. It is not part of a generation, and may
// be deleted: all current findings are then reported again.
const Folder = "notices"

// Teller reports to receivers which findings start and which end. Each message is written to the store before it is
// sent, and removed after a receiver has accepted it: if a run dies in between, the next one sends it again under the
// same ID.
type Teller struct {
	Disk      durable.Disk
	Dir       string // the data directory
	Account   string
	Receivers []config.Receiver

	post func(context.Context, config.Receiver, []Message) error // nil: send them; of tests
}

// Tell adds the findings of a run and sends all waiting messages, to every receiver at the same time, until ctx ends.
// It returns an error for every receiver that did not accept everything; the next call sends the rest. If another
// run's Tell of the same account is active, it returns at once: that run sends the messages.
func (t *Teller) Tell(ctx context.Context, r Run) (err error) {
	folder := filepath.Join(t.Dir, Folder)
	if err := t.Disk.MakeDirs(folder); err != nil {
		return err
	}
	unlock, err := t.Disk.Lock(filepath.Join(folder, "account="+t.Account+".lock"))
	if err != nil {
		return durable.Storage(err)
	}
	if unlock == nil {
		return nil
	}
	defer func() { err = errors.Join(err, unlock.Close()) }()
	var names []string
	for _, receiver := range t.Receivers {
		names = append(names, receiver.Name)
	}
	r.Account = t.Account
	was, damaged := t.read()
	s, changed := was.update(r, names)
	s.keep(names)
	if changed || len(s.Outbox) != len(was.Outbox) {
		// From here on every message is sent, under its ID, whatever happens to this run.
		if err := t.write(s); err != nil {
			return errors.Join(damaged, err)
		}
	}
	return errors.Join(damaged, t.deliver(ctx, s), t.mailSheet(ctx, r))
}

// SheetDue reports whether somebody takes mail, and the sheet of a day was not mailed yet.
func (t *Teller) SheetDue(day string) bool {
	s, err := t.read()
	return err == nil && s.Sheet != day && slices.ContainsFunc(t.Receivers,
		func(r config.Receiver) bool { return r.Form == "mail" })
}

// mailSheet mails the weekly sheet, if it is due and was not mailed on this day. After a kill it is mailed again, under
// the same Message-ID.
func (t *Teller) mailSheet(ctx context.Context, r Run) error {
	s, err := t.read()
	if err != nil || r.SheetDay == "" || s.Sheet == r.SheetDay {
		return err
	}
	for _, to := range t.Receivers {
		if to.Form != "mail" {
			continue
		}
		if err := submit(ctx, to, sheetText(to, t.Account, r.SheetDay, r.At, r.Sheet)); err != nil {
			return fmt.Errorf("receiver %s, the weekly sheet: %w", to.Name, err)
		}
	}
	s.Format, s.Sheet = 1, r.SheetDay
	return t.write(s)
}

// deliver sends the waiting messages, in order for each receiver.
func (t *Teller) deliver(ctx context.Context, s state) error {
	var mu sync.Mutex // of s and its file
	errs := make([]error, len(t.Receivers))
	g := errgroup.Group{}
	queues := make([][]Message, len(t.Receivers))
	for i, receiver := range t.Receivers {
		for _, m := range s.Outbox {
			if slices.Contains(m.To, receiver.Name) {
				queues[i] = append(queues[i], m)
			}
		}
	}
	for i, receiver := range t.Receivers {
		waiting := queues[i]
		g.Go(func() error {
			for len(waiting) > 0 && errs[i] == nil {
				n := fits(receiver.Form, t.Account, waiting)
				if errs[i] = t.send(ctx, receiver, waiting[:n]); errs[i] != nil {
					errs[i] = fmt.Errorf("receiver %s, %d notices wait: %w", receiver.Name, len(waiting), errs[i])
					break
				}
				accepted := map[string]bool{}
				for _, m := range waiting[:n] {
					accepted[m.ID+m.State] = true
				}
				waiting = waiting[n:]
				mu.Lock()
				s.settle(receiver.Name, accepted)
				errs[i] = t.write(s)
				mu.Unlock()
			}
			return nil
		})
	}
	_ = g.Wait() // its functions return nil
	return errors.Join(errs...)
}

func (t *Teller) send(ctx context.Context, r config.Receiver, m []Message) error {
	if t.post != nil {
		return t.post(ctx, r, m)
	}
	return post(ctx, r, t.Account, m)
}

func (t *Teller) path() string {
	return filepath.Join(t.Dir, Folder, "account="+t.Account+".json")
}

// read returns the state. A damaged file counts as empty, with an error: better to report findings twice than never.
func (t *Teller) read() (s state, err error) {
	b, err := t.Disk.ReadFile(t.path(), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err == nil && s.Format != 1 {
		err = fmt.Errorf("format %d", s.Format)
	}
	if err != nil {
		return state{}, fmt.Errorf("%s cannot be read, what is wrong is told again: %w", t.path(), err)
	}
	return s, nil
}

// write replaces the file durably: afterwards the file is complete, or unchanged.
func (t *Teller) write(s state) error {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return replace(t.Disk, t.path(), b)
}
