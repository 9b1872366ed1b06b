package history

import (
	"cmp"
	"iter"
	"math"

	"spendsync/schema"
)

// Changes are the restatements of one day: lines of spend_change, in key order, in a
// sixth of the memory that a slice of them takes. A service that restates all it has makes
// as many as there are rows. A nil Changes has none.
//
// The rows as read must keep their places and numbers for as long as these are used.
type Changes struct {
	by        ReadTime
	read, was *schema.SpendRows // as read, and as stored where that differs
	list      []dayChange
}

// dayChange is where the row as read and the row as stored are; noRow where there is none.
type dayChange struct{ is, was uint32 }

const noRow = math.MaxUint32

// Len is how many there are.
func (c *Changes) Len() int {
	if c == nil {
		return 0
	}
	return len(c.list)
}

// At is when they were seen.
func (c *Changes) At() schema.Instant { return c.by.At }

// inserted records an insertion: the row as read at that index was not stored.
func (c *Changes) inserted(row int) {
	c.list = append(c.list, dayChange{is: uint32(row), was: noRow})
}

// updated notes that the row as read of that place has other numbers than the one as
// stored. Only its numbers are kept.
func (c *Changes) updated(row int, is, was *schema.Spend) {
	stored := *is
	schema.CopyNumbers(&stored, was)
	c.list = append(c.list, dayChange{is: uint32(row), was: uint32(c.was.Len())})
	c.was.Append(&stored)
}

// deleted records a stored row that the new day lacks.
func (c *Changes) deleted(was *schema.Spend) {
	c.list = append(c.list, dayChange{is: noRow, was: uint32(c.was.Len())})
	c.was.Append(was)
}

// All are the lines. The loop body may change a line.
func (c *Changes) All() iter.Seq[schema.SpendChange] {
	return func(yield func(schema.SpendChange) bool) {
		if c == nil {
			return
		}
		var is, was schema.Spend
		for _, d := range c.list {
			row, before, after := &is, &was, &is
			switch {
			case d.is == noRow:
				row, after = &was, nil
			case d.was == noRow:
				before = nil
			}
			if after != nil {
				c.read.Row(int(d.is), after)
			}
			if before != nil {
				c.was.Row(int(d.was), before)
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

// CompareChanges compares the keys of restatements, which are in this order.
func CompareChanges(a, b schema.SpendChange) int {
	if a.ReportDate != b.ReportDate {
		return int(a.ReportDate - b.ReportDate)
	}
	ka := schema.Spend{CampaignID: a.CampaignID, CreativeID: a.CreativeID, SourceID: a.SourceID}
	kb := schema.Spend{CampaignID: b.CampaignID, CreativeID: b.CreativeID, SourceID: b.SourceID}
	return cmp.Or(CompareKeys(&ka, &kb), cmp.Compare(a.SeenAt, b.SeenAt), cmp.Compare(a.RunID, b.RunID))
}

// ReadTime returns when and by which run a day was read, and reports whether the stored day had been read after it was
// over.
type ReadTime struct {
	At      schema.Instant
	RunID   string
	WasOver bool
}
