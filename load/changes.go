package load

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/load/durable"
	"spendsync/schema"
)

// DayChanges are the restatements of one day: lines of spend_change, in key order, in a
// seventh of the room that a slice of them takes. A service that restates all it has makes
// as many as there are rows. Nil has none.
//
// The rows as read must keep their places and numbers for as long as these are asked.
type DayChanges struct {
	by         Reading
	read, gone *schema.SpendRows
	list       []dayChange
}

// dayChange is a row as read that was another or none, or a row that is gone.
type dayChange struct {
	spend                            schema.Money // as it was
	clicks, impressions, conversions int64
	row                              uint32
	flags                            uint8
}

// The flags of a dayChange.
const (
	wasClicks = 1 << iota // the count was not NULL
	wasImpressions
	wasConversions
	isInserted
	isDeleted
)

// Len is how many there are.
func (c *DayChanges) Len() int {
	if c == nil {
		return 0
	}
	return len(c.list)
}

// inserted notes the row as read of that place: there was none.
func (c *DayChanges) inserted(row int) {
	c.list = append(c.list, dayChange{row: uint32(row), flags: isInserted})
}

// updated notes the row as read of that place: it was another.
func (c *DayChanges) updated(row int, was *schema.Spend) {
	d := dayChange{spend: was.Spend, clicks: was.Clicks.V, impressions: was.Impressions.V, conversions: was.Conversions.V, row: uint32(row)}
	for i, known := range [...]bool{was.Clicks.Valid, was.Impressions.Valid, was.Conversions.Valid} {
		if known {
			d.flags |= wasClicks << i
		}
	}
	c.list = append(c.list, d)
}

// deleted notes a row that is gone.
func (c *DayChanges) deleted(was *schema.Spend) {
	c.list = append(c.list, dayChange{row: uint32(c.gone.Len()), flags: isDeleted})
	c.gone.Append(was)
}

// All are the lines. One is the loop body's alone.
func (c *DayChanges) All() iter.Seq[schema.SpendChange] {
	return func(yield func(schema.SpendChange) bool) {
		if c == nil {
			return
		}
		var r schema.Spend
		for i := range c.list {
			if !yield(c.line(&c.list[i], &r)) {
				return
			}
		}
	}
}

func (c *DayChanges) line(d *dayChange, r *schema.Spend) schema.SpendChange {
	rows := c.read
	if d.flags&isDeleted != 0 {
		rows = c.gone
	}
	rows.Row(int(d.row), r)
	l := schema.SpendChange{
		AccountID: r.AccountID, ReportDate: r.ReportDate, CampaignID: r.CampaignID, CreativeID: r.CreativeID, SourceID: r.SourceID,
		SeenAt: c.by.At, Op: schema.OpUpdate, RunID: c.by.RunID,
	}
	if d.flags&isDeleted != 0 {
		l.Op = schema.OpDelete
		l.OldSpend, l.OldClicks, l.OldImpressions, l.OldConversions = schema.Some(r.Spend), r.Clicks, r.Impressions, r.Conversions
		return l
	}
	l.NewSpend, l.NewClicks, l.NewImpressions, l.NewConversions = schema.Some(r.Spend), r.Clicks, r.Impressions, r.Conversions
	if d.flags&isInserted != 0 {
		l.Op = schema.OpInsert
		return l
	}
	was := func(flag uint8, n int64) schema.Null[int64] {
		return schema.Null[int64]{V: n, Valid: d.flags&flag != 0}
	}
	l.OldSpend = schema.Some(d.spend)
	l.OldClicks, l.OldImpressions, l.OldConversions = was(wasClicks, d.clicks), was(wasImpressions, d.impressions), was(wasConversions, d.conversions)
	return l
}

// changeRecords cuts lines into records of the table.
func changeRecords(lines iter.Seq[schema.SpendChange]) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		var rows []schema.SpendChange
		give := func() bool {
			rec := schema.SpendChanges.Record(memory.DefaultAllocator, rows)
			defer rec.Release()
			rows = rows[:0]
			return yield(rec)
		}
		for l := range lines {
			if rows = append(rows, l); len(rows) == recordRows && !give() {
				return
			}
		}
		if len(rows) > 0 {
			give()
		}
	}
}

// putChanges stages the restatements of a day in a private file, until all days are
// there: a run holds those of the days that it is reading.
func (g *Staged) putChanges(day *stagedDay, p ProvenDay) (err error) {
	day.changes = nil
	if p.Changes.Len() == 0 {
		return nil
	}
	if day.changes, err = g.putPart(changesPath(p.Day), schema.SpendChanges.Table, changeRecords(p.Changes.All())); err == nil {
		day.changes.Day = schema.DateOf(p.Changes.by.At.Time())
	}
	return err
}

func changesPath(d schema.Date) string { return "changes/" + d.String() }

// restatements are how many lines the proven days bring.
func (g *Staged) restatements() int {
	n := 0
	for _, day := range g.days {
		if day.proven != nil && day.changes != nil {
			n += int(day.changes.Rows)
		}
	}
	return n
}

// addChanges adds the restatements to the files of the days of seeing.
func (n *generation) addChanges() error {
	bySeen := map[schema.Date][]schema.Date{}
	for d, day := range n.g.days {
		if day.proven != nil && day.changes != nil {
			bySeen[day.changes.Day] = append(bySeen[day.changes.Day], d)
		}
	}
	for _, seen := range slices.Sorted(maps.Keys(bySeen)) {
		if err := n.addChangesOf(seen, slices.Sorted(slices.Values(bySeen[seen]))); err != nil {
			return err
		}
	}
	return nil
}

// addChangesOf lays the restatements of days beside those that were seen on the same day
// before. None of them is in memory for longer than it is passed on.
func (n *generation) addChangesOf(seen schema.Date, days []schema.Date) error {
	s, t := n.g.store, schema.SpendChanges
	path := partPath(t.Table, s.account, seen)
	var was, is []iter.Seq2[[]schema.SpendChange, error]
	lines := int64(0)
	if old := n.acc.Files[path]; old != nil {
		dir, name := n.whereIs(path)
		was, lines = append(was, publishedBatches(s.opts.disk, dir, name, old, t)), old.Rows
	}
	for _, d := range days {
		is = append(is, readBatches(s.opts.disk, n.g.staged(changesPath(d)), t))
		lines += n.g.days[d].changes.Rows
	}
	into := path
	if n.isStaged(path) {
		into = "again/" + path // it is being read
	}
	var unread error
	info, err := n.g.putPart(into, t.Table, changeRecords(mergeChanges(linesOf(was, &unread), linesOf(is, &unread))))
	if err := errors.Join(unread, err); err != nil {
		return err
	}
	if info.Rows != lines {
		return fmt.Errorf("restatements seen on %s: %d lines were written of %d: %w", seen, info.Rows, lines, ErrDamaged)
	}
	if into != path {
		if err := s.opts.disk.Rename(n.g.staged(into), n.g.staged(path)); err != nil {
			return durable.Storage(err)
		}
	}
	info.Day = seen
	n.put(path, info)
	n.loads = append(n.loads, tableLoad{
		table: t.Table, drop: partCondition(t.Table, s.account, seen) + " AND " + n.g.ownRows(), files: []string{n.g.staged(path)}, only: n.g.ownRows(),
	})
	return nil
}

// linesOf are the lines of files, one after the other, as far as they can be read.
func linesOf(files []iter.Seq2[[]schema.SpendChange, error], unread *error) iter.Seq[schema.SpendChange] {
	return func(yield func(schema.SpendChange) bool) {
		for _, file := range files {
			for batch, err := range file {
				if err != nil {
					*unread = err
					return
				}
				for _, l := range batch {
					if !yield(l) {
						return
					}
				}
			}
		}
	}
}

// mergeChanges makes one sorted sequence of two.
func mergeChanges(a, b iter.Seq[schema.SpendChange]) iter.Seq[schema.SpendChange] {
	return func(yield func(schema.SpendChange) bool) {
		next, stop := iter.Pull(b)
		defer stop()
		second, ok := next()
		for first := range a {
			for ; ok && compareChanges(second, first) < 0; second, ok = next() {
				if !yield(second) {
					return
				}
			}
			if !yield(first) {
				return
			}
		}
		for ; ok; second, ok = next() {
			if !yield(second) {
				return
			}
		}
	}
}

func compareChanges(a, b schema.SpendChange) int {
	if a.ReportDate != b.ReportDate {
		return int(a.ReportDate - b.ReportDate)
	}
	ka := schema.Spend{CampaignID: a.CampaignID, CreativeID: a.CreativeID, SourceID: a.SourceID}
	kb := schema.Spend{CampaignID: b.CampaignID, CreativeID: b.CreativeID, SourceID: b.SourceID}
	return cmp.Or(compareKeys(&ka, &kb), cmp.Compare(a.SeenAt, b.SeenAt))
}
