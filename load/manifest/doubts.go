package manifest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"spendsync/load/history"
	"spendsync/schema"
)

// Doubt is a sign that the stored rows of a day may be wrong or incomplete, for example another sum from the service.
type Doubt struct {
	Form string
	Size int64  // in percent, rounded up
	Text string // describes the difference, with the numbers of the day
}

// reportForms begins the Form of every doubt about a day.
const reportForms = "report."

// Doubts returns the reasons to doubt a stored day, whether or not the day was over.
func (k *Day) Doubts() (doubts []Doubt) {
	if d, ok := k.sumDoubt(); ok && !k.isFarBelow() {
		doubts = append(doubts, d)
	}
	// Only a day that was last read before version 12 of the tables can have RowsDiffer. Such a day is not doubtful if
	// the service's own sum matches and at least total_rows rows came.
	if k.RowsTotalState == schema.RowsDiffer && !(k.Control == schema.ControlMatched && k.RowsTotal.V <= k.Sums.Rows) {
		side := "above"
		if k.RowsTotal.V < k.Sums.Rows {
			side = "below"
		}
		doubts = append(doubts, Doubt{Form: reportForms + "row-count." + side,
			Size: percent(max(k.RowsTotal.V-k.Sums.Rows, k.Sums.Rows-k.RowsTotal.V), max(k.RowsTotal.V, k.Sums.Rows)),
			Text: fmt.Sprintf("%d rows came, and total_rows is %d", k.Sums.Rows, k.RowsTotal.V)})
	}
	forms := map[string]int64{}
	maps.Copy(forms, k.UnreadForms)
	for _, form := range k.OldForms {
		if !strings.HasSuffix(form, ".absent") { // a form with this suffix means that the service sent no value
			forms[form] = k.Unread
		}
	}
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		doubts = append(doubts, Doubt{Form: reportForms + "unread." + form, Size: percent(forms[form], k.Sums.Rows),
			Text: fmt.Sprintf("%s cannot be read in %d of %d rows, and is unknown (NULL) there", form, forms[form],
				k.Sums.Rows)})
	}
	return doubts
}

// losses returns a doubt for each count that some stored rows of a day lack although an earlier read had it. Such a
// doubt has no size, because it is only a warning.
func (k *Day) losses() (losses []Doubt) {
	for i, column := range history.Counts {
		if k.Lost[i] > 0 {
			losses = append(losses, Doubt{Form: reportForms + "lost." + column,
				Text: fmt.Sprintf("%s is unknown (NULL) in %d of %d rows, and an earlier read of the day had it there",
					column, k.Lost[i], k.Sums.Rows)})
		}
	}
	return losses
}

// sumDoubt returns the doubt, if any, that the service's own sum of the day differs from the sum of its rows.
func (k *Day) sumDoubt() (d Doubt, differs bool) {
	if k.Control != schema.ControlDiffers {
		return d, false
	}
	rows, total, unit := int64(k.Sums.Spend), int64(k.ControlTotal.Spend.V), ""
	if rows == total {
		rows, total, unit = k.Sums.Clicks.V, k.ControlTotal.Clicks.V, "clicks-"
	}
	side := "above"
	if total < rows {
		side = "below"
	}
	return Doubt{Form: reportForms + "day-total." + unit + side,
		Size: percent(max(total-rows, rows-total), max(total, -total, rows, -rows)),
		Text: fmt.Sprintf("%s US dollars and %d clicks in rows, %s and %d by the service's own sum", k.Sums.Spend,
			k.Sums.Clicks.V, k.ControlTotal.Spend.V, k.ControlTotal.Clicks.V)}, true
}

// isFarBelow reports whether the rows add up to less than three quarters of the service's own sum, a difference that no
// tax or fee explains.
func (k *Day) isFarBelow() bool {
	total := k.ControlTotal.Spend.V
	return k.Control == schema.ControlDiffers && total > 0 && k.Sums.Spend < total/4*3
}

// partialWhy returns the reason why the stored day d is partial, or "" if the day is not partial.
func (k *Day) partialWhy(d, today schema.Date) string {
	switch {
	case k.Refused > 0:
		return fmt.Sprintf("%d of its rows cannot be stored, see ops.refused_row", k.Refused)
	case k.isFarBelow():
		return fmt.Sprintf("the rows have %d %% of the service's own sum of %s US dollars, so that some are missing",
			100-percent(int64(k.ControlTotal.Spend.V-k.Sums.Spend), int64(k.ControlTotal.Spend.V)),
			k.ControlTotal.Spend.V)
	case !k.WasOver(d) && d < today:
		return NotOver
	}
	return ""
}

const (
	// NotOver is the reason for a partial day that no run has read since the day's end.
	NotOver = "last read before the day was over"
	// LessRead is the reason to doubt a day whose last read lost most of the stored rows or spend, and was not stored.
	LessRead = "a later read had less than half of its rows or spend, and no other read has confirmed that"
)

// percent returns part/total in percent, rounded up.
func percent(part, total int64) int64 {
	if total <= 0 {
		return 100
	}
	return int64(math.Ceil(100 * float64(part) / float64(total)))
}
