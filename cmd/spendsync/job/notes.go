package job

import (
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// A run ends with exit 4 if something differs from what the service states or promises. Some services differ at every
// run, and nobody can change that: after three runs such a difference becomes a standing note, which is shown and ends
// no run any more. Only a difference of which the data is stored has a note: the rows are proven by other evidence, or
// a value that cannot be read is NULL and its reply is kept. Anything missing or unproven has none.
//
// The name of a note consists of cause, place and form, so another form of the same cause is new. See [manifest.Note].

// seeDifference notes a difference whose data is stored. The first message under a name is kept.
func (t *tally) seeDifference(name, message string) {
	if t.differences == nil {
		t.differences = map[string]manifest.Note{}
	}
	if _, seen := t.differences[name]; !seen {
		t.differences[name] = manifest.Note{Message: message}
	}
}

// fractionNote is the note about conversions that are not whole numbers.
const fractionNote = "report.fraction.conversions"

// addUnread notes the rows of a staged day that are stored without some of their measures. If the day was over and
// had these measures before, they are lost: such a difference never becomes a standing note.
func (t *tally) addUnread(d *copiedDay) {
	read := d.read
	if slices.Contains(read.forms, transform.Fractional) {
		t.seeDifference(fractionNote, fmt.Sprintf("conversions have a fraction in some rows, as on %s: they are "+
			"stored in conversions_fractional, conversions is unknown (NULL) there, and conversions_expected of "+
			"spend has both", d.Day))
	}
	if read.unread == 0 {
		return
	}
	t.unread += read.unread
	t.unreadDays++
	if d.known != nil && d.known.WasOver(d.Day) && read.unread > d.known.Unread {
		t.unreadAnew = append(t.unreadAnew, d.Day)
	}
	share := "some-rows"
	if 2*read.unread > read.sums.Rows {
		share = "most-rows"
	}
	for _, form := range read.forms {
		if form == transform.Fractional {
			continue
		}
		column, why, _ := strings.Cut(form, ".")
		t.seeDifference("report.unread."+form+"."+share, fmt.Sprintf("the %s of %s cannot be read, as on %s (%s); "+
			"stored as unknown (NULL), see ops.refused_row", column, strings.ReplaceAll(share, "-", " "), d.Day, why))
	}
}

// stand takes the standing notes out of what ends a run with exit 4.
func (t *tally) stand(notes []string) {
	t.standing = notes
	t.failures = slices.DeleteFunc(t.failures, func(f failure) bool {
		return len(f.notes) > 0 && !slices.ContainsFunc(f.notes, t.isLoud)
	})
}

// isLoud reports whether a difference ends the run with exit 4.
func (t *tally) isLoud(name string) bool { return !slices.Contains(t.standing, name) }

// isLoudBelow reports whether a difference whose name has the prefix ends the run with exit 4.
func (t *tally) isLoudBelow(prefix string) bool {
	for name := range t.differences {
		if strings.HasPrefix(name, prefix) && t.isLoud(name) {
			return true
		}
	}
	return false
}

// weighNotes counts this run among those that have seen its differences. A run that publishes twice counts once.
func (r *run) weighNotes() {
	for _, f := range r.tally.failures {
		for _, name := range f.notes {
			r.tally.seeDifference(name, f.String())
			n := r.tally.differences[name]
			n.ByHand = n.ByHand || f.standsOld
			r.tally.differences[name] = n
		}
	}
	for _, e := range r.s.endings() {
		r.tally.seeDifference(endingNote+e.when(), e.String())
	}
	if r.published == 0 {
		r.notesBefore = r.s.known().Notes
	}
	before := manifest.Account{Notes: r.notesBefore}
	r.notes = before.NotesAfter(r.tally.differences, schema.InstantOf(r.s.start), r.s.RunID)
	var standing []string
	for _, n := range r.notes {
		if _, seen := r.tally.differences[n.Name]; seen && n.Stands() {
			standing = append(standing, n.Name)
		}
	}
	r.tally.stand(standing)
}

// noteSentence names the standing notes that the run has seen again.
func (t *tally) noteSentence() string {
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

// knows reports whether a value is stored in one of some columns of the settings of one kind, which would stand as the
// last known one if the column cannot be read any more.
func (n *settingsReader) knows(kind string, columns []string) (bool, error) {
	switch kind {
	case "campaign":
		return isStored(n.run.store, schema.CampaignHistory, columns)
	case deliveryKind:
		return isStored(n.run.store, schema.DeliveryHistory, columns)
	case "creative":
		return isStored(n.run.store, schema.CreativeHistory, columns)
	case "account": // each snapshot stands for itself
		return false, nil
	}
	return true, nil // the sources of a campaign: their rules stand
}

func isStored[R any, P history.Versioned[R]](s *load.Store, t schema.TableOf[R], columns []string) (bool, error) {
	h, err := load.StoredHistory[R, P](s, t)
	if err != nil {
		return false, err
	}
	fields := slices.DeleteFunc(t.Fields(), func(c schema.Column) bool { return !slices.Contains(columns, c.Name) })
	for i := range h.Rows {
		for _, c := range fields {
			if P(&h.Rows[i]).FramePtr().IsCurrent && !t.ColumnEqual(&h.Rows[i], new(R), c) {
				return true, nil
			}
		}
	}
	return false, nil
}
