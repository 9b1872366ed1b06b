package recorded_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/recorded"
)

// recording is of 2026-11-21 in Chicago: a day of the report on one page, its sums of two days, a list, a campaign, a
// creative that was not there, an end of the key, a compressed reply and a connection that failed.
const recording = `{"recording":1,"by":"spendsync test","today":"2026-11-21","exchanges":[
{"of":"report","path":"ads/spend-report","query":{"start_date":"2026-11-20","end_date":"2026-11-20","columns":"date,x",
	"page":"1","page_size":"2"},"status":200,"header":{"Content-Type":"application/json"},"clock_ahead":90,
	"body":"{\"columns\":[\"date\"],\"data\":[{\"date\":\"2026-11-20\",\"n\":1},` +
	`{\"date\":\"2026-11-20\",\"n\":2}],\"pagination\":{\"total_rows\":2}}"},
{"of":"report","path":"ads/spend-report","query":{"start_date":"2026-11-20","end_date":"2026-11-20","columns":"date"},
	"status":200,"body":"{\"data\":[{\"date\":\"2026-11-20\",\"total_spend\":3}],\"pagination\":{\"total_rows\":1}}"},
{"of":"api","path":"v1/campaigns","query":{"limit":"100","offset":"0"},"status":200,
	"body":"{\"campaigns\":[{\"id\":\"C1000001\"}],\"total\":1}"},
{"of":"api","path":"v1/campaigns/C0000000","status":404,"body":"{\"error\":{\"code\":\"not_found\"}}"},
{"of":"api","path":"v1/campaigns/C1000001","status":200,"body":"{\"id\":\"C1000001\",\"name\":\"a\"}"},
{"of":"api","path":"v1/me","status":500,"header":{"Retry-After":"7"},"body":"once"},
{"of":"api","path":"v1/me","status":200,"header":{"Service-Api-Key-Expires-At":"now+3600"},"body":"{\"account\":1}"},
{"of":"api","path":"v1/limits","status":200,"header":{"Content-Encoding":"gzip"},"body":"{\"limits\":[]}"},
{"of":"api","path":"v1/balance","status":0,"body":["AAH/"]}]}`

// TestHandler_ServesARecording: what was recorded comes again, on the day, under the ID and on the page that is asked
// for, and nothing else does.
func TestHandler_ServesARecording(t *testing.T) {
	f, err := recorded.Parse([]byte(recording))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2027, time.January, 2, 18, 0, 0, 0, time.UTC)
	server := httptest.NewServer(recorded.New(f, func() time.Time { return now },
		map[string]string{recorded.Report: "/report", recorded.API: "/api"}))
	defer server.Close()
	get := func(path string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "identity")
		resp, err := server.Client().Do(req)
		if err != nil {
			return nil, err.Error()
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
	day := func(day, more string) string {
		return "/report/ads/spend-report?start_date=" + day + "&end_date=" + day + "&columns=date" + more
	}
	for _, c := range []struct {
		path   string
		status int
		body   string
	}{
		{day("2027-01-01", ",x&page=1&page_size=2"), 200, `{"columns":["date"],"data":[{"date":"2027-01-01","n":1},` +
			`{"date":"2027-01-01","n":2}],"pagination":{"total_rows":2}}`},
		{day("2026-12-05", ",x&page=1&page_size=2"), 200, `{"columns":["date"],"data":[{"date":"2026-12-05","n":1},` +
			`{"date":"2026-12-05","n":2}],"pagination":{"total_rows":2}}`},
		{day("2027-01-01", ",x&page=2&page_size=2"), 200,
			`{"columns":["date"],"data":[],"pagination":{"total_rows":2}}`},
		{"/report/ads/spend-report?start_date=2026-12-30&end_date=2027-01-01&columns=date", 200,
			`{"data":[{"date":"2026-12-30","total_spend":3},{"date":"2026-12-31","total_spend":3},` +
				`{"date":"2027-01-01","total_spend":3}],"pagination":{"total_rows":3}}`},
		{day("2027-01-01", ",y"), 404, `nothing like it was recorded`},
		{"/api/v1/campaigns?limit=100&offset=0", 200, `{"campaigns":[{"id":"C1000001"}],"total":1}`},
		{"/api/v1/campaigns?limit=100&offset=100", 200, `{"campaigns":[],"total":1}`},
		{"/api/v1/campaigns/C1000001", 200, `{"id":"C1000001","name":"a"}`},
		{"/api/v1/campaigns/C7777777", 200, `{"id":"C7777777","name":"a"}`},
		{"/api/v1/campaigns/C0000000", 404, `{"error":{"code":"not_found"}}`},
		{"/api/v1/me", 500, `once`},
		{"/api/v1/me", 200, `{"account":1}`},
		{"/api/v1/me", 200, `{"account":1}`},
		{"/elsewhere", 404, `nothing like it was recorded`},
	} {
		resp, body := get(c.path)
		if resp == nil || resp.StatusCode != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %v, %s", c.path, resp, body)
		}
	}
	resp, _ := get(day("2027-01-01", ",x&page=1&page_size=2"))
	if got, want := resp.Header.Get("Date"), now.Add(90*time.Second).Format(http.TimeFormat); got != want {
		t.Errorf("the service's clock says %s, want %s", got, want)
	}
	resp, _ = get("/api/v1/me")
	ends, clock := resp.Header.Get("Service-Api-Key-Expires-At"), resp.Header.Get("Date")
	if ends != "2027-01-02T19:00:00Z" || clock != "" {
		t.Errorf("the key ends at %s, the clock says %q", ends, clock)
	}
	_, packed := get("/api/v1/limits")
	z, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(z); err != nil || string(plain) != `{"limits":[]}` {
		t.Errorf("%s, %v", plain, err)
	}
	if resp, why := get("/api/v1/balance"); resp != nil {
		t.Errorf("a connection that failed is answered with %s: %s", resp.Status, why)
	}
	if text := string(f.Exchanges[len(f.Exchanges)-1].Body); text != "\x00\x01\xff" {
		t.Errorf("a body that is no text: %q", text)
	}
}

// TestParse_RefusesOtherFiles: a file of another kind or of a later form is refused by its name.
func TestParse_RefusesOtherFiles(t *testing.T) {
	for text, want := range map[string]string{
		``: "not a recording", `[]`: "not a recording", `{}`: `its "recording" is 0`,
		`{"recording":2}`: `its "recording" is 2`, `{"recording":1,"exchanges":[{"body":7}]}`: "a body is neither",
	} {
		if _, err := recorded.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
