package queries

import (
	"slices"
	"strings"
	"testing"
)

// TestQueries_OpenWithTheirQuestionAndTrap checks the form of every file.
func TestQueries_OpenWithTheirQuestionAndTrap(t *testing.T) {
	views := Views(nil)
	if len(Asks()) == 0 || len(views) == 0 {
		t.Fatal("a folder is empty")
	}
	all := slices.Concat(Asks(), views)
	for _, q := range all {
		if q.IsValue {
			continue
		}
		if !strings.HasSuffix(q.Question, "?") {
			t.Errorf("%s: the first line asks nothing: %q", q.Name, q.Question)
		}
		if q.Trap == "" || !strings.HasSuffix(q.Trap, ".") {
			t.Errorf("%s: the second line names no trap: %q", q.Name, q.Trap)
		}
		if !strings.HasPrefix(q.SQL, "SELECT") && !strings.HasPrefix(q.SQL, "WITH") {
			t.Errorf("%s: the SQL begins with %.20q", q.Name, q.SQL)
		}
	}
}

func TestFind_NamesWhatIsNotThere(t *testing.T) {
	if _, err := Find("nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("Find = %v", err)
	}
}

// TestParseThresholds_RefusesWhatCannotBe: the error says what the threshold may be.
func TestParseThresholds_RefusesWhatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "block_loss=0.2, urgent_days = 2.5,balance_stop=-100,recent_days=1": "",
		"x": `"x" is not of the form NAME=NUMBER`, ",": `"" is not of`, "block_loss=0.2,": `"" is not of`,
		"foo=1":                         `there is no threshold "foo"; there are performance_days, recent_days`,
		"block_loss=0.2,block_loss=0.9": "block_loss is set twice",
		"recent_days=0":                 `recent_days="0": must be a whole number from 1 to 366, for example 7`,
		"performance_days=2.5":          "must be a whole number", "block_loss=1e3": "must be a number",
		"block_probability=2": "from 0 to 1", "scale_probability=-1": "from 0 to 1", "bound_z=-5": "from 0 to 1000",
		"performance_days=1000000000": "from 1 to 3660",
	} {
		values, err := ParseThresholds(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, values, err)
		}
	}
}
