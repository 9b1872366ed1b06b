package notice

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

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
	Post      func(ctx context.Context, to config.Receiver, account string, all []Message) error // [Post]
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
	s.drop(func(_ Message, to string) bool { return !slices.Contains(names, to) })
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
	var g sync.WaitGroup
	for i, receiver := range t.Receivers {
		mu.Lock()
		waiting := slices.DeleteFunc(slices.Clone(s.Outbox), func(m Message) bool {
			return !slices.Contains(m.To, receiver.Name)
		})
		mu.Unlock()
		g.Go(func() {
			for len(waiting) > 0 && errs[i] == nil {
				batch := waiting[:fits(receiver.Form, t.Account, waiting)]
				if err := t.Post(ctx, receiver, t.Account, batch); err != nil {
					errs[i] = fmt.Errorf("receiver %s, %d notices wait: %w", receiver.Name, len(waiting), err)
					return
				}
				waiting = waiting[len(batch):]
				mu.Lock()
				s.drop(func(m Message, to string) bool {
					return to == receiver.Name && slices.ContainsFunc(batch, func(b Message) bool {
						return b.ID == m.ID && b.State == m.State
					})
				})
				errs[i] = t.write(s)
				mu.Unlock()
			}
		})
	}
	g.Wait()
	return errors.Join(errs...)
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
