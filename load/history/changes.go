package history

import (
	"cmp"
	"iter"
	"math"

	"spendsync/schema"
)

// Changes are the restatements of one day, in key order. They become rows of spend_change. If a service restates a
// whole day, there are as many restatements as rows, so Changes takes only a sixth of the memory of a slice of
// [schema.SpendChange]. A nil Changes is empty.
//
// The rows as read must not be moved or changed while their Changes are in use.
type Changes struct {
	by           ReadTime
	read, stored *schema.SpendRows // the rows as read, and the stored rows that differ
	list         []dayChange
}

// dayChange holds the index of a row in Changes.read and the index of the stored row in Changes.stored. An index is
// noRow if there is no such row.
type dayChange struct{ read, stored uint32 }

const noRow = math.MaxUint32

// Len returns the number of restatements.
func (c *Changes) Len() int {
	if c == nil {
		return 0
	}
	return len(c.list)
}

// At returns when the restatements were seen.
func (c *Changes) At() schema.Instant { return c.by.At }

// inserted adds the restatement of a row that was read and is not stored. The parameter row is the index of the row as
// read.
func (c *Changes) inserted(row int) {
	c.list = append(c.list, dayChange{read: uint32(row), stored: noRow})
}

// updated adds the restatement of a row whose numbers as read differ from the stored numbers. The parameter row is the
// index of the row as read. Only the numbers of the stored row are copied.
func (c *Changes) updated(row int, read, stored *schema.Spend) {
	numbers := *read
	schema.CopyNumbers(&numbers, stored)
	c.list = append(c.list, dayChange{read: uint32(row), stored: uint32(c.stored.Len())})
	c.stored.Append(&numbers)
}

// deleted adds the restatement of a stored row that was not read.
func (c *Changes) deleted(stored *schema.Spend) {
	c.list = append(c.list, dayChange{read: noRow, stored: uint32(c.stored.Len())})
	c.stored.Append(stored)
}

// All yields the restatements as rows of spend_change.
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

// CompareChanges compares restatements by the key by which the files of spend_change are sorted.
func CompareChanges(a, b schema.SpendChange) int {
	if a.ReportDate != b.ReportDate {
		return int(a.ReportDate - b.ReportDate)
	}
	ka := schema.Spend{CampaignID: a.CampaignID, CreativeID: a.CreativeID, SourceID: a.SourceID}
	kb := schema.Spend{CampaignID: b.CampaignID, CreativeID: b.CreativeID, SourceID: b.SourceID}
	return cmp.Or(CompareKeys(&ka, &kb), cmp.Compare(a.SeenAt, b.SeenAt), cmp.Compare(a.RunID, b.RunID))
}

// ReadTime records when a day was read, and by which run. WasOver reports whether the stored rows were read after the
// day was over.
type ReadTime struct {
	At      schema.Instant
	RunID   string
	WasOver bool
}
