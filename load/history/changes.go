package history

import (
	"cmp"
	"iter"
	"math"

	"spendsync/schema"
)

// Changes are the restatements of one day, lines of spend_change in key order. They take a sixth of the memory of a
// slice of lines, because a service that restates everything makes as many as there are rows. A nil Changes is empty.
//
// The rows as read must not be moved or changed while their Changes are in use.
type Changes struct {
	by           ReadTime
	read, stored *schema.SpendRows // the rows as read, and the stored rows that differ
	list         []dayChange
}

// dayChange holds the indexes of a row in Changes.read and of the stored row in Changes.stored; noRow if there is none.
type dayChange struct{ read, stored uint32 }

const noRow = math.MaxUint32

// Len returns the number of restatements.
func (c *Changes) Len() int {
	if c == nil {
		return 0
	}
	return len(c.list)
}

// At returns when they were seen.
func (c *Changes) At() schema.Instant { return c.by.At }

// inserted records that the row at an index of the rows as read was not stored.
func (c *Changes) inserted(row int) {
	c.list = append(c.list, dayChange{read: uint32(row), stored: noRow})
}

// updated records that the row at an index of the rows as read has other numbers than the stored row. It copies only
// the numbers of the stored row.
func (c *Changes) updated(row int, read, stored *schema.Spend) {
	numbers := *read
	schema.CopyNumbers(&numbers, stored)
	c.list = append(c.list, dayChange{read: uint32(row), stored: uint32(c.stored.Len())})
	c.stored.Append(&numbers)
}

// deleted records a stored row that was not read.
func (c *Changes) deleted(stored *schema.Spend) {
	c.list = append(c.list, dayChange{read: noRow, stored: uint32(c.stored.Len())})
	c.stored.Append(stored)
}

// All yields the lines.
func (c *Changes) All() iter.Seq[schema.SpendChange] {
	return func(yield func(schema.SpendChange) bool) {
		if c == nil {
			return
		}
		var read, stored schema.Spend
		for _, d := range c.list {
			row, before, after := &read, &stored, &read
			switch {
			case d.read == noRow:
				row, after = &stored, nil
			case d.stored == noRow:
				before = nil
			}
			if after != nil {
				c.read.Row(int(d.read), after)
			}
			if before != nil {
				c.stored.Row(int(d.stored), before)
			}
			l := schema.SpendChange{
				AccountID: row.AccountID, ReportDate: row.ReportDate, CampaignID: row.CampaignID,
				CreativeID: row.CreativeID, SourceID: row.SourceID,
				SeenAt: c.by.At, RunID: c.by.RunID,
			}
			l.SetNumbers(before, after)
			if !yield(l) {
				return
			}
		}
	}
}

// CompareChanges compares restatements by key, as the files of spend_change are sorted.
func CompareChanges(a, b schema.SpendChange) int {
	if a.ReportDate != b.ReportDate {
		return int(a.ReportDate - b.ReportDate)
	}
	ka := schema.Spend{CampaignID: a.CampaignID, CreativeID: a.CreativeID, SourceID: a.SourceID}
	kb := schema.Spend{CampaignID: b.CampaignID, CreativeID: b.CreativeID, SourceID: b.SourceID}
	return cmp.Or(CompareKeys(&ka, &kb), cmp.Compare(a.SeenAt, b.SeenAt), cmp.Compare(a.RunID, b.RunID))
}

// ReadTime is when and by which run a day was read. WasOver reports whether the stored rows were read after the day was
// over.
type ReadTime struct {
	At      schema.Instant
	RunID   string
	WasOver bool
}
