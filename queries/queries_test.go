package queries

import (
	"slices"
	"strings"
	"testing"
)

// TestQueries_OpenWithTheirQuestionAndTrap checks the form of every file.
func TestQueries_OpenWithTheirQuestionAndTrap(t *testing.T) {
	views, err := Views(nil)
	if err != nil || len(Asks()) == 0 || len(views) == 0 {
		t.Fatal("a folder is empty", err)
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
