package job

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/extract/service"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/transform"
)

// Rebuild builds warehouse.duckdb, and all other derived files, from the Parquet files and the ledger.
func (j Job) Rebuild(ctx context.Context) (*Result, error) {
	return j.repair(ctx, "rebuild", func(m *repairRun) error {
		m.did = "warehouse.duckdb is built again from Parquet"
		return nil
	})
}

// Replay decodes the stored replies of the days from first to last again. It publishes the days whose rows then differ
// from the published rows. It does not contact the service.
func (j Job) Replay(ctx context.Context, first, last schema.Date) (*Result, error) {
	return j.repair(ctx, "replay", func(m *repairRun) error { return m.replay(ctx, first, last) })
}

// Accept accepts the difference that a note describes, so that it no longer makes runs exit with code 4. The note is
// given by its name; the name of a partial or doubtful day is its date. For a day, the stored numbers are accepted; any
// other difference is accepted up to its present size. If undo is true, Accept takes back an earlier acceptance. It
// publishes a generation, and does not contact the service. If there is no such note, Accept calls the parameter
// unknown with the list of valid names, and returns its error.
func (j Job) Accept(ctx context.Context, name string, undo bool, unknown func(names []string) error) (*Result,
	error) {
	return j.repair(ctx, "accept", func(m *repairRun) (err error) {
		account, at := m.store.Account(), schema.InstantOf(m.start)
		notes, text, ok := account.Accepting(name, at, j.RunID)
		if undo {
			notes, text, ok = account.TakingBack(name)
		}
		if m.part.Notes, m.did = notes, text; !ok {
			return unknown(account.Acceptable(at, undo))
		}
		return nil
	})
}

// offline is the state of a run that does not contact the service: a repair, or a reading of the operator's own files.
type offline struct {
	Job
	start time.Time
	store *load.Store
	area  *load.Area
	part  load.StagedChange // all staged changes except days of the report
}

// repairRun is a repair.
type repairRun struct {
	*offline
	command string
	names   func() map[string]string // of campaigns
	days    []load.StagedChange

	replayed, changed, skipped int
	unproven                   int           // days whose replies in quarantine still do not prove them
	released                   []schema.Date // days that are now proven by their replies in quarantine
	findings                   []finding
	did                        string // what the repair did, for the message
}

// offline opens the store of an account that has been published before, and calls a function with it.
func (j Job) offline(ctx context.Context, work func(*offline) error) error {
	store, err := j.openStored(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	area, err := store.Begin(j.RunID)
	if err != nil {
		return err
	}
	defer area.Discard()
	return work(&offline{Job: j, start: j.Now(), store: store, area: area, part: load.NewStagedChange()})
}

// openStored opens the store of an account that has been published before.
func (j Job) openStored(ctx context.Context) (*load.Store, error) {
	store, err := load.Open(ctx, j.DataDir, j.Account, j.Store)
	if err != nil {
		return nil, err
	}
	if store.Manifest() == nil {
		err = fmt.Errorf("%s: %w", j.DataDir, durable.ErrEmpty)
	} else if stored := store.Manifest().AccountNames(); !slices.Contains(stored, j.Account) {
		err = exit.Usagef("%s has no account %q; set SPENDSYNC_ACCOUNT to %s",
			j.DataDir, j.Account, strings.Join(stored, " or "))
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// repair opens the store, calls a function, and publishes a generation. Unless a note was accepted, it builds the
// DuckDB file from nothing.
func (j Job) repair(ctx context.Context, command string, work func(*repairRun) error) (res *Result, err error) {
	err = j.offline(ctx, func(o *offline) error {
		m := &repairRun{offline: o, command: command, names: storedNames(o.store)}
		if err := work(m); err != nil {
			return err
		}
		m.part.Since = ReachFrom(m.start)
		_, err := m.store.Publish(ctx, load.Publication{Area: m.area, Changes: append(m.days, m.part),
			Repair: command != "accept",
			Record: func(o load.Preview) load.RunRecord {
				res = &Result{Run: m.row(o), Failures: len(m.findings)}
				return load.RunRecord{Run: res.Run}
			}})
		if d, ok := errors.AsType[*durable.Damage](err); ok && command == "replay" && d.Repair == durable.RepairReplay {
			d.Repair = "spendsync verify" // the replies of its day are damaged, too
		}
		if err != nil {
			return err
		}
		for _, day := range m.released {
			if err := m.store.Quarantine().Remove(day); err != nil {
				m.Log.Warn("a day that is published could not be removed from quarantine", "day", day.String(),
					"error", err)
			}
		}
		return nil
	})
	return res, err
}

// row returns the repair's line in the ledger.
func (m *repairRun) row(o load.Preview) schema.Run {
	text := fmt.Sprintf("published generation %d: %s", o.Generation, m.did)
	code := exit.OK
	var errs []error
	for _, err := range o.ViewErrors {
		code = exit.Partial
		text += "; " + finding{what: "views", err: err}.String()
	}
	for _, f := range m.findings {
		errs = append(errs, f.err)
		text += "; " + f.String()
	}
	if err := errors.Join(errs...); err != nil {
		code = exit.Of(err)
	}
	row := endOf(m.Job, m.command, m.start, code, text)
	row.Published, row.Generation = true, o.Generation
	row.DaysChanged, row.Restatements = int64(m.changed), int64(o.Restatements)
	return row
}

// replay decodes the stored replies of all days in a range again, and stages the days that differ.
func (m *repairRun) replay(ctx context.Context, first, last schema.Date) error {
	account := m.store.Account()
	for _, day := range account.DayList() {
		if day < first || day > last {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.replayDay(ctx, day, account.Days[day]); err != nil { // the other days are still replayed
			m.findings = append(m.findings, finding{what: "spend " + day.String(), err: err})
			m.Log.Warn("the day could not be made again", "day", day.String(), "error", err)
		}
	}
	if err := m.replayQuarantine(ctx, first, last); err != nil {
		return err
	}
	m.did = fmt.Sprintf("%s read again from the stored replies, %d changed, %d without replies",
		cli.Count(m.replayed, "day"), m.changed, m.skipped)
	if n := len(m.released); n > 0 {
		m.did += fmt.Sprintf(", %s proven from quarantine", cli.Count(n, "day"))
	}
	if m.unproven > 0 {
		m.did += fmt.Sprintf(", %s in quarantine not proven by this version", cli.Count(m.unproven, "day"))
	}
	return nil
}

// isDamaged reports whether the Parquet file of a published day is damaged. If so, the stored replies are the only copy
// of the rows.
func (m *repairRun) isDamaged(day schema.Date) (bool, error) {
	for _, err := range m.store.StoredDay(day) {
		if errors.Is(err, durable.ErrDamaged) {
			m.Log.Warn("the stored file is damaged and is made again from the replies", "day", day.String(),
				"error", err)
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

func (m *repairRun) replayDay(ctx context.Context, day schema.Date, stored *manifest.Day) error {
	damaged, err := m.isDamaged(day)
	if err != nil {
		return err
	}
	if len(m.store.Account().RawPages(day)) == 0 {
		if damaged {
			return fmt.Errorf("the stored file is damaged, and no replies are kept of this day: %w", durable.ErrDamaged)
		}
		m.skipped++
		return nil
	}
	at := schema.InstantOf(m.start)
	if damaged {
		// Only the damaged file had the times when the rows were first seen. It is certain that they existed at the
		// last read.
		at = stored.LastReadAt
	}
	replies := m.store.Replies(m.area, day)
	read, err := m.decode(day, at, stored, replies.Pages())
	if err != nil {
		return fmt.Errorf("its replies: %w", err)
	}
	m.replayed++
	if read.hash == stored.ContentHash && stored.Refused == read.DayRows.Refused &&
		stored.Unread == read.DayRows.Unread && !damaged {
		return nil
	}
	m.changed++
	stage := load.DayRead{ReadAt: at, ReadOutcome: read.ReadOutcome, Replayed: true, Damaged: damaged}
	if damaged {
		stage.Names = m.names
	}
	staged, err := replies.Stage(ctx, stage, read.day)
	if err == nil {
		m.days = append(m.days, staged.StagedChange)
	}
	return err
}

// decode decodes the stored replies of a day. It returns an error if rows are refused now, but none was refused before.
func (m *repairRun) decode(day schema.Date, at schema.Instant, stored *manifest.Day,
	pages iter.Seq2[[]byte, error]) (*dayRead, error) {
	read := m.newRead(day, at, transform.NewInterner())
	err := read.AddReplies(stored.Pieces, pages, nil)
	if err == nil && read.DayRows.Refused > 0 && stored.Refused == 0 {
		err = read.First
	}
	if err == nil {
		err = read.seal()
	}
	if err == nil && read.day == nil {
		err = errors.New(read.duplicate)
	}
	return read, err
}

// RowsOfReplies returns a function for the store that decodes the stored replies of a day.
func RowsOfReplies(s *service.Service) load.ReadRaw {
	return func(account string, day schema.Date, pieces []schema.Piece, pages iter.Seq2[[]byte, error]) (
		*schema.SpendRows, error) {
		read := transform.NewDayRows(transform.SpendContext{Account: account, Day: day, Service: s},
			transform.NewInterner())
		return read.Rows, read.AddReplies(pieces, pages, nil)
	}
}

// replayQuarantine stages the days of a range that this version of spendsync can prove by their replies in quarantine.
func (m *repairRun) replayQuarantine(ctx context.Context, first, last schema.Date) error {
	days, err := m.store.Quarantine().Days()
	if err != nil {
		return err
	}
	days = slices.DeleteFunc(days, func(q quarantine.Day) bool { return q.Date < first || q.Date > last })
	if len(days) == 0 {
		return nil
	}
	stored, err := readCampaigns(m.DataDir, m.Account, m.store.Account())
	if err != nil {
		return err
	}
	ours := witnesses{}
	ours.add(slices.Collect(maps.Keys(stored)))
	taken, left, err := quarantineReader{m.Job, m.store, m.area, ours, m.names}.prove(ctx, days)
	for _, t := range taken {
		m.released, m.days = append(m.released, t.Date), append(m.days, t.StagedChange)
	}
	m.changed += len(taken)
	m.unproven += len(left)
	return err
}
