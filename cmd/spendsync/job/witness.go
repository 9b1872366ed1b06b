package job

import (
	"fmt"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/schema"
)

// dayWitnesses are what speaks for the completeness of one read of a day, all rows of which are of
// the day. Four are strong and independent of each other:
//
//   - the pages were read to an end: an empty page, or a short one;
//   - as many rows came as the service states (total_rows);
//   - they add up to the service's own sum of the day's spend and clicks;
//   - another read of the day has the same rows.
//
// Two of them prove a day. One that disagrees is stored beside what came, and vetoes nothing
// alone: a count may leave creatives without spend out, and a sum may have fees in it. Both
// together do. So does a count above the rows that came, which is all that a missing row without
// spend leaves behind, unless the sum and another read both speak against it.
type dayWitnesses struct {
	extract.Evidence
	rows     int64               // that came, as the service counts them
	combined history.Combination // of rows of one key
	control  string              // whether the service's own sum agrees, see [schema.DayCoverage]
	alike    bool                // another read has the same rows
	// same: the rows of one key are the same row again, and not parts of it.
	same bool
}

// rowsTotal is the stated number of rows, if it is one of all pages.
func (w dayWitnesses) rowsTotal() schema.Null[int64] {
	return schema.Null[int64]{V: max(0, w.Total), Valid: w.Total >= 0}
}

// totalState compares the stated number of rows with the read, in the words of [schema.DayCoverage].
func (w dayWitnesses) totalState() string {
	switch {
	case w.Total < 0:
		return schema.RowsNone
	case w.Total != w.rows:
		return schema.RowsDiffer
	}
	return schema.RowsMatched
}

// prove returns why the witnesses do not prove the day; nil: they do.
func (w dayWitnesses) prove(day schema.Date) error {
	state, summed := w.totalState(), w.control == schema.ControlMatched
	counted := state == schema.RowsMatched
	strong := 0
	for _, speaks := range [...]bool{w.Ended, counted, summed, w.alike} {
		if speaks {
			strong++
		}
	}
	why := ""
	switch {
	case w.Moved != "" && !w.alike:
		why = w.Moved
	case state == schema.RowsDiffer && w.control == schema.ControlDiffers:
		why = w.miscounted() + ", and the service's own sum differs, too"
	case w.rows == 0 && w.control == schema.ControlDiffers:
		why = "the answer is empty, and the service's own sum is not"
	case w.Full && w.control == schema.ControlDiffers: // the total is all that shows the end, and counts as one witness
		why = "the last page is full, and the service's own sum differs"
	case w.combined != history.Apart && (w.control == schema.ControlDiffers || !counted && !summed),
		w.combined == history.Added && !summed && (w.same || !w.alike):
		why = w.Repeats + "; neither the stated total nor the service's own sum says how it counts"
	case state == schema.RowsDiffer && w.Total > w.rows && !(summed && w.alike),
		state == schema.RowsDiffer && strong < 2:
		why = w.miscounted()
	case strong < 2:
		why = fmt.Sprintf("%s came, and too little says that they are all: %s", phrase.Count(int(w.rows), "row"),
			w.lacking())
	default:
		return nil
	}
	for _, cause := range [...]string{w.Moved, w.Short, w.Repeats} {
		if !strings.Contains(why, cause) {
			why += "; " + cause
		}
	}
	return &extract.UnprovenError{What: "spend " + day.String(), Reason: why}
}

func (w dayWitnesses) miscounted() string {
	return fmt.Sprintf("%s came, and the stated total is %d", phrase.Count(int(w.rows), "row"), w.Total)
}

// lacking names what does not speak for the day.
func (w dayWitnesses) lacking() string {
	text := "no other read has the same"
	if w.Total < 0 {
		text = "the service states no total, and " + text
	}
	if !w.Ended {
		text = "no page is short or empty, " + text
	}
	return text
}
