package history

import (
	"slices"

	"spendsync/schema"
)

// Learned returns the campaigns whose published past has become better known, each with the first affected day: a new
// campaign, one whose version was filled, and one that was seen changed after a long time without a read.
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
			// The version starts now, but its predecessor is only assumed to hold since its last confirmation. That
			// may be longer ago than the days that are always rewritten.
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
