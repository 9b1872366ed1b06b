package adsim

import (
	"fmt"
	"strings"

	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/world"
)

// KeepState replays the file of an earlier run, and appends changes to it from now
// on. It creates the file if there is none. It must be called before the first
// request, and refuses the file of other accounts.
//
// Answered writes survive a kill of the process, but a crash of the system may lose
// the last of them. An incomplete last line is dropped. If the file can't be written
// any more it keeps its lines, and CloseState returns the error.
func (s *Service) KeepState(path string) error {
	last := s.World.Clock.Entry()
	err := s.World.Journal.Open(path, s.fingerprint(), func(line world.Entry) error {
		if line.Op == "clock" {
			if err := line.Into(&last); err != nil {
				return err
			}
		}
		if line.Account >= len(s.accounts) {
			return fmt.Errorf("there is no account %d", line.Account)
		}
		s.World.Clock.Stand(line.At)
		return s.accounts[line.Account].redo(&line)
	}, func() { s.World.Clock.Restore(last); s.beginJournal() })
	s.World.Clock.Restore(last)
	return err
}

// CloseState forces the file to the disk, ends it, and returns what went wrong with it.
func (s *Service) CloseState() error { return s.World.Journal.Close() }

// fingerprint names the accounts that a journal belongs to.
func (s *Service) fingerprint() string {
	var parts []string
	for _, own := range s.accounts {
		c := own.World.Cfg
		part := fmt.Sprintf("seed %d, %d campaigns, %d creatives, %d rows, %d sources", c.Seed, c.Campaigns,
			c.CreativesPerCampaign, c.RowsPerDay, c.Sources)
		if c.Prepaid > 0 {
			part += ", prepaid " + jsontext.Exact(c.Prepaid)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// beginJournal writes the first line, and starts the first day of the accounts.
func (s *Service) beginJournal() {
	for _, own := range s.accounts {
		own.Snapshot()
	}
	s.Record(world.Entry{Op: "accounts", Name: s.fingerprint()})
}

// redo makes the change of a line again.
func (s *Service) redo(line *world.Entry) error {
	s.Snapshot() // everything due until then
	switch line.Op {
	case "accounts":
		for _, own := range s.accounts { // their first day
			own.Snapshot()
		}
		return nil
	case "clock":
		return nil
	}
	for _, redo := range []func(*world.Entry) (bool, error){s.World.Redo, s.Keys.Redo, s.Sender.Redo} {
		if known, err := redo(line); known {
			return err
		}
	}
	return s.api.Redo(line)
}

// Reset restores the initial state of all accounts, except the clock: it undoes changes, keys,
// images, notifications, faults, quirks and the log. The file of KeepState is emptied.
func (s *Service) Reset() error {
	for _, own := range s.accounts {
		own.World.Reset()
		own.Keys.Reset()
		own.Sender.Reset()
	}
	s.ClearFaults()
	if err := s.SetQuirks(s.accounts[0].World.Cfg.Quirks...); err != nil {
		return err
	}
	s.ResetRequests()
	kept, err := s.World.Journal.Empty()
	if kept && err == nil {
		s.beginJournal()
	}
	return err
}
