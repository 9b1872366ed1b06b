package load

import (
	"errors"
	"path/filepath"
	"slices"
	"time"

	"spendsync/load/commit"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// AppendRun adds the end of a run that published nothing to the ledger, or
// nothing after the generation that it names: its last line counts. The next
// published generation shows it in ops.run.
func (s *Store) AppendRun(run schema.Run, steps []schema.Step) error {
	lines, err := manifest.EncodeLedger(manifest.LedgerRows{Runs: []schema.Run{run}, Steps: steps})
	if err != nil {
		return err
	}
	// A generation that reached its commit contains a ledger that records the run as published, and the commit makes
	// that true. If the run knows of its generation, its own record is kept: a later step failed.
	if r, err := commit.Read(s.opts.disk, s.dir, s.base); err != nil || r != nil && r.RunID == run.RunID {
		return err
	}
	m, err := manifest.ReadRoot(s.opts.disk, s.dir, s.base)
	if err == nil && m.RunID == run.RunID && m.Generation > run.Generation {
		return nil
	}
	return appendLedger(s, run.RunID, run.FinishedAt.Time(), lines)
}

// RecordLost records that a run ends now with the exit code that reports lost days. A run that stops, fails
// or dies before has reported nothing: the next one will.
func (s *Store) RecordLost(run schema.Run, days []schema.Date) error {
	if len(days) == 0 {
		return nil
	}
	lost := []manifest.ReportedLost{{RunID: run.RunID, Days: days}}
	lines, err := manifest.EncodeLedger(manifest.LedgerRows{Lost: lost})
	if err != nil {
		return err
	}
	return appendLedger(s, run.RunID, run.FinishedAt.Time(), lines)
}

// appendLedger adds lines to the ledger of a month. It replaces the file by a longer one.
func appendLedger(s *Store, runID string, at time.Time, lines []byte) error {
	path := manifest.LedgerPath(s.account, at)
	old, err := manifest.ReadLedger(s.opts.disk, s.dir, path)
	if err != nil {
		return err
	}
	draft := filepath.Join(s.dir, "staging", s.account+"."+runID+".ledger"+commit.StagedSuffix)
	if _, _, err := s.opts.disk.WriteFile(draft, slices.Concat(old, lines)); err != nil {
		return err
	}
	to := filepath.Join(s.dir, path)
	if err := s.opts.disk.MakeDirs(filepath.Dir(to)); err != nil {
		return err
	}
	if err := s.opts.disk.Rename(draft, to); err != nil {
		return errors.Join(durable.Storage(err), s.opts.disk.RemoveIfThere(draft))
	}
	return s.opts.disk.SyncNames(s.dir, map[string]bool{filepath.Dir(to): true})
}
