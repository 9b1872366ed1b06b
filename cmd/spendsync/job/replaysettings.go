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

// replaySettings fills columns of the settings that no earlier version could read from the JSON that each version
// keeps. A value that is known stays.
func (m *offlineRun) replaySettings() error {
	c := transform.SettingsContext{Account: m.Account, RunID: m.RunID, Service: m.Service}
	return errors.Join(
		fillSettings(m, schema.CampaignHistory, func(v *schema.Campaign) (schema.Campaign, transform.Decoded, error) {
			// Nobody knows whether it is the JSON of the single read, which leaves out nothing.
			return transform.Campaign(m.reread(extract.KindCampaign, v.CampaignID, v.Raw), extract.Entity{}, c)
		}),
		fillSettings(m, schema.CreativeHistory, func(v *schema.Creative) (schema.Creative, transform.Decoded, error) {
			return transform.Creative(m.reread(extract.KindCreative, v.CreativeID, v.Raw), v.CampaignID.V, c)
		}, imageURLs...),
		fillSettings(m, schema.SourceModeHistory, func(v *schema.SourceMode) (schema.SourceMode, transform.Decoded,
			error) {
			read, err := transform.Sources(m.reread(extract.KindSources, v.CampaignID, v.Raw), v.CampaignID, c)
			read.Unread = slices.DeleteFunc(read.Unread, func(column string) bool { return column != "source_mode" })
			return read.Mode, read.Decoded, err
		}, "bids_last_read_at"))
}

// reread returns the entity in the JSON of a version; the zero Entity if it is not understood.
func (m *offlineRun) reread(kind, id string, raw schema.Null[string]) extract.Entity {
	e, _ := extract.ParseEntity(m.Service, kind, id, []byte(raw.V))
	return e
}

// fillSettings fills the versions of a table, but for some columns, which the JSON does not have. A key that is missing
// or damaged says nothing: the run that read it has decided whether it was unset.
func fillSettings[R any, P history.Versioned[R]](m *offlineRun, t schema.TableOf[R],
	read func(*R) (R, transform.Decoded, error), but ...string) error {
	h, err := load.StoredHistory[R, P](m.store, t)
	if err != nil {
		return err
	}
	raw := t.ColumnsNamed("raw")[0]
	next, filled, err := history.Fill[R, P](t, h, m.RunID, func(v *R) (s history.Seen[R], ok bool) {
		if t.ColumnEqual(v, new(R), raw) {
			return s, false
		}
		row, decoded, err := read(v)
		unread := slices.Concat(decoded.Unread, decoded.Missing, decoded.Blank, but)
		for _, text := range decoded.Texts {
			unread = append(unread, text.Column)
		}
		slices.Sort(unread)
		return history.Seen[R]{Row: row, Unread: slices.Compact(unread)}, err == nil
	})
	if err != nil || filled == 0 {
		return err
	}
	m.filled += filled
	return load.PutHistory[R, P](m.staged, t, next)
}
