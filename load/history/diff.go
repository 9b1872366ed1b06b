package history

import (
	"iter"
	"strings"

	"spendsync/schema"
)

// Diff counts the differences between two versions of a day.
type Diff struct{ Inserted, Updated, Deleted int64 }

// Add adds the differences of another day.
func (d *Diff) Add(other Diff) {
	d.Inserted += other.Inserted
	d.Updated += other.Updated
	d.Deleted += other.Deleted
}

// Merged is the result of [Day.Merge]: the differences between the stored rows of a day and the rows as read.
type Merged struct {
	Diff Diff
	// Lost is the number of stored rows that have a count, but NULL in the read. Regained is the number of stored rows
	// that have a NULL, but a count in the read, or that the read lacks. Both are kept separately for each of [Counts].
	Lost, Regained Lacks
	// Names are the campaign names in the stored rows, by campaign ID.
	Names map[string]string
}

// Merge compares the day with the stored rows, which must be in key order. It also sets _first_seen_at, _changed_at and
// _run_id in the day's rows: an unchanged row keeps all three stored values, and a changed row keeps its stored
// _first_seen_at. After an error the rows must not be used.
//
// Merge calls restate() with each restatement, in key order, until the call returns false. A restatement is a row that
// is new, gone, or has other numbers, although the day was over when the stored rows were read. A number in place of a
// NULL is not a restatement. If the day was not over, restate is nil.
func (d *Day) Merge(stored iter.Seq2[[]schema.Spend, error], by ReadTime,
	restate func(schema.SpendChange) bool) (Merged, error) {
	read := d.rows
	m := merger{Merged: Merged{Names: map[string]string{}}, read: read, by: by, restate: restate,
		stamps: read.Restamp()}
	m.turn(0)
	for batch, err := range stored {
		if err != nil {
			return Merged{}, err
		}
		for i := range batch {
			m.turnStored(&batch[i])
		}
	}
	if m.storedRows == 0 && m.restate == nil { // all rows are new: keep their _first_seen_at, _changed_at and _run_id
		return Merged{Diff: Diff{Inserted: int64(read.Len())}}, nil
	}
	for m.next < read.Len() {
		m.inserted()
	}
	m.stamps.Done()
	return m.Merged, nil
}

// merger compares the stored rows, in their order, with the rows as read.
type merger struct {
	Merged
	read       *schema.SpendRows
	by         ReadTime
	restate    func(schema.SpendChange) bool // see [Day.Merge]
	stamps     *schema.Restamp
	next       int          // index of the next row as read
	row        schema.Spend // the row at next
	storedRows int          // number of stored rows so far
	run        string       // run ID of the last unchanged row; the next rows with this ID share the string

	campaign string // campaign of the previous stored row
}

// turn selects the next row to be compared: the row with the index i among the rows as read.
func (m *merger) turn(i int) {
	if m.next = i; i < m.read.Len() {
		m.read.Row(i, &m.row)
	}
}

// turnStored processes a stored row, which is valid only during the call.
func (m *merger) turnStored(stored *schema.Spend) {
	m.storedRows++
	if m.campaign != stored.CampaignID || m.storedRows == 1 {
		m.campaign = strings.Clone(stored.CampaignID)
		m.Names[m.campaign] = strings.Clone(stored.CampaignName)
	}
	for m.next < m.read.Len() && CompareKeys(stored, &m.row) > 0 {
		m.inserted()
	}
	if m.next == m.read.Len() || CompareKeys(stored, &m.row) < 0 {
		m.Diff.Deleted++
		m.compareCounts(stored, nil)
		deleted := *stored
		schema.SpendDaily.CloneTexts(&deleted)
		m.restated(&deleted, nil)
		return
	}
	stamp := schema.SpendStamp{FirstSeenAt: stored.FirstSeenAt, ChangedAt: m.row.ChangedAt, RunID: m.row.RunID}
	unchanged := schema.SameReported(stored, &m.row)
	if !unchanged && schema.Restates(stored, &m.row) {
		m.restated(stored, &m.row)
	}
	if unchanged {
		if m.run != stored.RunID {
			m.run = strings.Clone(stored.RunID)
		}
		stamp.ChangedAt, stamp.RunID = stored.ChangedAt, m.run
	} else {
		m.Diff.Updated++
		m.compareCounts(stored, &m.row)
	}
	m.stamps.Next(m.next, stamp)
	m.turn(m.next + 1)
}

// compareCounts compares the counts of a stored row and of the row as read, and adds the result to Lost and Regained.
// If the row is no longer in the report, the second argument is nil.
func (m *merger) compareCounts(stored, read *schema.Spend) {
	for i, was := range countsOf(stored) {
		switch isNull := read != nil && !countsOf(read)[i].Valid; {
		case was.Valid && isNull:
			m.Lost[i]++
		case !was.Valid && !isNull:
			m.Regained[i]++
		}
	}
}

// restated passes a restatement to the function m.restate, until that function returns false. One of the two rows may
// be nil.
func (m *merger) restated(stored, read *schema.Spend) {
	if m.restate != nil && !m.restate(m.by.restatement(stored, read)) {
		m.restate = nil
	}
}

// inserted processes a row as read that is not stored.
func (m *merger) inserted() {
	m.Diff.Inserted++
	m.restated(nil, &m.row)
	m.stamps.Next(m.next, schema.SpendStamp{FirstSeenAt: m.row.FirstSeenAt, ChangedAt: m.row.ChangedAt,
		RunID: m.row.RunID})
	m.turn(m.next + 1)
}
