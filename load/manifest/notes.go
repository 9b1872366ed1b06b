package manifest

import (
	"slices"
	"strings"
	"time"

	"spendsync/schema"
)

// Note is a difference between the stored data and what the service states of it or promises to
// send. The data is stored: a note never stands for something that is missing or not proven.
type Note struct {
	Name        string         `json:"name"`    // cause, place and form
	Message     string         `json:"message"` // as of the last run that saw it
	Runs        int64          `json:"runs"`    // that saw it
	FirstSeenAt schema.Instant `json:"first_seen_at"`
	LastSeenAt  schema.Instant `json:"last_seen_at"`
	Decision    string         `json:"decision,omitempty"` // by hand, see [schema.Note]; empty: none
	// ByHand: stored values may be old, or rows may be missing: the note stands only if it is accepted.
	ByHand bool   `json:"by_hand,omitempty"`
	RunID  string `json:"run_id"` // that last saw it
	// Evidence identifies the file that first showed it, if it is a difference of the operator's own files.
	Evidence string `json:"evidence,omitempty"`
}

// RunsToStand is how many runs see a difference before its note stands.
const RunsToStand = 3

// Stands reports whether the note ends no run with exit 4.
func (n Note) Stands() bool {
	return n.Decision == schema.NoteAccepted || n.Decision == "" && !n.ByHand && n.Runs >= RunsToStand
}

// noteLasts is how long a note is kept that no run sees, and on which no operator has decided.
const noteLasts = 7 * 24 * time.Hour

// NotesAfter returns the notes after a run that has seen these, by name. A run that publishes twice counts once.
func (a *Account) NotesAfter(seen map[string]Note, at schema.Instant, runID string) []Note {
	notes := []Note{}
	for _, n := range a.Notes {
		if _, is := seen[n.Name]; !is && (n.Decision != "" || at.Time().Sub(n.LastSeenAt.Time()) < noteLasts) {
			notes = append(notes, n)
		}
	}
	for name, n := range seen {
		n.Name, n.Runs, n.FirstSeenAt, n.LastSeenAt, n.RunID = name, 1, at, at, runID
		if i := slices.IndexFunc(a.Notes, func(n Note) bool { return n.Name == name }); i >= 0 {
			was := a.Notes[i]
			n.Runs, n.FirstSeenAt, n.Decision = was.Runs, was.FirstSeenAt, was.Decision
			if was.RunID != runID {
				n.Runs++
			}
			n.Evidence = was.Evidence
		}
		notes = append(notes, n)
	}
	slices.SortFunc(notes, func(x, y Note) int { return strings.Compare(x.Name, y.Name) })
	return notes
}

// OwnFiles is what a reading of the operator's own files found wrong.
type OwnFiles struct {
	Found   []OwnFinding `json:"found,omitempty"`
	Refused string       `json:"refused,omitempty"` // hash of the lines that were set aside
}

// OwnFinding is one thing that is wrong with the operator's own files. It has a note if its data is stored, or held.
type OwnFinding struct {
	Message  string `json:"message"`
	Note     string `json:"note,omitempty"`
	ByHand   bool   `json:"by_hand,omitempty"`  // as of the note
	Evidence string `json:"evidence,omitempty"` // of the note
}
