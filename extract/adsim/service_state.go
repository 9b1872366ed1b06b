package adsim

import (
	"fmt"
	"strings"

	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/world"
)

// KeepState reads what a file holds of an earlier run, does it again, and adds to
// the file from now on. The file is made if there is none. It must be called
// before anything is asked of the service, and refuses the file of other accounts.
//
// What was answered is kept when the process is killed, but a failing system may lose
// the last of it. A last line that was not written whole is dropped. Where the file
// can't be written any more it keeps its lines, and CloseState returns the error.
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

// beginJournal writes the first line, and begins the first day of the accounts.
func (s *Service) beginJournal() {
	for _, own := range s.accounts {
		own.Snapshot()
	}
	s.Record(world.Entry{Op: "accounts", Name: s.fingerprint()})
}

// redo makes the change of a line again.
func (s *Service) redo(line *world.Entry) error {
	s.Snapshot() // what was due until then
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

// Reset puts everything back as it was at the start, of all accounts, but for the
// clock: what was changed, keys, images, notifications, faults, quirks and the log.
// The file of KeepState is emptied.
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
