package history

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"spendsync/schema"
)

// Readings has, for each part of the settings, the instant at which the part was last read in full. An entity that was
// last confirmed at another instant has an entry of its own.
type Readings map[schema.Place]schema.Instant

// ReadingsOf converts the rows of the table of readings to a map.
func ReadingsOf(rows []schema.Reading) Readings {
	r := Readings{}
	for i := range rows {
		r[schema.Place{CampaignID: rows[i].CampaignID, Part: rows[i].Part, EntityID: rows[i].EntityID}] = rows[i].ReadAt
	}
	return r
}

// Wholes returns only the readings of whole parts, without the entries of single entities.
func (r Readings) Wholes() Readings {
	wholes := Readings{}
	for p, at := range r {
		if p.EntityID == "" {
			wholes[p] = at
		}
	}
	return wholes
}

// Confirmed returns when the entity at the place p was last confirmed: its own entry or, if there is none, the entry of
// the whole part. It returns 0 if neither exists.
func (r Readings) Confirmed(p schema.Place) schema.Instant {
	if at, ok := r[p]; ok {
		return at
	}
	return r[p.Whole()]
}

// Confirm records when the entity at the place p was last confirmed. It stores no entry if the whole part has the same
// instant.
func (r Readings) Confirm(p schema.Place, at schema.Instant) {
	if p.EntityID != "" && r[p.Whole()] == at {
		delete(r, p)
		return
	}
	r[p] = at
}

// Rows returns the rows of the table of readings, in key order.
func (r Readings) Rows(account, runID string) []schema.Reading {
	places := slices.SortedFunc(maps.Keys(r), func(a, b schema.Place) int {
		return cmp.Or(strings.Compare(a.CampaignID, b.CampaignID), strings.Compare(a.Part, b.Part),
			strings.Compare(a.EntityID, b.EntityID))
	})
	rows := make([]schema.Reading, len(places))
	for i, p := range places {
		rows[i] = schema.Reading{AccountID: account, CampaignID: p.CampaignID, Part: p.Part, EntityID: p.EntityID,
			ReadAt: r[p], RunID: runID}
	}
	return rows
}
