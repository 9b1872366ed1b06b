package queries

import (
	"strings"
	"testing"
)

// TestAsks_OpenWithTheirQuestionAndTrap holds the form of every file.
func TestAsks_OpenWithTheirQuestionAndTrap(t *testing.T) {
	asks := Asks()
	if len(asks) == 0 {
		t.Fatal("no questions")
	}
	for _, a := range asks {
		if !strings.HasSuffix(a.Question, "?") {
			t.Errorf("%s: the first line asks nothing: %q", a.Name, a.Question)
		}
		if a.Trap == "" || !strings.HasSuffix(a.Trap, ".") {
			t.Errorf("%s: the second line names no trap: %q", a.Name, a.Trap)
		}
		if !strings.HasPrefix(a.SQL, "SELECT") && !strings.HasPrefix(a.SQL, "WITH") {
			t.Errorf("%s: the SQL begins with %.20q", a.Name, a.SQL)
		}
	}
}

func TestFind_NamesWhatIsNotThere(t *testing.T) {
	if _, err := Find("nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("Find = %v", err)
	}
}
