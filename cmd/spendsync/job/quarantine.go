package job

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/transform"
)

// quarantine keeps what was received of a day that could not be proven, for a later version
// of spendsync may understand it. Where the service gave no answer there is nothing to keep.
func (r *run) quarantine(ctx context.Context, day schema.Date, began schema.Instant, cause error) {
	reply := extract.TakeReply(cause)
	if ctx.Err() != nil || exit.Of(cause) != exit.Contract || errors.Is(cause, extract.ErrUnreachable) {
		return
	}
	q := quarantine.Day{
		Date: day, ReadAt: schema.InstantOf(r.clock.surely(began.Time())), Reason: cause.Error(),
		PageSize: r.Plan.PageSize,
	}
	if totals, err := r.totals.all(ctx); err == nil && totals.Exists {
		total := totals.ByDay[day]
		q.ControlTotal = manifest.ControlTotal{Spend: schema.Some(total.Spend), Clicks: total.Clicks}
	}
	if err := r.staged.Quarantine(q, reply); err != nil {
		r.Log.Warn("the replies of a day that is not proven could not be kept", "day", day.String(), "error", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quarantined++
}

// tidyQuarantine lets go of the days that are published now, and of what is too old or too
// much. It returns how many days are in quarantine.
func (r *run) tidyQuarantine(published bool) (left int) {
	var errs []error
	if published {
		for _, day := range r.stored {
			errs = append(errs, r.store.Quarantine().Remove(day))
		}
	}
	left, err := r.store.Quarantine().Prune(r.Now())
	if err = errors.Join(append(errs, err)...); err != nil {
		r.Log.Warn("the quarantine could not be tidied; the next run tries again", "error", err)
	}
	return left
}

// quarantineSentence says where the replies of days are that could not be proven, and what
// helps; nothing where there are none.
func (r *run) quarantineSentence() string {
	if r.quarantined == 0 {
		return ""
	}
	return fmt.Sprintf("; the replies are kept in %s: report the message with one of them to the maintainers of "+
		"spendsync; after an update 'spendsync replay' reads them again", quarantine.FolderOf(r.Account))
}

// replayQuarantine proves the days of a range that are in quarantine by their replies, as a
// sync would have, and stages those that it can prove now.
func (m *repairer) replayQuarantine(ctx context.Context, first, last schema.Date) error {
	days, err := m.store.Quarantine().Days()
	if err != nil {
		return err
	}
	for _, q := range days {
		if q.Date < first || q.Date > last {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.replayQuarantined(ctx, q); err != nil {
			if errors.Is(err, durable.ErrStorage) {
				return err
			}
			m.unproven++
			m.Log.Warn("the replies in quarantine do not prove the day", "day", q.Date.String(), "error", err)
			if err := m.staged.DropRaw(q.Date); err != nil {
				return err
			}
			continue
		}
		m.released = append(m.released, q.Date)
		m.changed++
	}
	return nil
}

// replayQuarantined stages a day of which the replies in quarantine prove more than what is
// stored.
func (m *repairer) replayQuarantined(ctx context.Context, q quarantine.Day) error {
	account := m.store.Account()
	known := account.Days[q.Date]
	if q.Date < account.Since {
		return fmt.Errorf("the account's coverage begins with %s", account.Since)
	}
	if known != nil && !known.LastReadAt.Time().Before(q.ReadAt.Time()) {
		return errors.New("what is stored was read later")
	}
	c := transform.SpendContext{Account: m.Account, RunID: m.RunID, Day: q.Date, SeenAt: q.ReadAt}
	rows, intern, rounded, unread, noClick := &schema.SpendRows{}, transform.NewInterner(), 0, 0, false
	for page, err := range extract.ProveSpend(q.Date, q.PageSize, m.store.Quarantine().Replies(q)) {
		if err != nil {
			return err
		}
		before := rows.Len()
		became := transform.AppendSpend(rows, page, c, intern)
		if len(became.Refused) > 0 {
			return &became.Refused[0].RowError
		}
		rounded += became.Rounded
		unread, noClick = unread+len(became.Unread), noClick || became.UnreadClicks
		err := m.staged.PutRaw(q.Date, page.Number, page.Raw, int64(rows.Len()-before), page.Fingerprint)
		if err != nil {
			return err
		}
	}
	day, err := history.NewDay(rows)
	if err != nil {
		return err
	}
	if err := m.proveWhose(campaignsOf(rows)); err != nil {
		return err
	}
	sums := day.Sums()
	if noClick {
		sums.Clicks = schema.Null[int64]{}
	}
	control, err := controlOf(q, known, sums, rounded)
	if err != nil {
		return err
	}
	_, err = m.staged.PutDay(ctx, load.DayRead{
		Day: q.Date, ReadAt: q.ReadAt, Control: control, ControlTotal: q.ControlTotal, Rounded: rounded,
		Unread: int64(unread),
	}, day)
	return err
}

// proveWhose returns an error if no campaign of a day in quarantine is one that the settings
// have described: its replies may be another account's. The stored rows and stubs may be of
// the same report, so they prove nothing.
func (m *repairer) proveWhose(campaigns []string) error {
	known, err := readCampaigns(m.store)
	if err != nil {
		return err
	}
	for _, id := range campaigns {
		if known[id] {
			return nil
		}
	}
	if !slices.ContainsFunc(campaigns, func(id string) bool { return id != "" }) {
		return nil // it names none
	}
	return fmt.Errorf("whose report it is is not proven: the settings have none of its campaigns: %s",
		someOf("campaign", campaigns))
}

// controlOf holds a day from quarantine to what a sync asks of one: it agrees with the
// service's total of that time, or there is none and nothing proven is replaced.
func controlOf(q quarantine.Day, known *manifest.Day, sums history.Sums, rounded int) (string, error) {
	switch over := !q.ReadAt.Time().Before(q.Date.End()); {
	case suspicious(known, sums):
		return "", fmt.Errorf("%d rows are far less than the %d that are stored", sums.Rows, known.Sums.Rows)
	case !over && known != nil && known.WasOver(q.Date):
		return "", errors.New("the day went on when it was read")
	case !over:
		return schema.ControlOpen, nil
	case q.ControlTotal.Spend.Valid:
		total := extract.Total{Spend: q.ControlTotal.Spend.V, Clicks: q.ControlTotal.Clicks}
		if !total.Agrees(sums.Spend, sums.Clicks, rounded) {
			return "", fmt.Errorf("the rows add up to %s US dollars, the service's own total was %s", sums.Spend,
				total.Spend)
		}
		return schema.ControlMatched, nil
	case known != nil && known.WasOver(q.Date) && known.Refused == 0:
		return "", errors.New("a proven day is stored, and there was no total of the service's to confirm another")
	}
	return schema.ControlUnknown, nil
}
