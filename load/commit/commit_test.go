package commit

import (
	"errors"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/manifest"
)

func TestRecord_StaysInTheStore(t *testing.T) {
	for name, r := range map[string]Record{
		"moves out": {Staging: "staging/a.1", Moves: []Move{{"staging/a.1/x", "../x"},
			{"staging/a.1/m", manifest.FileName}}},
		"moves from out": {Staging: "staging/a.1", Moves: []Move{{"staging/a.1/../../../x", "x"},
			{"staging/a.1/m", manifest.FileName}}},
		"removes out": {Staging: "staging/a.1", Removes: []string{"/etc/passwd"},
			Moves: []Move{{"staging/a.1/m", manifest.FileName}}},
		"staging is all":  {Staging: ".", Moves: []Move{{"./m", manifest.FileName}}},
		"no manifest":     {Staging: "staging/a.1", Moves: []Move{{"staging/a.1/x", "x"}}},
		"nothing at all":  {},
		"other's staging": {Staging: "staging/a.1", Moves: []Move{{"staging/b.1/m", manifest.FileName}}},
	} {
		if err := r.check(); !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%s: check = %v, want ErrDamaged", name, err)
		}
	}
}
