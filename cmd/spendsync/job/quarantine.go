package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/transform"
)

// quarantine stores the replies of a day that could not be proven, because a later version of spendsync may understand
// them. It returns true if a later version could prove the day from what was stored. It stores nothing if the content
// of the replies was not the cause, for example after a timeout, or if the service refused the day as too old.
func (r *dayReader) quarantine(
	ctx context.Context, replies *load.Replies, day schema.Date, began schema.Instant, cause error,
) bool {
	reply := extract.ReleaseReply(cause)
	status, refusal := extract.ReleaseRefusal(cause)
	hasData := len(r.s.storedAccount().Days) > 0
	if ctx.Err() != nil || exit.Of(OfWrongURL(cause, r.s.Report, hasData)) != exit.Contract ||
		errors.Is(cause, extract.ErrUnreachable) {
		return false
	}
	q := quarantine.Day{
		ReadAt: schema.InstantOf(r.s.clock.conservative(began.Time())), Reason: cause.Error(),
		PageSize: r.s.Plan.PageSize,
	}
	if refusal != nil {
		q.Refusal = &quarantine.Refusal{Status: status, Body: strings.ToValidUTF8(string(refusal), "\ufffd")}
	}
	if totals, err := r.totals.all(ctx); err == nil && totals.Exists {
		total := totals.ByDay[day]
		q.ControlTotal = manifest.ControlTotal{Spend: schema.Some(total.Spend), Clicks: total.Clicks}
	}
	hasPages := replies.Count() > 0
	kept, err := replies.Quarantine(q, reply)
	if err != nil {
		r.s.Log.Warn("the replies of a day that is not proven could not be kept", "day", day.String(), "error", err)
		return false
	}
	return kept && (hasPages || len(reply) > 0 || !q.IsNothing())
}

// quarantineReader decodes the replies in quarantine again, and proves days by them.
type quarantineReader struct {
	Job
	store     *load.Store
	area      *load.Area
	witnesses witnesses                // the account's campaigns
	names     func() map[string]string // of campaigns
}

// quarantinedDay is a day that is now proven by its replies in quarantine, and its staged rows.
type quarantinedDay struct {
	quarantine.Day
	load.StagedDay
	rows int64
}

// prove checks the replies in quarantine as a sync would have done, stages each day that they prove, and returns the
// dates of all other days. For each date, it tries the latest replies first. A withheld day is a day that is not proven
// to belong to the account. If its rows name no campaign, it is accepted only if the same run has another day that is
// proven.
func (k quarantineReader) prove(ctx context.Context, days []quarantine.Day) (proven []quarantinedDay,
	left []schema.Date, err error) {
	runs := map[string]bool{} // IDs of the runs with a proven day
	done := map[schema.Date]bool{}
	for _, isSilent := range []bool{false, true} {
		for _, q := range slices.Backward(days) {
			if done[q.Date] || isSilent != (q.Withheld && len(q.Campaigns) == 0) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			day, err := k.stage(ctx, q)
			if err == nil && (isSilent || day.rows == 0) && !runs[q.RunID] {
				err = errors.New("no other day of its run is proven to be the account's")
			}
			if errors.Is(err, durable.ErrStorage) {
				return nil, nil, err
			}
			if err != nil {
				k.Log.Warn("the replies in quarantine do not prove the day", "day", q.Date.String(), "error", err)
				continue
			}
			proven, done[q.Date], runs[q.RunID] = append(proven, day), true, true
		}
	}
	for _, q := range days {
		if !done[q.Date] && !slices.Contains(left, q.Date) {
			left = append(left, q.Date)
		}
	}
	return proven, left, nil
}

// stage stages a day from its replies in quarantine. It returns an error if they do not prove the day, or if the stored
// day must be kept.
func (k quarantineReader) stage(ctx context.Context, q quarantine.Day) (t quarantinedDay, err error) {
	stored := k.store.Account().Days[q.Date]
	switch {
	case isStoredLater(stored, q):
		return t, errors.New("what is stored was read later")
	case len(q.Pages) == 0:
		return t, errors.New("the service refused it: " + q.Reason)
	}
	replies := k.store.Replies(k.area, q.Date)
	read, err := k.read(q, replies)
	if err != nil {
		return t, err
	}
	with := comparison{day: q.Date, stored: stored, service: k.Service}
	if q.Alike > 0 {
		with.earlier = []string{read.hash}
	}
	if err = read.checkProof(with); err != nil && !q.Withheld {
		return t, err
	}
	if read.Control == schema.ControlDiffers { // a sync would request the sum again; here it stays different
		return t, read.unproven(with, "the service's own sum is not that of the rows")
	}
	if _, err := read.mayReplace(with); err != nil {
		return t, err
	}
	if ids := campaignsOf(read.day.Rows(), false); len(ids) > 0 && k.witnesses.hasNone(ids) {
		return t, fmt.Errorf("whose report it is is not proven: the account has none of its campaigns: %s",
			someOf("campaign", ids))
	}
	put, err := replies.Stage(ctx, load.DayRead{ReadAt: read.at, ReadOutcome: read.ReadOutcome, Names: k.names},
		read.day)
	return quarantinedDay{q, put, read.sums.Rows}, err
}

// read reads the replies of a day, and compares them with the control total that was stored with them.
func (k quarantineReader) read(q quarantine.Day, replies *load.Replies) (*dayRead, error) {
	read := k.newRead(q.Date, q.ReadAt, transform.NewInterner())
	bodies := k.store.Quarantine().Replies(q)
	var err error
	if len(q.Pieces) > 0 { // each part of the day was proven on its own before the replies were stored
		read.evidence.Total = -1
		err = read.AddReplies(q.Pieces, bodies, func(page extract.Page[extract.SpendLine], added int) error {
			return replies.Put(page.Number, page.Raw, int64(added))
		})
	} else {
		question := extract.SpendQuestion{Day: q.Date, PageSize: q.PageSize}
		err = read.readPages(extract.ProveSpend(k.Service, question, bodies, &read.evidence), replies, 0)
	}
	if err == nil {
		err = read.seal()
	}
	if err != nil || read.day == nil {
		return read, err
	}
	switch {
	case !read.isComparable(q.Date):
		read.Control = schema.ControlOpen
	case read.DayRows.Refused > 0 || !q.ControlTotal.Spend.Valid:
		read.Control = schema.ControlUnknown
	default:
		read.matches(k.store, q.Date, extract.Total{Spend: q.ControlTotal.Spend.V, Clicks: q.ControlTotal.Clicks},
			exact)
	}
	return read, nil
}

// isStoredLater reports whether the stored day was read at the same time as the replies in quarantine, or later.
func isStoredLater(stored *manifest.Day, q quarantine.Day) bool {
	return stored != nil && !stored.LastReadAt.Time().Before(q.ReadAt.Time())
}
