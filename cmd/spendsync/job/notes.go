package job

import (
	"fmt"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/schema"
	"spendsync/transform"
)

// A run ends with exit 4 if something differs from what the service states or promises. Some services differ at every
// run, and nobody can change that: after three runs such a difference becomes a standing note, which is shown and ends
// no run any more. Anything missing or unproven has no note. See [manifest.Note].

// foundMiscounted adds a day that is stored though the service states another number of its rows. A smaller one leaves
// no doubt if the service's own sum is that of the rows: it counts something else.
func (t *outcome) foundMiscounted(day schema.Date, read *dayRead) {
	s, notes := differs, []string{"report.row-count." + sideOf(read.sums.Rows, read.RowsTotal.V)}
	if read.Control == schema.ControlMatched && read.RowsTotal.V <= read.sums.Rows {
		s, notes = remark, nil
	}
	such := fmt.Sprintf("%s: %s came, and it states %d", day, phrase.Count(int(read.sums.Rows), "row"),
		read.RowsTotal.V)
	t.onDay(s, "the service's own number of rows (total_rows) differs", such, "; the rows are stored as they came",
		notes...)
}

// sideOf is the direction in which the service's number differs from that of the rows.
func sideOf(rows, service int64) string {
	if service < rows {
		return "below"
	}
	return "above"
}

// foundUnread adds the rows of a staged day that are stored without some of their measures. If the day was over and had
// these measures before, they are lost: that has no note.
func (t *outcome) foundUnread(d *copiedDay) {
	read, forms := d.read, []string{}
	for _, form := range read.UnreadForms {
		if form == transform.Fractional {
			t.onDay(differs, "conversions have a fraction in some rows", d.Day.String(), ": they are stored in "+
				"conversions_fractional, conversions is unknown (NULL) there, and conversions_expected of spend has "+
				"both",
				"report.fraction.conversions")
			continue
		}
		forms = append(forms, unreadNote+form)
	}
	if len(forms) > 0 {
		such := fmt.Sprintf("%s: %s (%s)", d.Day, phrase.Count(int(read.Unread), "row"),
			strings.ReplaceAll(strings.Join(forms, ", "), unreadNote, ""))
		t.onDay(differs, "measures cannot be read", such, "; these are stored as unknown (NULL), the rest of each row "+
			"as it came; see ops.refused_row", forms...)
	}
	if d.known != nil && d.known.WasOver(d.Day) && read.Unread > d.known.Unread {
		t.onDay(differs, "known measures are unknown now", d.Day.String(), "")
	}
}

// unreadNote is the prefix of the names of notes about measures that cannot be read.
const unreadNote = "report.unread."

// noteSentence names the standing notes that the run has seen again.
func (t *outcome) noteSentence() string {
	n := len(t.standing)
	if n == 0 {
		return ""
	}
	const shown = 3
	text := strings.Join(t.standing[:min(n, shown)], ", ")
	if n > shown {
		text += fmt.Sprintf(" and %d more", n-shown)
	}
	return fmt.Sprintf("; %s (%s), see 'spendsync status'", phrase.Count(n, "standing note"), text)
}

// noteName makes a part of a note's name.
func noteName(parts ...string) string {
	return strings.ReplaceAll(strings.Join(parts, "."), " ", "-")
}
