package history

import (
	"fmt"
	"slices"

	"spendsync/schema"
)

// Fill fills columns of current versions that have never been readable. read makes a row again from what a version
// keeps of its reply; false: it keeps none, or none that is understood. It changes no known value, makes no version,
// and confirms nothing.
func Fill[R any, P Versioned[R]](t schema.TableOf[R], h Versions[R], runID string,
	read func(*R) (Seen[R], bool)) (next Versions[R], filled int, err error) {
	a := newAdvance[R, P](t, t.Tracked(), Observation[R]{At: h.Confirmations.ObservedAt, RunID: runID})
	if err := a.begin(h); err != nil {
		return h, 0, fmt.Errorf("%s: %w", t.FullName(), err)
	}
	for _, th := range a.entities {
		is := *P(th.current).FramePtr()
		if len(th.never) == 0 || is.IsDeleted {
			continue
		}
		s, ok := read(th.current)
		if !ok {
			continue
		}
		unread, err := a.unread(&s)
		if err != nil {
			return h, 0, fmt.Errorf("%s: %q: %w", t.FullName(), a.id.text(th.current), err)
		}
		for _, c := range t.Fields() {
			if !slices.Contains(th.never, c.Name) {
				unread = append(unread, c)
			}
		}
		row := a.carry(&s.Row, th.current, unread)
		r := a.compare(th, row, unread)
		if !r.filled {
			continue
		}
		filled++
		is.ReadState = a.state(r.never)
		if r.first && is.VersionNo == 1 {
			is.ChangeType = schema.FirstRead
		}
		a.write(th, *row, r.never, is)
	}
	if filled == 0 && !h.Altered {
		return h, 0, nil
	}
	next = Versions[R]{Rows: a.rows(), Confirmations: a.confirmations(h.Confirmations.ObservedAt)}
	return next, filled, Check[R, P](t, next)
}
