package redact

import (
	"net/http"
	"strings"
	"testing"
)

// Of a large reply a part is looked at; a secret across its end is not shown either.
func TestSecrets_AreHiddenAtTheEndOfWhatIsLookedAt(t *testing.T) {
	r, _ := http.NewRequest("GET", "https://report.test", nil)
	r.Header.Set("Authorization", "Bearer "+strings.Repeat("cAn4ry-", 40))
	s := SecretsOf(r)
	for at := shownBytes - 300; at < shownBytes+10; at++ {
		body := strings.Repeat("x", at) + s.forms[0] + strings.Repeat("y", 1000)
		if shown := string(s.Beginning([]byte(body))); strings.Contains(shown, "cAn4ry") {
			t.Errorf("%d: %s", at, shown)
		}
	}
}
