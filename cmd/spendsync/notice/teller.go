package notice

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/internal/config"
	"spendsync/load/durable"
)

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
	s := was.update(r, names)
	s.keep(names)
	if !reflect.DeepEqual(s.Open, was.Open) || len(s.Outbox)+len(was.Outbox) > 0 {
		// From here on every message is sent, under its ID, whatever happens to this run.
		if err := t.write(s); err != nil {
			return errors.Join(damaged, err)
		}
	}
	return errors.Join(damaged, t.deliver(ctx, s))
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

// note is the name of the account's note beside the store.
func (t *Teller) note() string { return "account=" + t.Account + ".json" }

// read returns the state. A damaged one counts as empty, with an error: better to report findings twice than never.
func (t *Teller) read() (s state, err error) {
	if err = Read(t.Disk, t.Dir, t.note(), &s); err != nil {
		return state{}, fmt.Errorf("what is wrong is told again: %w", err)
	}
	return s, nil
}

func (t *Teller) write(s state) error { return Write(t.Disk, t.Dir, t.note(), s) }
