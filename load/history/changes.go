package history

import (
	"cmp"
	"iter"

	"spendsync/schema"
)

// Changes are the restatements of one day: lines of spend_change, in key order, in a
// seventh of the room that a slice of them takes. A service that restates all it has makes
// as many as there are rows. Nil has none.
//
// The rows as read must keep their places and numbers for as long as these are asked.
type Changes struct {
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
func (c *Changes) Len() int {
	if c == nil {
		return 0
	}
	return len(c.list)
}

// At is when they were seen.
func (c *Changes) At() schema.Instant { return c.by.At }

// inserted notes the row as read of that place: there was none.
func (c *Changes) inserted(row int) {
	c.list = append(c.list, dayChange{row: uint32(row), flags: isInserted})
}

// updated notes the row as read of that place: it was another.
func (c *Changes) updated(row int, was *schema.Spend) {
	d := dayChange{spend: was.Spend, clicks: was.Clicks.V, impressions: was.Impressions.V, conversions: was.Conversions.V, row: uint32(row)}
	for i, known := range [...]bool{was.Clicks.Valid, was.Impressions.Valid, was.Conversions.Valid} {
		if known {
			d.flags |= wasClicks << i
		}
	}
	c.list = append(c.list, d)
}

// deleted notes a row that is gone.
func (c *Changes) deleted(was *schema.Spend) {
	c.list = append(c.list, dayChange{row: uint32(c.gone.Len()), flags: isDeleted})
	c.gone.Append(was)
}

// All are the lines. One is the loop body's alone.
func (c *Changes) All() iter.Seq[schema.SpendChange] {
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

func (c *Changes) line(d *dayChange, r *schema.Spend) schema.SpendChange {
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

// MergeChanges makes one sorted sequence of two.
func MergeChanges(a, b iter.Seq[schema.SpendChange]) iter.Seq[schema.SpendChange] {
	return func(yield func(schema.SpendChange) bool) {
		next, stop := iter.Pull(b)
		defer stop()
		second, ok := next()
		for first := range a {
			for ; ok && CompareChanges(second, first) < 0; second, ok = next() {
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

func CompareChanges(a, b schema.SpendChange) int {
	if a.ReportDate != b.ReportDate {
		return int(a.ReportDate - b.ReportDate)
	}
	ka := schema.Spend{CampaignID: a.CampaignID, CreativeID: a.CreativeID, SourceID: a.SourceID}
	kb := schema.Spend{CampaignID: b.CampaignID, CreativeID: b.CreativeID, SourceID: b.SourceID}
	return cmp.Or(CompareKeys(&ka, &kb), cmp.Compare(a.SeenAt, b.SeenAt))
}
