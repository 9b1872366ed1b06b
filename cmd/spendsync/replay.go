package main

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"spendsync/cmd/spendsync/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

func (a *app) replayCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use: "replay", Short: "Make days again from their stored replies",
		Long: "Reads the stored replies of the account's days again, as the service sent them, and stores what differs from what is published.\n" +
			"It mends a damaged Parquet file of a day, and a mistake of an earlier version's parser. Nothing is asked of the service.",
		Example: "  spendsync replay\n  spendsync replay --from 2026-11-01 --to 2026-11-10",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.setUp(cmd.Context()); err != nil {
				return err
			}
			first, last := schema.Date(-1<<31), schema.Date(1<<31-1)
			var err error
			if from != "" {
				if first, err = schema.ParseDate(from); err != nil {
					return exit.Usagef("--from: %v", err)
				}
			}
			if to != "" {
				if last, err = schema.ParseDate(to); err != nil {
					return exit.Usagef("--to: %v", err)
				}
			}
			return a.mend(cmd.Context(), "replay", func(m *mender) error { return m.replay(cmd.Context(), first, last) })
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first Chicago day, YYYY-MM-DD (default: the first stored)")
	cmd.Flags().StringVar(&to, "to", "", "last Chicago day, YYYY-MM-DD (default: the last stored)")
	return cmd
}

var errNoReplies = errors.New("no replies are kept of this day")

// isDamaged says whether the published rows of a day cannot be read: then the
// replies are all there is.
func (m *mender) isDamaged(day schema.Date) (bool, error) {
	for _, err := range m.store.StoredDay(day) {
		if errors.Is(err, load.ErrDamaged) {
			m.app.log.Warn("the stored file is damaged and is made again from the replies", "day", day.String(), "error", err)
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// replay makes the days of a range again.
func (m *mender) replay(ctx context.Context, first, last schema.Date) error {
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
	return nil
}

func (m *mender) replayDay(ctx context.Context, day schema.Date, known *load.Day) error {
	damaged, err := m.isDamaged(day)
	if err != nil {
		return err
	}
	if len(m.store.Account().RawPages(day)) == 0 {
		if damaged {
			return fmt.Errorf("the stored file is damaged, and %w: %w", errNoReplies, load.ErrDamaged)
		}
		m.skipped++
		return nil
	}
	c := transform.SpendContext{Account: m.app.cfg.Account, RunID: m.runID, Day: day, SeenAt: schema.InstantOf(m.start)}
	if damaged {
		// Nobody knows any more when each row was first seen: not after this.
		c.SeenAt = known.LastReadAt
	}
	rows, rounded, err := rowsOf(c, m.store.RawPages(day))
	if err == nil {
		err = history.SortDay(rows)
	}
	if err != nil {
		return fmt.Errorf("its replies: %w", err)
	}
	hash := history.HashDay(rows)
	m.replayed++
	if hash == known.ContentHash && !damaged {
		return nil
	}
	sums, err := history.SumDay(rows)
	if err != nil {
		return err
	}
	by := history.Reading{At: c.SeenAt, RunID: m.runID, WasOver: known.WasOver(day) && !damaged}
	stored := m.store.StoredDay(day)
	if damaged {
		stored = func(func([]schema.Spend, error) bool) {}
	}
	merged, err := history.MergeDay(stored, rows, by)
	if err != nil {
		return err
	}
	m.changed++
	return m.staged.PutDay(ctx, load.ProvenDay{
		Day: day, Hash: hash, Sums: sums, Rounded: rounded, Replayed: true,
		Records: transform.Records(rows), Changes: merged.Changes,
	})
}

// rowsOfReplies makes the rows of a day again from its stored replies.
func rowsOfReplies(account string, day schema.Date, pages iter.Seq2[[]byte, error]) (*schema.SpendRows, error) {
	rows, _, err := rowsOf(transform.SpendContext{Account: account, Day: day}, pages)
	return rows, err
}

func rowsOf(c transform.SpendContext, pages iter.Seq2[[]byte, error]) (rows *schema.SpendRows, rounded int, err error) {
	rows = &schema.SpendRows{}
	intern := transform.NewInterner()
	number := 0
	for body, err := range pages {
		if err != nil {
			return nil, 0, err
		}
		number++
		page, err := extract.DecodeSpend(body)
		if err != nil {
			return nil, 0, fmt.Errorf("page %d: %w", number, err)
		}
		became := transform.AppendSpend(rows, page, c, intern)
		if len(became.Refused) > 0 {
			return nil, 0, &became.Refused[0].RowError
		}
		rounded += became.Rounded
	}
	return rows, rounded, nil
}
