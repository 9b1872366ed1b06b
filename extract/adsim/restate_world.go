package adsim

import (
	"fmt"
	"maps"
	"slices"
)

// Restate changes rows of a day from now on and returns the row that it changed,
// as the report now shows it (for delete: as it was; for the kinds that change a
// whole day: an empty line).
func (s *world) Restate(date string, change Restatement) (Line, error) {
	d, ok := parseDay(date)
	if !ok {
		return Line{}, fmt.Errorf("restate: %q is not a day", date)
	}
	st := s.snapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	st.overlays, st.version = s.overlays, s.version

	next := &overlay{edits: map[rowKey]rowEdit{}}
	if old := s.overlays[d]; old != nil {
		next = &overlay{seq: old.seq, emptied: old.emptied, edits: maps.Clone(old.edits),
			scales: slices.Clone(old.scales)}
	}
	next.seq++
	var touched row
	var err error
	switch change.Kind {
	case "empty":
		next = &overlay{seq: next.seq, emptied: true, edits: map[rowKey]rowEdit{}}
	case "restore":
		next = nil
	case "multiply":
		err = next.multiply(s.account, change)
	case "change", "delete", "insert":
		touched, err = next.editRow(s.account, &st, d, change)
	default:
		err = fmt.Errorf("unknown kind %q", change.Kind)
	}
	if err != nil {
		return Line{}, fmt.Errorf("restate %s: %w", date, err)
	}
	overlays := maps.Clone(s.overlays)
	if overlays == nil {
		overlays = map[day]*overlay{}
	}
	overlays[d] = next
	if next == nil {
		delete(overlays, d)
	}
	s.overlays = overlays
	s.version++
	s.record(journalLine{Op: "restate", At: st.now, Name: date, What: what(&change)})
	if touched.creative == nil {
		return Line{}, nil
	}
	return st.line(d, &touched), nil
}

// FreezeRestatements stops (or lets go on) what happens to closed days by itself:
// conversions and credits that are not in yet stay out. A day that is not over yet
// goes on, and is then frozen as it was at its end.
func (s *world) FreezeRestatements(on bool) {
	now := s.clock.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen, s.frozenAt = on, now
	s.version++
	s.record(journalLine{Op: [...]string{"thaw", "freeze"}[btoi(on)], At: now})
}
