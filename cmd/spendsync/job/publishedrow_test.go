package job

import (
	"errors"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/load"
	"spendsync/load/durable"
)

// TestPublishedRow: the line of a run that publishes has what keeps its settings back, and the proof of its account.
func TestPublishedRow(t *testing.T) {
	w := newWorld(t)
	w.first()
	s, err := w.next().begin(t.Context(), "sync")
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	for name, c := range map[string]struct {
		settings error
		stopped  bool
		code     int
	}{"well": {nil, false, exit.OK}, "settings that cannot be stored": {durable.ErrStorage, false, exit.Storage},
		"settings that fail": {errors.New("x"), false, exit.OK}, "stopped": {durable.ErrStorage, true, exit.Stopped}} {
		r := &run{s: s, settingsErr: c.settings, proofs: []string{"a", "b"}, newVersions: 3}
		r.tally.planned, r.tally.proven, r.tally.stopped = 1, 1, c.stopped
		row := r.publishedRow(load.Preview{Generation: 7, Restatements: 2})
		if row.ExitCode != int64(c.code) || row.Generation != 7 || row.Restatements != 2 || !row.Published ||
			row.IdentityProof.V != "a; b" || row.SettingsVersions != 3 || row.DaysPlanned != 1 {
			t.Errorf("%s: %+v", name, row)
		}
		if row := r.row(exit.OK, "", false); row.IdentityProof.Valid {
			t.Errorf("%s: what is not published has a proof", name)
		}
	}
}
