package history

import (
	"slices"

	"spendsync/schema"
)

// Recall derives the confirmations from the rows alone, when the recorded ones are lost. Each version counts as last
// confirmed at its own last_confirmed_at. In a version that was read in part, every tracked column without a value
// counts as never read. Absences are counted from 0.
func Recall[R any, P Versioned[R]](t schema.TableOf[R], rows []R) (Confirmations, error) {
	entities, err := entitiesOf(identityOf(t), rows)
	if err != nil {
		return Confirmations{}, err
	}
	var at schema.Instant
	for _, th := range entities {
		f := P(th.current).FramePtr()
		th.confirmed = f.LastConfirmedAt
		at = max(at, f.ValidFrom, f.LastConfirmedAt)
		if f.ReadState != schema.ReadPartial {
			continue
		}
		fields := columns(t.Fields())
		for _, c := range t.Tracked() {
			if i := fields.index(c.Name); t.ColumnEqual(th.current, new(R), fields[i]) {
				th.never = append(th.never, c.Name)
			}
		}
		slices.Sort(th.never)
	}
	m := confirmationsOf[R, P](entities, at)
	return m, Check[R, P](t, Versions[R]{Rows: rows, Confirmations: m})
}
