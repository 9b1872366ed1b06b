package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"spendsync/schema"
)

// Note is a form of difference between the stored data and what the service states of it or promises to send, for
// example that its own sum of a day is above that of the rows. The data is stored: a note never stands for a day that
// is missing. It ends every run with exit 4 until the difference is gone or a person accepts it.
type Note struct {
	Name    string `json:"name"`    // for example report.day-total.above; of a day that a person accepted its date
	Message string `json:"message"` // as of the last run that saw it
	// Size is of the largest difference, in percent, rounded up; 0: it has no size.
	Size        int64          `json:"size,omitzero"`
	Runs        int64          `json:"runs"` // that saw it
	FirstSeenAt schema.Instant `json:"first_seen_at"`
	LastSeenAt  schema.Instant `json:"last_seen_at"`
	Accepted    *Acceptance    `json:"accepted,omitempty"` // nil: nobody has accepted it
	RunID       string         `json:"run_id"`             // that last saw it
	// Evidence identifies the file that first showed it, if it is a difference of the operator's own files.
	Evidence string `json:"evidence,omitempty"`
	// Decision is that of version 11 of the tables, whose notes had no size: an accepted one takes the first that is
	// seen.
	Decision string `json:"decision,omitempty"`
	ByHand   any    `json:"by_hand,omitzero"` // of version 11, dropped
}

// Acceptance is what a person has accepted of a note: nothing larger, and of a day no other content.
type Acceptance struct {
	At   schema.Instant `json:"at"`
	Size int64          `json:"size,omitzero"` // in percent
	Day  string         `json:"content_hash,omitempty"`
}

// IsAccepted reports whether the note ends no run with exit 4: a person has accepted it, and it has not grown since.
func (n Note) IsAccepted() bool { return n.Accepted != nil && n.Size <= n.Accepted.Size }

// IsOfDays reports whether the note is of a form of the stored days, which each generation shows.
func (n Note) IsOfDays() bool { return strings.HasPrefix(n.Name, reportForms) }

// isOfOwnFiles reports whether the note is of the operator's own files.
func (n Note) isOfOwnFiles() bool {
	return strings.HasPrefix(n.Name, "tracker.") || strings.HasPrefix(n.Name, "payouts.")
}

// noteLasts is how long a note is kept that no run sees, and that nobody has accepted.
const noteLasts = 7 * 24 * time.Hour

// Notes are notes by name.
type Notes []Note

// named returns the note with a name; nil: there is none.
func (all Notes) named(name string) *Note {
	i := slices.IndexFunc(all, func(n Note) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Accepts reports whether a difference of this form and size is accepted.
func (a *Account) Accepts(form string, size int64) bool {
	n := a.Notes.named(form)
	return n != nil && (n.Accepted != nil && size <= n.Accepted.Size || n.Decision == schema.NoteAccepted)
}

// acceptsDay reports whether a day is accepted as it is stored.
func (all Notes) acceptsDay(d schema.Date, k *Day) bool {
	n := all.named(d.String())
	return n != nil && n.Accepted != nil && n.Accepted.Day == k.ContentHash
}

// Accepting returns the notes with one accepted, a form or the date of a day, and what is accepted; false: there is no
// such difference.
func (a *Account) Accepting(name string, at schema.Instant, runID string) (notes Notes, text string, ok bool) {
	notes = slices.Clone(a.Notes)
	if day, err := schema.ParseDate(name); err == nil {
		k := a.Days[day]
		if k == nil || k.partialWhy(day, schema.DateOf(at.Time())) == "" && len(k.Doubts()) == 0 {
			return nil, "", false
		}
		c := schema.DayCoverage{ReportDate: day, State: schema.StateComplete}
		a.addDoubt(&c, k, schema.DateOf(at.Time()))
		notes = slices.DeleteFunc(notes, func(n Note) bool { return n.Name == name })
		notes = append(notes, Note{Name: name, Message: c.PartialWhy.V, Runs: 1, FirstSeenAt: at, LastSeenAt: at,
			RunID: runID, Accepted: &Acceptance{At: at, Day: k.ContentHash}})
		return notes, "accepted " + name + " as it is stored", true
	}
	n := notes.named(name)
	if n == nil {
		return nil, "", false
	}
	n.Accepted, text = &Acceptance{At: at, Size: n.Size}, "accepted "+name
	if n.Size > 0 {
		text += fmt.Sprintf(" up to %d %%", n.Size)
	}
	return notes, text, true
}

// TakingBack returns the notes with one no longer accepted; false: it is not.
func (a *Account) TakingBack(name string, _ schema.Instant, _ string) (notes Notes, text string, ok bool) {
	n := a.Notes.named(name)
	if n == nil || n.Accepted == nil && n.Decision == "" {
		return nil, "", false
	}
	notes = slices.Clone(a.Notes)
	n = notes.named(name)
	n.Accepted, n.Decision = nil, ""
	return notes, "took " + name + " back: it ends runs with exit 4 again", true
}

// Acceptable returns the names of what can be accepted, or of what is and can be taken back.
func (a *Account) Acceptable(now schema.Instant, isAccepted bool) (names []string) {
	for _, n := range a.Notes {
		if (n.Accepted != nil || n.Decision != "") == isAccepted {
			names = append(names, n.Name)
		}
	}
	if isAccepted {
		return names
	}
	for _, c := range a.Coverage("", now.Time()) {
		if c.PartialWhy.Valid && c.Doubt.V != schema.Accepted {
			names = append(names, c.ReportDate.String())
		}
	}
	return names
}

// see returns the notes after a run that has seen these, by name, beside the forms of the stored days. A run that
// publishes twice counts once; nil: it has not looked.
func (a *Account) see(seen map[string]Note, at schema.Instant, runID string) Notes {
	isRun, all := seen != nil, a.dayNotes()
	maps.Copy(all, seen)
	notes := Notes{}
	for _, n := range a.Notes {
		if _, is := all[n.Name]; !is && a.stays(n, at) {
			if !a.Own.finds(n.Name) {
				n.Size = 0 // as of now
			}
			notes = append(notes, n)
		}
	}
	for name, n := range all {
		n.Name, n.Runs, n.FirstSeenAt, n.LastSeenAt, n.RunID = name, 1, at, at, runID
		if was := a.Notes.named(name); was != nil {
			n.Runs, n.FirstSeenAt, n.Accepted, n.Evidence = was.Runs, was.FirstSeenAt, was.Accepted, was.Evidence
			if isRun && was.RunID != runID {
				n.Runs++
			}
			if was.Decision == schema.NoteAccepted {
				n.Accepted = &Acceptance{At: was.LastSeenAt, Size: n.Size}
			}
		}
		notes = append(notes, n)
	}
	slices.SortFunc(notes, func(x, y Note) int { return strings.Compare(x.Name, y.Name) })
	return notes
}

// stays reports whether a note that this run has not seen is kept: an accepted form until it is taken back, an accepted
// day for as long as there is something to accept, one of the operator's own files until they are read without it, and
// another difference than those of days for a week.
func (a *Account) stays(n Note, at schema.Instant) bool {
	if day, err := schema.ParseDate(n.Name); err == nil {
		k := a.Days[day]
		return k != nil && a.Notes.acceptsDay(day, k) && (k.partialWhy(day, schema.DateOf(at.Time())) != "" ||
			len(k.Doubts()) > 0)
	}
	return n.Accepted != nil || n.Decision == schema.NoteAccepted || a.Own.finds(n.Name) ||
		!n.IsOfDays() && !n.isOfOwnFiles() && at.Time().Sub(n.LastSeenAt.Time()) < noteLasts
}

// dayNotes returns the forms of what speaks against the stored days, but for days that are accepted by their date.
func (a *Account) dayNotes() map[string]Note {
	notes, days := map[string]Note{}, map[string]int{}
	for _, day := range a.DayList() {
		k := a.Days[day]
		if a.Notes.acceptsDay(day, k) {
			continue
		}
		for _, d := range k.Doubts() {
			n := notes[d.Form]
			days[d.Form]++
			if n.Size <= d.Size {
				n.Size, n.Message = d.Size, fmt.Sprintf("%s: %s", day, d.Text)
			}
			notes[d.Form] = n
		}
	}
	for form, n := range notes {
		if more := days[form] - 1; more > 0 {
			n.Message += fmt.Sprintf(" (and %d more days)", more)
			notes[form] = n
		}
	}
	return notes
}

// OwnFiles is what the last reading of the operator's own files found wrong.
type OwnFiles struct {
	Inputs  string       `json:"inputs,omitempty"` // hash of all that decides what is read from them
	Found   []OwnFinding `json:"found,omitempty"`
	Refused string       `json:"refused,omitempty"` // of version 11 of the tables
}

// OwnFinding is one thing that is wrong with the operator's own files. It has a note if it can be accepted.
type OwnFinding struct {
	Message string `json:"message"`
	Note    string `json:"note,omitempty"`
	Size    int64  `json:"size,omitzero"` // as of the note
	// ByHand and Evidence are of version 11 of the tables.
	ByHand   bool   `json:"by_hand,omitempty"`
	Evidence string `json:"evidence,omitempty"`
}

// finds reports whether the reading found what a note is of.
func (o OwnFiles) finds(note string) bool {
	return slices.ContainsFunc(o.Found, func(f OwnFinding) bool { return f.Note == note })
}
