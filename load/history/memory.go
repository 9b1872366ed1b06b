package history

import (
	"maps"

	"spendsync/schema"
)

// Memory is what the rows of a history do not say. It is kept in the manifest, so
// that the Parquet file changes only when a version does.
//
// It is small, because nearly everything is confirmed by every run: what it
// names one by one are the exceptions.
type Memory struct {
	// ObservedAt is the last observation's instant. A run before it is refused,
	// and one at it again counts no absence twice.
	ObservedAt schema.Instant `json:"observed_at,omitzero"`
	// ConfirmedAt is when everything that is not excepted was last confirmed.
	ConfirmedAt schema.Instant `json:"confirmed_at,omitzero"`
	// Excepted are the keys that were last confirmed at another time.
	Excepted map[string]schema.Instant `json:"excepted,omitempty"`
	// Missed counts complete absences in a row.
	Missed map[string]int `json:"missed,omitempty"`
	// Never are the tracked columns that have never been readable, sorted, for
	// keys whose read state is partial. Of a stub and of what is unreadable that
	// is every column, and needs no entry.
	Never map[string][]string `json:"never,omitempty"`
}

// Confirmed is when the current version of a key was last confirmed: all that it
// says has been read at or after this instant. A read confirms if every tracked
// field was readable; so does the first one that could read anything. Of a
// deleted entity it is when a complete listing last lacked it.
func (m Memory) Confirmed(key string) schema.Instant {
	if at, ok := m.Excepted[key]; ok {
		return at
	}
	return m.ConfirmedAt
}

// With is the memory with another confirmation of a key.
func (m Memory) With(key string, at schema.Instant) Memory {
	m.Excepted = maps.Clone(m.Excepted)
	if m.Excepted == nil {
		m.Excepted = map[string]schema.Instant{}
	}
	m.Excepted[key] = at
	return m
}

// trim makes empty maps nil, as they are when the manifest is read back.
func (m Memory) trim() Memory {
	if len(m.Excepted) == 0 {
		m.Excepted = nil
	}
	if len(m.Missed) == 0 {
		m.Missed = nil
	}
	if len(m.Never) == 0 {
		m.Never = nil
	}
	return m
}
