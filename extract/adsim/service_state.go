package adsim

import (
	"fmt"
	"strings"
)

// KeepState reads what a file holds of an earlier run, does it again, and adds to
// the file from now on. The file is made where there is none. It must be called
// before anything is asked of the service, and refuses the file of other accounts.
//
// What was answered is kept when the process is killed, but a failing system may lose
// the last of it. A last line that was not written whole is dropped. Where the file
// can't be written any more it keeps what it has, and CloseState tells.
func (s *Service) KeepState(path string) error {
	last := s.world.clock.entry()
	err := s.world.journal.open(path, s.fingerprint(), func(line journalLine) error {
		if line.Op == "clock" {
			if err := line.into(&last); err != nil {
				return err
			}
		}
		if line.Account >= len(s.accounts) {
			return fmt.Errorf("there is no account %d", line.Account)
		}
		s.world.clock.stand(line.At)
		return s.accounts[line.Account].redo(&line)
	}, func() { s.world.clock.restore(last); s.beginJournal() })
	s.world.clock.restore(last)
	return err
}

// CloseState forces the file to the disk, ends it, and returns what went wrong with it.
func (s *Service) CloseState() error { return s.world.journal.close() }

// fingerprint names the accounts that a journal belongs to.
func (s *Service) fingerprint() string {
	var parts []string
	for _, own := range s.accounts {
		c := own.world.cfg
		part := fmt.Sprintf("seed %d, %d campaigns, %d creatives, %d rows, %d sources", c.Seed, c.Campaigns,
			c.CreativesPerCampaign, c.RowsPerDay, c.Sources)
		if c.Prepaid > 0 {
			part += ", prepaid " + exact(c.Prepaid)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// beginJournal writes the first line, and begins the first day of the accounts.
func (s *Service) beginJournal() {
	for _, own := range s.accounts {
		own.snapshot()
	}
	s.record(journalLine{Op: "accounts", Name: s.fingerprint()})
}

// redo makes the change of a line again.
func (s *Service) redo(line *journalLine) error {
	s.snapshot() // what was due until then
	switch line.Op {
	case "accounts":
		for _, own := range s.accounts { // their first day
			own.snapshot()
		}
		return nil
	case "clock":
		return nil
	}
	for _, redo := range []func(*journalLine) (bool, error){s.world.redo, s.keyRing.redo, s.sender.redo} {
		if known, err := redo(line); known {
			return err
		}
	}
	return s.api.redo(line)
}

// Reset puts everything back as it was at the start, of all accounts, but for the
// clock: what was changed, keys, images, notifications, faults, quirks and the log.
// The file of KeepState is emptied.
func (s *Service) Reset() error {
	for _, own := range s.accounts {
		own.world.reset()
		own.keyRing.reset()
		own.sender.reset()
	}
	s.ClearFaults()
	if err := s.SetQuirks(s.accounts[0].world.cfg.Quirks...); err != nil {
		return err
	}
	s.ResetRequests()
	kept, err := s.world.journal.empty()
	if kept && err == nil {
		s.beginJournal()
	}
	return err
}
