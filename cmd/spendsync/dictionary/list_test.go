package dictionary

import (
	"strings"
	"testing"
)

// TestList_AreEachListedOnce holds also for a table or view that no group names yet.
func TestList_AreEachListedOnce(t *testing.T) {
	docs, seen := tableDocs(), map[string]bool{}
	for _, g := range tableGroups {
		for _, name := range g.names {
			if docs[name] == "" || seen[name] {
				t.Errorf("%s: %s is no table or view, or is listed twice", g.title, name)
			}
			seen[name] = true
		}
	}
	for name := range docs {
		if strings.HasPrefix(name, "int.") {
			continue
		}
		line := "\n  " + strings.TrimPrefix(name, "main.") + " "
		if n := strings.Count(List(200), line); n != 1 {
			t.Errorf("%s is listed %d times", name, n)
		}
	}
}
