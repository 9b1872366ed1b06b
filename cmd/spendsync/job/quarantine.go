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

// quarantine keeps the replies of a day that could not be proven, for a later version of spendsync may understand
// them. It reports whether there are such replies: if the service gave no answer, there are none.
func (r *dayReader) quarantine(
	ctx context.Context, replies *load.Replies, day schema.Date, began schema.Instant, cause error,
) bool {
	reply := extract.ReleaseReply(cause)
	status, refusal := extract.ReleaseRefusal(cause)
	isKnown := len(r.s.storedAccount().Days) > 0
	if ctx.Err() != nil || exit.Of(OfWrongURL(cause, r.s.Report, isKnown)) != exit.Contract ||
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

// quarantineReader reads the replies in quarantine again.
type quarantineReader struct {
	Job
	store     *load.Store
	area      *load.Area
	witnesses witnesses                // the account's campaigns
	names     func() map[string]string // of campaigns
}

// quarantinedDay is a day that the replies in quarantine have proven.
type quarantinedDay struct {
	quarantine.Day
	load.StagedDay
}

// prove proves days by their replies in quarantine, as a sync would have, and stages those that it can prove. left is
// how many dates remain. The latest replies of a date come first.
func (k quarantineReader) prove(ctx context.Context, days []quarantine.Day) (proven []quarantinedDay, left int,
	err error) {
	dates := map[schema.Date]bool{} // whether they are proven
	for _, q := range slices.Backward(days) {
		if dates[q.Date] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		day, err := k.stage(ctx, q)
		if errors.Is(err, durable.ErrStorage) {
			return nil, 0, err
		}
		if dates[q.Date] = err == nil; err != nil {
			k.Log.Warn("the replies in quarantine do not prove the day", "day", q.Date.String(), "error", err)
			continue
		}
		proven = append(proven, day)
	}
	return proven, len(dates) - len(proven), nil
}

// stage stages a day whose replies in quarantine prove more than the stored day.
func (k quarantineReader) stage(ctx context.Context, q quarantine.Day) (t quarantinedDay, err error) {
	known := k.store.Account().Days[q.Date]
	switch {
	case isStoredLater(known, q):
		return t, errors.New("what is stored was read later")
	case len(q.Pages) == 0:
		return t, errors.New("the service refused it: " + q.Reason)
	}
	replies := k.store.Replies(k.area, q.Date)
	read, err := k.read(q, replies)
	if err != nil {
		return t, err
	}
	b := beside{day: q.Date, stored: known, service: k.Service}
	if err := read.weigh(b); err != nil {
		return t, err
	}
	if read.Control == schema.ControlDiffers { // a sync would have asked once more
		return t, read.unproven(b, "the service's own sum is not that of the rows")
	}
	if _, err := read.mayReplace(b); err != nil {
		return t, err
	}
	if ids := campaignsOf(read.day.Rows()); k.witnesses.hasNone(ids) {
		return t, fmt.Errorf("nothing proves whose report it is: the account has none of its campaigns: %s",
			someOf("campaign", ids))
	}
	put, err := replies.Stage(ctx, load.DayRead{ReadAt: read.at, ReadOutcome: read.ReadOutcome, Names: k.names},
		read.day)
	return quarantinedDay{q, put}, err
}

// read reads the replies of a day, and compares them with the service's sum of that time.
func (k quarantineReader) read(q quarantine.Day, replies *load.Replies) (*dayRead, error) {
	read := k.newRead(q.Date, q.ReadAt, transform.NewInterner())
	bodies := k.store.Quarantine().Replies(q)
	question := extract.SpendQuestion{Day: q.Date, PageSize: q.PageSize}
	err := read.readPages(extract.ProveSpend(k.Service, question, bodies, &read.seen), replies, 0)
	if err == nil {
		err = read.seal()
	}
	if err != nil || read.day == nil {
		return read, err
	}
	switch {
	case !read.isSettled(q.Date):
		read.Control = schema.ControlOpen
	case read.DayRows.Refused > 0 || !q.ControlTotal.Spend.Valid:
		read.Control = schema.ControlUnknown
	default:
		read.matches(k.store, q.Date, extract.Total{Spend: q.ControlTotal.Spend.V, Clicks: q.ControlTotal.Clicks},
			exact)
	}
	return read, nil
}

// isStoredLater reports whether the stored day was read after its replies in quarantine.
func isStoredLater(known *manifest.Day, q quarantine.Day) bool {
	return known != nil && !known.LastReadAt.Time().Before(q.ReadAt.Time())
}
