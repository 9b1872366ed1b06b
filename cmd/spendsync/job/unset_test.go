package job

import (
	"strings"
	"testing"
)

// TestSomeNamed names three and counts the others.
func TestSomeNamed(t *testing.T) {
	for names, want := range map[string]string{
		"": "", "b": ", 1 unread field (b)", "c b a": ", 3 unread fields (a, b, c)",
		"d c b a": ", 4 unread fields (a, b, c and 1 more)", "e d c b a": ", 5 unread fields (a, b, c and 2 more)",
	} {
		if got := someNamed(strings.Fields(names), "unread field"); got != want {
			t.Errorf("%q: %q", names, got)
		}
	}
}
