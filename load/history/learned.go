package history

import (
	"slices"

	"spendsync/schema"
)

// Learned are the campaigns of which something is known now about a time
// that was published before: one that is new, whose version was filled, or that was seen
// changed after a long time without a look. The first day concerned stands beside each.
func Learned[R any, P Versioned[R]](t schema.TableOf[R], old, now []R) map[string]schema.Date {
	if !slices.Equal(t.KeyNames(), []string{"account_id", "campaign_id", "version_no"}) {
		return nil
	}
	columns := t.ColumnsNamed(append(t.TrackedNames(), "version_no", "is_deleted", "changed_after", "change_type",
		"read_state")...)
	type version struct {
		campaign string
		no       int64
	}
	id := identityOf(t)
	before := map[version]*R{}
	for i := range old {
		before[version{id.parts(&old[i])[0], P(&old[i]).FramePtr().VersionNo}] = &old[i]
	}
	learned := map[string]schema.Date{}
	for i := range now {
		frame := P(&now[i]).FramePtr()
		campaign := id.parts(&now[i])[0]
		was := before[version{campaign, frame.VersionNo}]
		if was == nil && frame.VersionNo > 1 {
			// It begins now, but since the version before was last confirmed that one is only
			// assumed: that may be longer ago than the days that are always written.
			if after := frame.ChangedAfter; after.Valid {
				day := schema.DateOf(after.V.Time())
				if known, ok := learned[campaign]; day+schema.ReachDays < schema.DateOf(frame.ValidFrom.Time()) &&
					(!ok || day < known) {
					learned[campaign] = day
				}
			}
			continue
		}
		if was != nil && !slices.ContainsFunc(columns, func(c schema.Column) bool {
			return !t.ColumnEqual(was, &now[i], c)
		}) {
			continue
		}
		day := schema.DateOf(frame.ValidFrom.Time())
		if known, ok := learned[campaign]; !ok || day < known {
			learned[campaign] = day
		}
	}
	return learned
}
