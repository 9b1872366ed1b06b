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
	Runs        int64          `json:"runs"`    // that saw it; at least [RunsToStand] below a larger gap that stands
	FirstSeenAt schema.Instant `json:"first_seen_at"`
	LastSeenAt  schema.Instant `json:"last_seen_at"`
	Decision    string         `json:"decision,omitempty"` // by hand, see [schema.Note]; empty: none
	// ByHand: values that were known before stand, and may be old: the note stands only if it is accepted.
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

// NotesAfter returns the notes after a run that has seen these, by name. A gap is no news where a larger one of the
// same cause stands.
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
			n.Runs, n.FirstSeenAt, n.Decision = was.Runs+1, was.FirstSeenAt, was.Decision
			n.Evidence = was.Evidence
		}
		if slices.ContainsFunc(a.Notes, func(n Note) bool { return n.Stands() && isLarger(n.Name, name) }) {
			n.Runs = max(n.Runs, RunsToStand)
		}
		notes = append(notes, n)
	}
	slices.SortFunc(notes, func(x, y Note) int { return strings.Compare(x.Name, y.Name) })
	return notes
}

// sizes end the name of a note about a gap, in ascending order: the last is everything above 100 %.
var sizes = []string{"1pct", "10pct", "100pct", "more"}

// Gap returns how far the service's number is from that of the rows, as the end of a note's name: its direction and the
// order of magnitude.
func Gap(rows, service int64) string {
	side, off := "above", service-rows
	if off < 0 {
		side, off = "below", -off
	}
	size := 0
	for percent := 1.; size < len(sizes)-1 && float64(off)*100 > float64(max(rows, -rows))*percent; percent *= 10 {
		size++
	}
	return side + "-" + sizes[size]
}

// isLarger reports whether two notes are about the same gap, and that of x is larger.
func isLarger(x, y string) bool {
	i, j := strings.LastIndexByte(x, '-')+1, strings.LastIndexByte(y, '-')+1
	of := slices.Index(sizes, y[j:])
	return of >= 0 && x[:i] == y[:j] && slices.Index(sizes, x[i:]) > of
}
