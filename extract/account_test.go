package extract

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestKeyNotice_UnderstandsTheForms(t *testing.T) {
	const at, warn = "Service-Api-Key-Expires-At", "Service-Api-Key-Expiry-Warning"
	noon := time.Date(2026, time.March, 8, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		headers []string
		expires time.Time
		warning string
		ok      bool
	}{
		"none":          {nil, time.Time{}, "", false},
		"rfc3339":       {[]string{at, "2026-03-08T12:00:00Z"}, noon, "", true},
		"fraction":      {[]string{at, "2026-03-08T12:00:00.000Z"}, noon, "", true},
		"offset":        {[]string{at, "2026-03-08T06:00:00-06:00"}, noon, "", true},
		"lower-case":    {[]string{at, " 2026-03-08t12:00:00z "}, noon, "", true},
		"no-zone":       {[]string{at, "2026-03-08T12:00:00"}, noon, "", true},
		"day":           {[]string{at, "2026-03-08"}, noon.Add(-12 * time.Hour), "", true},
		"nonsense":      {[]string{at, "soon"}, time.Time{}, "", true},
		"warning":       {[]string{at, "2026-03-08T12:00:00Z", warn, "3 days left"}, noon, "3 days left", true},
		"warning/alone": {[]string{warn, "3 days left"}, time.Time{}, "3 days left", true},
		"warning/odd": {[]string{warn, "a\x1b[31m" + strings.Repeat("b", 400)}, time.Time{}, `a\x1b[31m` +
			strings.Repeat("b", 294) + "...", true},
		"other-prefix": {[]string{"Acme-Api-Key-Expires-At", "2026-03-08T12:00:00Z"}, noon, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
				return answerWith(404, "{}", tc.headers...) // the headers count on any reply
			}))
			_, _ = c.Me(t.Context())
			expires, warning, ok := c.KeyNotice()
			check(t, "expires", expires, tc.expires)
			check(t, "warning", warning, tc.warning)
			check(t, "ok", ok, tc.ok)
		})
	}
}
