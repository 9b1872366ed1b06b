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

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/transform"
)

// Rebuild builds the DuckDB file from the Parquet files and the ledger, and what else follows from them.
func (j Job) Rebuild(ctx context.Context) (*Result, error) {
	return j.repair(ctx, "rebuild", func(*offlineRun) error { return nil })
}

// Replay rebuilds the days from first to last from their stored replies, and publishes those that differ from the
// published ones. The service is not contacted.
func (j Job) Replay(ctx context.Context, first, last schema.Date) (*Result, error) {
	return j.repair(ctx, "replay", func(m *offlineRun) error { return m.replay(ctx, first, last) })
}

// offlineRun is a run that publishes without asking the service anything.
type offlineRun struct {
	Job
	command string
	start   time.Time
	store   *load.Store
	area    *load.Area
	part    load.Part // of the settings
	days    []load.Part

	replayed, changed, skipped int
	filled                     int           // versions of settings whose JSON yields more now
	unproven                   int           // days in quarantine whose replies do not prove them
	released                   []schema.Date // days that the replies in quarantine have proven
	findings                   []finding
}

// openStored opens the store of an account that something is published of.
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

// repair opens the store, does the work, and publishes a generation whose DuckDB
// file is built from nothing.
func (j Job) repair(ctx context.Context, command string, work func(*offlineRun) error) (*Result, error) {
	store, err := j.openStored(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	m := &offlineRun{Job: j, command: command, start: j.Now(), store: store, part: load.NewPart()}
	if m.area, err = store.Begin(j.RunID); err != nil {
		return nil, err
	}
	defer m.area.Discard()
	if err := work(m); err != nil {
		return nil, err
	}
	var row schema.Run
	m.part.Since = ReachFrom(m.start)
	_, err = store.Publish(ctx, load.Publication{Area: m.area, Parts: append(m.days, m.part), Repair: true,
		Record: func(o load.Preview) load.RunRecord {
			row = m.row(o)
			return load.RunRecord{Run: row}
		}})
	if err != nil {
		return nil, err
	}
	for _, day := range m.released {
		if err := m.store.Quarantine().Remove(day); err != nil {
			m.Log.Warn("a day that is published could not be removed from quarantine", "day", day.String(),
				"error", err)
		}
	}
	return &Result{Run: row, Failures: len(m.findings)}, nil
}

// row is the repair's line in the ledger.
func (m *offlineRun) row(o load.Preview) schema.Run {
	text := fmt.Sprintf("published generation %d: warehouse.duckdb is built again from Parquet", o.Generation)
	if m.command == "replay" {
		text = fmt.Sprintf("published generation %d: %s read again from the stored replies, %d changed, %d "+
			"without replies",
			o.Generation, phrase.Count(m.replayed, "day"), m.changed, m.skipped)
		if n := len(m.released); n > 0 {
			text += fmt.Sprintf(", %s proven from quarantine", phrase.Count(n, "day"))
		}
		if m.filled > 0 {
			text += fmt.Sprintf(", %s of settings filled in", phrase.Count(m.filled, "version"))
		}
		if m.unproven > 0 {
			text += fmt.Sprintf(", %s in quarantine not proven by this version", phrase.Count(m.unproven, "day"))
		}
	}
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

// note names a day that could not be made again.
func (m *offlineRun) note(day schema.Date, err error) {
	m.findings = append(m.findings, finding{what: "spend " + day.String(), err: err})
	m.Log.Warn("the day could not be made again", "day", day.String(), "error", err)
}

// replay makes the days of a range again.
func (m *offlineRun) replay(ctx context.Context, first, last schema.Date) error {
	known := m.store.Account()
	for _, day := range known.DayList() {
		if day < first || day > last {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.replayDay(ctx, day, known.Days[day]); err != nil {
			m.note(day, err)
		}
	}
	return errors.Join(m.replayQuarantine(ctx, first, last), m.replaySettings())
}

var errNoReplies = errors.New("no replies are kept of this day")

// isDamaged reports whether the published rows of a day cannot be read: then the replies are the only copy.
func (m *offlineRun) isDamaged(day schema.Date) (bool, error) {
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

func (m *offlineRun) replayDay(ctx context.Context, day schema.Date, known *manifest.Day) error {
	damaged, err := m.isDamaged(day)
	if err != nil {
		return err
	}
	if len(m.store.Account().RawPages(day)) == 0 {
		if damaged {
			return fmt.Errorf("the stored file is damaged, and %w: %w", errNoReplies, durable.ErrDamaged)
		}
		m.skipped++
		return nil
	}
	c := transform.SpendContext{Account: m.Account, RunID: m.RunID, Day: day, SeenAt: schema.InstantOf(m.start),
		Service: m.Service}
	if damaged {
		// Nobody knows any more when each row was first seen: not after this.
		c.SeenAt = known.LastReadAt
	}
	replies := m.store.Replies(m.area, day)
	read, err := rowsOf(c, replies.Pages())
	if err == nil && read.Refused > 0 && known.Refused == 0 {
		err = read.first
	}
	stored, kept := m.store.StoredDay(day), known.Kept
	if damaged {
		kept, stored = nil, func(func([]schema.Spend, error) bool) {}
	}
	var sealed *history.Day
	if err == nil {
		sealed, err = known.Seal(read.rows, stored)
	}
	if err != nil {
		return fmt.Errorf("its replies: %w", err)
	}
	m.replayed++
	if sealed.Hash() == known.ContentHash && known.Refused == read.Refused && known.Unread == read.Unread &&
		!damaged {
		return nil
	}
	m.changed++
	means := known.Meaning
	means.Rounded, means.Refused, means.Kept = read.Rounded, read.Refused, kept
	means.Unread, means.UnreadForms = read.Unread, read.UnreadForms
	staged, err := replies.Stage(ctx, load.DayRead{ReadAt: c.SeenAt, Facts: manifest.Facts{Meaning: means},
		Replayed: true, Damaged: damaged}, sealed)
	if err == nil {
		m.days = append(m.days, staged.Part)
	}
	return err
}

// RowsOfReplies returns a function that makes the rows of a day again from its stored replies.
func RowsOfReplies(s *service.Service) func(string, schema.Date, iter.Seq2[[]byte, error]) (*schema.SpendRows, error) {
	return func(account string, day schema.Date, pages iter.Seq2[[]byte, error]) (*schema.SpendRows, error) {
		read, err := rowsOf(transform.SpendContext{Account: account, Day: day, Service: s}, pages)
		if err != nil {
			return nil, err
		}
		return read.rows, nil
	}
}

// rowsOf reads the replies of a day, whatever they prove.
func rowsOf(c transform.SpendContext, pages iter.Seq2[[]byte, error]) (*dayRead, error) {
	read, intern := &dayRead{rows: &schema.SpendRows{}}, transform.NewInterner()
	for body, err := range pages {
		if err != nil {
			return nil, err
		}
		page, err := extract.DecodeSpend(c.Service, body)
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", read.pages+1, err)
		}
		read.add(page, c, intern)
	}
	return read, nil
}

// replayQuarantine stages the days of a range that the replies in quarantine prove by now.
func (m *offlineRun) replayQuarantine(ctx context.Context, first, last schema.Date) error {
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
	taken, left, err := kept{m.Job, m.store, m.area, ours}.take(ctx, days)
	for _, t := range taken {
		m.released, m.days = append(m.released, t.Date), append(m.days, t.Part)
	}
	m.changed += len(taken)
	m.unproven += len(left)
	return err
}

// replaySettings fills columns of the settings that no earlier version could read from the JSON that each version
// keeps. A value that is known stays.
func (m *offlineRun) replaySettings() error {
	c := transform.SettingsContext{Account: m.Account, RunID: m.RunID, Service: m.Service}
	return errors.Join(
		fillSettings(m, schema.CampaignHistory, func(v *schema.Campaign) (schema.Campaign, transform.Decoded, error) {
			// Nobody knows whether it is the JSON of the single read, which leaves out nothing.
			return transform.Campaign(m.reread(extract.KindCampaign, v.CampaignID, v.Raw), extract.Entity{}, c)
		}),
		fillSettings(m, schema.CreativeHistory, func(v *schema.Creative) (schema.Creative, transform.Decoded, error) {
			return transform.Creative(m.reread(extract.KindCreative, v.CreativeID, v.Raw), v.CampaignID.V, c)
		}, imageURLs...),
		fillSettings(m, schema.SourceModeHistory, func(v *schema.SourceMode) (schema.SourceMode, transform.Decoded,
			error) {
			read, err := transform.Sources(m.reread(extract.KindSources, v.CampaignID, v.Raw), v.CampaignID, c)
			read.Unread = slices.DeleteFunc(read.Unread, func(column string) bool { return column != "source_mode" })
			return read.Mode, read.Decoded, err
		}, "bids_last_read_at"))
}

// reread returns the entity in the JSON of a version; the zero Entity if it is not understood.
func (m *offlineRun) reread(kind, id string, raw schema.Null[string]) extract.Entity {
	e, _ := extract.ParseEntity(m.Service, kind, id, []byte(raw.V))
	return e
}

// fillSettings fills the versions of a table, but for some columns, which the JSON does not have. A key that is missing
// or damaged says nothing: the run that read it has decided whether it was unset.
func fillSettings[R any, P history.Versioned[R]](m *offlineRun, t schema.TableOf[R],
	read func(*R) (R, transform.Decoded, error), but ...string) error {
	h, err := load.StoredHistory[R, P](m.store, t)
	if err != nil {
		return err
	}
	raw := t.ColumnsNamed("raw")[0]
	next, filled, err := history.Fill[R, P](t, h, m.RunID, func(v *R) (s history.Seen[R], ok bool) {
		if t.ColumnEqual(v, new(R), raw) {
			return s, false
		}
		row, decoded, err := read(v)
		unread := slices.Concat(decoded.Unread, decoded.Missing, decoded.Blank, but)
		for _, text := range decoded.Texts {
			unread = append(unread, text.Column)
		}
		slices.Sort(unread)
		return history.Seen[R]{Row: row, Unread: slices.Compact(unread)}, err == nil
	})
	if err != nil || filled == 0 {
		return err
	}
	m.filled += filled
	return load.PutHistory[R, P](m.store, m.area, &m.part, t, next)
}
