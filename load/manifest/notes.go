package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"spendsync/schema"
)

// Note records one kind of difference between the stored data and what the service states or promises. For example, the
// service's own sum of a day is above the sum of the stored rows. A note is about stored data, never about a missing
// day. Every run ends with exit code 4 until the difference is gone or a person accepts it. A note about days that has
// no size is only a warning.
type Note struct {
	Name    string `json:"name"`    // a form of difference (report.day-total.above), or the date of an accepted day
	Message string `json:"message"` // from the last run that saw the difference
	// Size is the size of the largest difference, either in percent, rounded up, or as a number of entities. 0: the
	// difference has no size.
	Size        int64          `json:"size,omitzero"`
	IsCount     bool           `json:"is_count,omitzero"` // Size is a number of entities
	Runs        int64          `json:"runs"`              // number of runs that saw the difference
	FirstSeenAt schema.Instant `json:"first_seen_at"`
	LastSeenAt  schema.Instant `json:"last_seen_at"`
	Accepted    *Acceptance    `json:"accepted,omitempty"` // nil: not accepted
	RunID       string         `json:"run_id"`             // the last run that saw the difference
	// Decision is from version 11 of the tables, whose notes had no size. A note that was accepted then is accepted up
	// to the first size that a run sees.
	Decision string `json:"decision,omitempty"`
	// ByHand and Evidence are from version 11. They are ignored.
	ByHand   any `json:"by_hand,omitzero"`
	Evidence any `json:"evidence,omitzero"`
}

// An Acceptance states what a person has accepted: a difference up to a size, or a day with its content at that time.
type Acceptance struct {
	At   schema.Instant `json:"at"`
	Size int64          `json:"size,omitzero"` // as [Note.Size]
	Day  string         `json:"content_hash,omitempty"`
}

// IsAccepted reports whether a person has accepted the note and the difference has not grown since. An accepted note
// does not end a run with exit code 4.
func (n Note) IsAccepted() bool { return n.Accepted != nil && n.Size <= n.Accepted.Size }

// SizeText formats a size for people: as a number of entities, or in percent.
func (n Note) SizeText(size int64) string {
	if n.IsCount {
		return fmt.Sprint(size)
	}
	return fmt.Sprintf("%d %%", size)
}

// IsOfDays reports whether the note is about stored days. Notes about stored days follow from the manifest alone.
func (n Note) IsOfDays() bool { return strings.HasPrefix(n.Name, reportForms) }

// isOfOwnFiles reports whether the note is about the operator's own files.
func (n Note) isOfOwnFiles() bool {
	return strings.HasPrefix(n.Name, "tracker.") || strings.HasPrefix(n.Name, "payouts.")
}

// noteLasts is the time for which a note is kept after the last run that found its cause. It applies to notes that no
// person has accepted and that are about neither days nor the operator's files.
const noteLasts = 7 * 24 * time.Hour

// Notes is a list of notes, sorted by name.
type Notes []Note

// named returns the note with a name, or nil.
func (all Notes) named(name string) *Note {
	i := slices.IndexFunc(all, func(n Note) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Accepts reports whether a person has accepted differences of this form up to this size or more.
func (a *Account) Accepts(form string, size int64) bool {
	n := a.Notes.named(form)
	return n != nil && (n.Accepted != nil && size <= n.Accepted.Size || n.Decision == schema.NoteAccepted)
}

// acceptsDay reports whether a person has accepted the day with its present content.
func (all Notes) acceptsDay(d schema.Date, k *Day) bool {
	n := all.named(d.String())
	return n != nil && n.Accepted != nil && n.Accepted.Day == k.ContentHash
}

// Accepting returns a copy of the account's notes in which the named note is accepted, and a sentence about the
// acceptance. The name may also be the date of a partial or doubtful day. The last result is false if there is no such
// note or day.
func (a *Account) Accepting(name string, at schema.Instant, runID string) (notes Notes, text string, ok bool) {
	notes = slices.Clone(a.Notes)
	if day, err := schema.ParseDate(name); err == nil {
		why := a.whyDoubted(day, at)
		if why == "" {
			return nil, "", false
		}
		notes = slices.DeleteFunc(notes, func(n Note) bool { return n.Name == name })
		notes = append(notes, Note{Name: name, Message: why, Runs: 1, FirstSeenAt: at, LastSeenAt: at,
			RunID: runID, Accepted: &Acceptance{At: at, Day: a.Days[day].ContentHash}})
		return notes, "accepted " + name + " as it is stored", true
	}
	n := notes.named(name)
	if n == nil {
		return nil, "", false
	}
	n.Accepted, text = &Acceptance{At: at, Size: n.Size}, "accepted "+name
	if n.Size > 0 {
		text += " up to " + n.SizeText(n.Size)
	}
	return notes, text, true
}

// TakingBack returns a copy of the account's notes in which the named note is no longer accepted, and a sentence about
// the change. The last result is false if the note was not accepted.
func (a *Account) TakingBack(name string) (notes Notes, text string, ok bool) {
	notes = slices.Clone(a.Notes)
	n := notes.named(name)
	if n == nil || n.Accepted == nil && n.Decision == "" {
		return nil, "", false
	}
	n.Accepted, n.Decision = nil, ""
	return notes, "took " + name + " back: it ends runs with exit 4 again", true
}

// Acceptable returns the names that a person can accept: notes, and dates of partial or doubtful days. If the parameter
// isAccepted is set, it returns the accepted names instead, which can be taken back.
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

// see returns the notes after a run. The map has the differences that the run has seen, by name. If it is nil, the run
// has not looked for differences. The differences of the stored days come from the account itself.
func (a *Account) see(seen map[string]Note, at schema.Instant, runID string) Notes {
	isRun, all := seen != nil, a.dayNotes()
	maps.Copy(all, seen)
	notes := Notes{}
	for _, n := range a.Notes {
		if _, seenNow := all[n.Name]; !seenNow && a.stays(n, at) {
			if !a.Own.finds(n.Name) && !n.IsCount {
				n.Size = 0 // the difference is gone; but a count stays, because this run may not have counted
			}
			notes = append(notes, n)
		}
	}
	for name, n := range all {
		n.Name, n.Runs, n.FirstSeenAt, n.LastSeenAt, n.RunID = name, 1, at, at, runID
		if before := a.Notes.named(name); before != nil {
			n.Runs, n.FirstSeenAt, n.Accepted = before.Runs, before.FirstSeenAt, before.Accepted
			if isRun {
				n.Runs++
			}
			if before.Decision == schema.NoteAccepted {
				n.Accepted = &Acceptance{At: before.LastSeenAt, Size: n.Size}
			}
		}
		notes = append(notes, n)
	}
	slices.SortFunc(notes, func(x, y Note) int { return strings.Compare(x.Name, y.Name) })
	return notes
}

// stays reports whether a note is kept although this run has not seen the difference:
//
//   - The note of an accepted day stays as long as the day is partial or doubtful.
//   - Any other accepted note stays until the acceptance is taken back.
//   - A note about the operator's files stays until a run reads the files without the difference.
//   - Any other note about days ends at once.
//   - All other notes stay for a week.
func (a *Account) stays(n Note, at schema.Instant) bool {
	if day, err := schema.ParseDate(n.Name); err == nil {
		k := a.Days[day]
		return k != nil && a.Notes.acceptsDay(day, k) && a.whyDoubted(day, at) != ""
	}
	return n.Accepted != nil || n.Decision == schema.NoteAccepted || a.Own.finds(n.Name) ||
		!n.IsOfDays() && !n.isOfOwnFiles() && at.Time().Sub(n.LastSeenAt.Time()) < noteLasts
}

// dayNotes returns one note, by name, for each form of difference that a stored day has. The note has the size of the
// largest such difference. Days that a person has accepted by date are left out.
func (a *Account) dayNotes() map[string]Note {
	notes, days := map[string]Note{}, map[string]int{}
	for _, day := range a.DayList() {
		k := a.Days[day]
		if a.Notes.acceptsDay(day, k) {
			continue
		}
		for _, d := range append(k.Doubts(), k.losses()...) {
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

// OwnFiles are the findings from the last reading of the operator's own files.
type OwnFiles struct {
	Inputs  string       `json:"inputs,omitempty"` // hash of everything that the findings depend on
	Found   []OwnFinding `json:"found,omitempty"`
	Refused string       `json:"refused,omitempty"` // of version 11 of the tables
}

// OwnFinding is an error in the operator's own files. Note is the name of the note by which a person can accept the
// error; it is empty if the error cannot be accepted.
type OwnFinding struct {
	Message string `json:"message"`
	Note    string `json:"note,omitempty"`
	Size    int64  `json:"size,omitzero"` // see Note.Size
	// ByHand and Evidence are from version 11 of the tables. They are ignored.
	ByHand   bool   `json:"by_hand,omitempty"`
	Evidence string `json:"evidence,omitempty"`
}

// finds reports whether one of the found errors belongs to the note with this name.
func (o OwnFiles) finds(note string) bool {
	return slices.ContainsFunc(o.Found, func(f OwnFinding) bool { return f.Note == note })
}
