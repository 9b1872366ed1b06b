package history

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"spendsync/load/durable"
	"spendsync/schema"
)

func TestCheckHistory_FindsWhatDoesNotHold(t *testing.T) {
	type history = Versions[schema.Campaign]
	b := campaigns(t)
	b.run(listed(1, campaign("c1", "A", 1), without(campaign("c2", "B", 2), "name"), campaign("c3", "C", 3),
		campaign("c5", "E", 5)))
	b.run(listed(2, campaign("c1", "B", 1), without(campaign("c2", "B", 2), "name")))
	b.run(listed(3, campaign("c1", "B", 1), without(campaign("c2", "B", 2), "name")))
	o := reported(4, "c4")
	o.Seen = append(o.Seen, campaign("c5", "E", 5))
	b.run(o)
	// c1: changed; c2: partial; c3: deleted; c4: stub; c5: restored.
	const c1v1, c1v2, c2, c3v1, c3v2, c4, c5v3 = 0, 1, 2, 3, 4, 5, 8
	for name, harm := range map[string]func(*history){
		"number/gap":              func(h *history) { h.Rows[c1v2].VersionNo = 3 },
		"number/lost":             func(h *history) { h.Rows = h.Rows[1:] },
		"number/twice":            func(h *history) { h.Rows = append(h.Rows[:1:1], h.Rows...) },
		"order/keys":              func(h *history) { h.Rows[c2], h.Rows[c4] = h.Rows[c4], h.Rows[c2] },
		"order/versions":          func(h *history) { h.Rows[c1v1], h.Rows[c1v2] = h.Rows[c1v2], h.Rows[c1v1] },
		"account/another":         func(h *history) { h.Rows[c4].AccountID = "other" },
		"time/gap":                func(h *history) { h.Rows[c1v2].ValidFrom++ },
		"time/overlap":            func(h *history) { h.Rows[c1v1].ValidTo++ },
		"time/empty":              func(h *history) { h.Rows[c1v1].ValidFrom = h.Rows[c1v1].ValidTo },
		"current/none":            func(h *history) { h.Rows[c1v2].IsCurrent = false },
		"current/two":             func(h *history) { h.Rows[c1v1].IsCurrent = true },
		"current/closed":          func(h *history) { h.Rows[c1v2].ValidTo = hour(9) },
		"confirmed/after its end": func(h *history) { h.Rows[c1v1].LastConfirmedAt = hour(2) },
		"confirmed/at its end": func(h *history) {
			h.Rows[c1v1].LastConfirmedAt = h.Rows[c1v1].ValidTo
			h.Rows[c1v2].ChangedAfter = schema.Some(h.Rows[c1v1].ValidTo)
		},
		"changed after/another":       func(h *history) { h.Rows[c1v2].ChangedAfter.V-- },
		"changed after/nothing":       func(h *history) { h.Rows[c2].ChangedAfter = schema.Some(hour(0)) },
		"kind/first twice":            func(h *history) { h.Rows[c1v2].ChangeType = schema.FirstSeen },
		"kind/changed at first":       func(h *history) { h.Rows[c2].ChangeType = schema.Changed },
		"kind/no columns":             func(h *history) { h.Rows[c1v2].ChangedColumns = schema.Null[string]{} },
		"kind/restored from nothing":  func(h *history) { h.Rows[c1v2].ChangeType = schema.Restored },
		"kind/deleted and there":      func(h *history) { h.Rows[c3v2].IsDeleted = false },
		"kind/changed after deletion": func(h *history) { h.Rows[c1v1].IsDeleted = true },
		"kind/first with columns":     func(h *history) { h.Rows[c1v1].ChangedColumns = schema.Some("name") },
		"kind/deleted with columns":   func(h *history) { h.Rows[c3v2].ChangedColumns = schema.Some("name") },
		"kind/beyond with columns":    func(h *history) { h.Rows[c1v2].ChangeType = schema.ChangedBeyond },
		"kind/deleted twice": func(h *history) {
			h.Rows[c5v3].ChangeType, h.Rows[c5v3].IsDeleted = schema.Deleted, true
		},
		"kind/beyond after deletion":  func(h *history) { h.Rows[c5v3].ChangeType = schema.ChangedBeyond },
		"kind/unknown":                func(h *history) { h.Rows[c1v2].ChangeType = "odd" },
		"read state/unknown":          func(h *history) { h.Rows[c1v1].ReadState = "odd" },
		"read state/no stub":          func(h *history) { h.Rows[c3v1].ReadState = schema.ReadStub },
		"read state/not partial":      func(h *history) { h.Rows[c2].ReadState = schema.ReadOK },
		"memory/not partial":          func(h *history) { h.Memory.Never = nil },
		"memory/never, but a value":   func(h *history) { h.Rows[c2].Name = schema.Some("x") },
		"memory/never, but no column": func(h *history) { h.Memory.Never["c2"] = []string{"nmae"} },
		"memory/never, but no row":    func(h *history) { h.Memory.Never["c9"] = []string{"name"} },
		"memory/missed, but no row":   func(h *history) { h.Memory.Missed = map[string]int{"c9": 1} },
		"memory/missed, but gone":     func(h *history) { h.Memory.Missed = map[string]int{"c3": 1} },
		"memory/missed, but a stub":   func(h *history) { h.Memory.Missed = map[string]int{"c4": 1} },
		"memory/older than the rows":  func(h *history) { h.Memory.ObservedAt = hour(3) },
	} {
		t.Run(name, func(t *testing.T) {
			var h history
			text, err := json.Marshal(b.h)
			if err == nil {
				err = json.Unmarshal(text, &h) // a deep copy to be damaged
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := Check(b.table, h); err != nil {
				t.Fatalf("before any harm: %v", err)
			}
			harm(&h)
			if err := Check(b.table, h); !errors.Is(err, durable.ErrDamaged) ||
				!strings.HasPrefix(err.Error(), "campaign_history: ") {
				t.Errorf("got %v, want that it is damaged", err)
			}
		})
	}
}
