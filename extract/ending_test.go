package extract

import (
	"net/http"
	"testing"
)

// TestEndings_AreThoseOfTheHeaders: each announcement is noted once, with its day.
func TestEndings_AreThoseOfTheHeaders(t *testing.T) {
	for _, tc := range []struct{ deprecation, sunset, wantSince, wantEnd string }{
		{"@1767225600", "Thu, 31 Dec 2026 23:59:59 GMT", "2026-01-01", "2026-12-31"},
		{"true", "", "true", ""},
		{"", "Thu, 31 Dec 2026 23:59:59 GMT", "", "2026-12-31"},
		{"Thu, 01 Jan 2026 00:00:00 GMT", "soon\n", "2026-01-01", "soon"},
	} {
		h := http.Header{}
		h.Set("Deprecation", tc.deprecation)
		h.Set("Sunset", tc.sunset)
		var n endNotice
		n.note("/v1/me", h)
		n.note("/v1/limits", h)
		want := Ending{"/v1/me", tc.wantSince, tc.wantEnd}
		if len(n.ends) != 1 || n.ends[0] != want {
			t.Errorf("%q %q: %+v, want %+v", tc.deprecation, tc.sunset, n.ends, want)
		}
	}
	var n endNotice
	n.note("/v1/me", http.Header{})
	n.note("/v1/me", http.Header{"Deprecation": {"false"}})
	if n.ends != nil {
		t.Errorf("%+v without a header", n.ends)
	}
}
