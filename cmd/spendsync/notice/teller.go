package notice

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"sync"

	"spendsync/cmd/internal/config"
	"spendsync/load/durable"
)

// Teller sends messages to all receivers when a finding starts or ends. A message is stored before it is sent, and
// deleted once its receiver has accepted it. If a run dies in between, the next run sends the message again with the
// same ID.
type Teller struct {
	Disk      durable.Disk
	Dir       string // data directory
	Account   string
	Receivers []config.Receiver
	Post      func(ctx context.Context, to config.Receiver, account string, all []Message) error // [Post]
}

// Tell adds the findings of a run to the state. It then sends all stored messages, to all receivers at the same time,
// until ctx ends. It returns an error for each receiver that did not accept all of its messages; the next call sends
// the rest. If another process is in Tell for the same account, Tell returns nil at once without adding anything.
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
	r.Account = t.Account
	note := StateOf(t.Account)
	var was state
	// If the stored state is damaged, begin with an empty one: findings are then reported twice, which is better than
	// never.
	damaged := Read(t.Disk, t.Dir, note, &was)
	if damaged != nil {
		was, damaged = state{}, fmt.Errorf("what is wrong is told again: %w", damaged)
	}
	s := was.update(r, t.Receivers)
	write := func() error { return Write(t.Disk, t.Dir, note, s) }
	if !reflect.DeepEqual(s, was) {
		// From here on, no message is lost: if this run dies, the next run sends it with the same ID.
		if err := write(); err != nil {
			return errors.Join(damaged, err)
		}
	}
	return errors.Join(damaged, t.deliver(ctx, s.Waiting, write))
}

// deliver sends the stored messages. Each receiver gets them in order. The state is stored after every request.
func (t *Teller) deliver(ctx context.Context, all map[string][]Message, write func() error) error {
	var mu sync.Mutex // guards the messages of all receivers, and the state's file
	errs := make([]error, len(t.Receivers))
	var g sync.WaitGroup
	before := maps.Clone(all)
	for i, receiver := range t.Receivers {
		waiting := before[receiver.Name]
		g.Go(func() {
			for len(waiting) > 0 && errs[i] == nil {
				n := fits(receiver.Form, t.Account, waiting)
				if err := t.Post(ctx, receiver, t.Account, waiting[:n]); err != nil {
					errs[i] = fmt.Errorf("receiver %s, %d notices wait: %w", receiver.Name, len(waiting), err)
					return
				}
				waiting = waiting[n:]
				mu.Lock()
				all[receiver.Name] = waiting
				errs[i] = write()
				mu.Unlock()
			}
		})
	}
	g.Wait()
	return errors.Join(errs...)
}
