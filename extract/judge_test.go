package extract

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestJudge checks the verdict on each form of a reply.
func TestJudge(t *testing.T) {
	const (
		notFound = `{"error":{"code":"not_found","message":"no such campaign","request_id":"r1"}}`
		nest     = `{"message":"Cannot GET /v1/creatives/C1","error":"Not Found","statusCode":404}`
		spring   = `{"timestamp":"2026-11-28T00:00:00Z","status":404,"error":"Not Found","path":"/v1/x"}`
		tooFar   = "start_date cannot be more than 32 days before today"
	)
	asked := url.Values{"columns": {"date,clicks,conversions"}, "page_size": {"10000"}}
	for _, c := range []struct {
		status int
		header string // name: value
		body   string
		about  subject
		want   verdict
		names  string
	}{
		{status: 200, body: `{"campaigns":[]}`, want: accepted},
		{status: 201, body: `[]`, want: accepted},
		{status: 203, body: `[]`, want: accepted},
		{status: 200, body: `{"error":null,"id":"C1"}`, want: accepted},
		{status: 200, body: `{"error":false,"errors":[ ],"id":"C1"}`, want: accepted},
		{status: 200, body: `{"status":"low","message":"add funds","available_balance":1}`, want: accepted},
		{status: 200, body: `{"data":[` + strings.Repeat(`{"error":"x"},`, 400) + `{}],"error":"x"}`,
			want: accepted}, // its decoder finds the error
		{status: 200, header: "Retry-After: 5", body: `{}`, want: limited},

		{status: 200, body: `{"error":"no backend"}`, want: refused},
		{status: 200, body: `{"error":{"code":"upstream_error","message":"no backend"}}`, want: refused},
		{status: 200, body: `{"code":7,"message":"no backend"}`, want: refused},
		{status: 200, body: `{"error":"Try again later."}`, want: limited},
		{status: 200, body: `{"code":40100,"message":"Too many requests"}`, want: limited},
		{status: 200, body: `{"code":40100,"message":"Too many requests","data":{},"request_id":"r"}`, want: limited},
		{status: 200, body: `{"code":40100,"message":"Too many requests","data":[]}`, want: limited},
		{status: 200, body: `{"errors":[{"message":"Rate limit exceeded"}]}`, want: limited},
		{status: 200, body: `{"error":{"code":"x","message":"Slow down"},"meta":{"n":1}}`, want: limited},
		{status: 200, body: "Service Unavailable", want: failing},
		{status: 200, body: "", want: failing},
		{status: 200, body: " null\n", want: accepted}, // its decoder refuses the null
		{status: 200, body: "<html>sign in</html>", want: page},

		{status: 429, want: limited},
		{status: 503, body: "<html>", want: limited},
		{status: 404, header: "Retry-After: 5", body: notFound, about: ofEntity, want: limited},
		{status: 301, header: "Retry-After: 5", want: limited},
		{status: 401, header: "Retry-After: 5", want: limited},
		{status: 400, body: "Query timed out", want: limited},
		{status: 403, body: `{"error":{"errors":[{"reason":"rateLimitExceeded"}],"code":403}}`, want: limited},
		{status: 400, body: `{"error":{"message":"(#17) User request limit reached","code":17}}`, want: limited},
		{status: 403, body: `{"error":{"code":403,"message":"Rate Limit Exceeded"}}`, want: limited},
		{status: 400, body: "page_size exceeds the limit", about: ofReport, want: refused, names: "page_size"},
		{status: 400, body: `{"error":"limit must be between 1 and 100"}`, want: refused},
		{status: 408, want: failing},
		{status: 425, want: failing},
		{status: 500, want: failing},
		{status: 599, want: failing},

		{status: 404, body: notFound, about: ofEntity, want: notThere},
		{status: 410, body: notFound, about: ofEntity, want: notThere},
		{status: 400, body: notFound, about: ofEntity, want: notThere},
		{status: 404, body: notFound, about: ofAccount, want: refused},
		{status: 404, body: nest, about: ofEntity, want: refused},
		{status: 404, body: spring, about: ofEntity, want: refused},
		{status: 404, body: `{"error":"not_found"}`, about: ofEntity, want: refused},
		{status: 404, body: `{"code":"not_found","message":"x"}`, about: ofEntity, want: refused},
		{status: 404, body: "<html>no</html>", about: ofEntity, want: refused},
		{status: 200, body: notFound, about: ofEntity, want: refused},

		{status: 400, body: tooFar, about: ofReport, want: outOfReach},
		{status: 400, body: `{"error":"` + tooFar + `"}`, about: ofReport, want: outOfReach},
		{status: 400, body: strings.Replace(tooFar, "32", "30", 1), about: ofReport, want: outOfReach},
		{status: 400, body: tooFar, about: ofAccount, want: refused},
		{status: 400, body: "the range cannot exceed 132 days", about: ofReport, want: refused},
		{status: 400, body: "Unknown column: conversions", about: ofReport, want: refused, names: "conversions"},
		{status: 400, body: "<p>conversions</p>", about: ofReport, want: refused},
		{status: 400, body: "Invalid date", about: ofReport, want: refused},
		{status: 405, want: refused},

		{status: 401, body: `{"error":{"code":"unauthorized"}}`, want: denied},
		{status: 403, body: "User account not confirmed. Please check your email.", want: denied},

		{status: 302, header: "Location: https://elsewhere.test/", want: outside},
		{status: 202, want: outside},
		{status: 204, want: outside},
		{status: 206, body: "{}", want: outside},
	} {
		r := received{status: c.status, header: http.Header{}, body: []byte(c.body), at: time.Unix(0, 0)}
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			r.header.Set(name, value)
		}
		j := judge(c.about, asked, r)
		where := fmt.Sprintf("%d %s %.80s", c.status, c.header, c.body)
		check(t, where, j.verdict, c.want)
		check(t, where+" names", j.names, c.names)
		if j.verdict != accepted && j.grounds(c.about, r) == "" {
			t.Errorf("%s: no grounds", where)
		}
	}
}
