package lake

import (
	"context"

	"spendsync/load/manifest"
)

// Status is the lake's state of the accounts of a store.
type Status struct {
	Generation int64 // of the store
	Behind     int64 // in generations, for the account with the longest delay
	Accounts   []Marker
}

// Status reads lake_generation. An account that the lake does not know has generation 0.
func (l *Lake) Status(ctx context.Context, dir string) (*Status, error) {
	m, err := manifest.OpenListing(dir)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return l.status(ctx, dir, m)
}

func (l *Lake) status(ctx context.Context, dir string, m *manifest.Listing) (*Status, error) {
	s := &Status{Generation: m.Manifest.Generation}
	marker, err := l.load(ctx, l.markerSpec())
	if err != nil {
		return nil, err
	}
	marks := &markers{}
	if marker != nil {
		if marks, err = readMarkers(marker.fs, marker.tbl.CurrentSnapshot(), m.Names()); err != nil {
			return nil, err
		}
	}
	store := &ledgers{dir: dir}
	for _, account := range m.Names() {
		row := marks.rows[account]
		row.AccountID = account
		if row.Generation > 0 {
			if err := store.checkAhead(m.Manifest, row); err != nil {
				return nil, err
			}
		}
		s.Accounts = append(s.Accounts, row)
		s.Behind = max(s.Behind, s.Generation-row.Generation)
	}
	return s, nil
}
