package job

import (
	"errors"
	"slices"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// replaySettings reads the JSON of the current versions of the settings again, and fills in
// what has never been readable of them before. What was readable stays as it is: whether it
// is otherwise now, only the service can say.
func (m *repairer) replaySettings() error {
	type reading = transform.Reading
	c := transform.SettingsContext{Account: m.Account, RunID: m.RunID}
	campaigns := refill(m, schema.CampaignHistory, func(r *schema.Campaign) (schema.Campaign, reading, error) {
		// Nobody knows whether it is the JSON of the single read, which leaves out nothing.
		return transform.Campaign(entityOf(r.CampaignID, r.Raw), extract.Entity{}, c)
	})
	creatives := refill(m, schema.CreativeHistory, func(r *schema.Creative) (schema.Creative, reading, error) {
		return transform.Creative(entityOf(r.CreativeID, r.Raw), r.CampaignID.V, c)
	})
	modes := refill(m, schema.SourceModeHistory, func(r *schema.SourceMode) (schema.SourceMode, reading, error) {
		read, err := transform.Sources(entityOf(r.CampaignID, r.Raw), r.CampaignID, c)
		return read.Mode, read.Reading, err
	})
	return errors.Join(campaigns, creatives, modes)
}

// entityOf is an entity as its JSON says it.
func entityOf(id string, raw schema.Null[string]) extract.Entity {
	e := extract.Entity{ID: id, Raw: []byte(raw.V)}
	e.Fields, _ = extract.Value(raw.V).Fields()
	return e
}

// refill lays over a table's history, at the instant of its last observation, what its JSON
// says of columns that were never readable. It makes no version, and confirms nothing.
func refill[R any, P history.Versioned[R]](
	m *repairer, t schema.TableOf[R], reread func(*R) (R, transform.Reading, error),
) error {
	h, err := load.StoredHistory[R, P](m.store, t)
	if err != nil || len(h.Rows) == 0 {
		return err
	}
	raw, keyText := t.ColumnsNamed("raw")[0], history.KeyTextOf(t)
	o := history.Observation[R]{Since: 1, At: h.Memory.ObservedAt, RunID: m.RunID}
	for i := range h.Rows {
		row := &h.Rows[i]
		frame, key := P(row).FramePtr(), keyText(row)
		never := h.Memory.Never[key]
		if frame.ReadState == schema.ReadUnreadable {
			never = t.TrackedNames()
		}
		if !frame.IsCurrent || frame.IsDeleted || len(never) == 0 || h.Memory.Missed[key] > 0 ||
			t.ColumnEqual(row, new(R), raw) {
			continue
		}
		read, reading, err := reread(row)
		if err != nil {
			continue // as when it came
		}
		stays := slices.DeleteFunc(t.FieldNames(), func(name string) bool {
			return slices.Contains(never, name) && !slices.Contains(reading.Unread, name)
		})
		if len(stays) < len(t.Fields()) {
			o.Seen = append(o.Seen, history.Seen[R]{Row: read, Unread: stays})
		}
	}
	next, st, err := history.Advance[R, P](t, t.Tracked(), h, o)
	if err != nil || st.Filled == 0 {
		return err
	}
	m.filled += int(st.Filled)
	return load.PutHistory[R, P](m.staged, t, next)
}
