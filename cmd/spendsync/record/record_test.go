package record

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask sends a request through the recorder to a service, and returns the shapes of its reply.
func ask(t *testing.T, path, body string) string {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Rate-Left", "canary777")
		fmt.Fprint(w, body)
	}))
	defer service.Close()
	r := New()
	req, err := http.NewRequest(http.MethodGet, service.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secretword")
	resp, err := through{r, http.DefaultTransport, "api", ""}.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != body {
		t.Fatalf("the client has %q, %v", got, err)
	}
	return string(r.Shapes("test"))
}

func TestShapes_TellPathsTypesLengthsAndForms(t *testing.T) {
	got := ask(t, "/v1/campaigns/C1346?limit=9", `{"data":[{"campaign_id":"C1346","bid":0.45,"end_date":null},`+
		`{"campaign_id":"C99","bid":12,"ok":true}],"total":2}`)
	for _, want := range []string{
		"api v1/campaigns/<A9999>?limit 200: replies 1", "data[].campaign_id", "2x, length 3..5: text A99 | text A9999",
		"number 9.99 | number 99", "data[].end_date", "null", "true or false", "header X-Rate-Left", "list", "object",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestShapes_HaveNoValue: neither values nor keys, headers and paths that could be values are told.
func TestShapes_HaveNoValue(t *testing.T) {
	for _, body := range []string{
		`{"canary777":"canary777","Canary Corp":{"canary777@x.test":77712}}`, `{"secretword":1,"a":"secretword"}`,
		`{"broken":"canary777`, "canary777", `["canary777"] canary777`, "\ufeff" + `{"a":"canary777"}`,
		`{"long":"` + strings.Repeat("canary777 ", 50) + `"}`,
	} {
		got := ask(t, "/v1/canary777?canary777=canary777", body)
		for _, canary := range []string{"canary", "Canary", "777", "secretword", "Corp"} {
			if strings.Contains(got, canary) {
				t.Errorf("%s: %q is in\n%s", body, canary, got)
			}
		}
	}
}

func TestEnvelope_IsTheKeysOfTheReplies(t *testing.T) {
	for body, want := range map[string]string{`{"total":1,"data":[{"id":1}],"meta":{"a":{}}}`: "data[], meta{}, total",
		`[{"id":1}]`: "a list"} {
		r := New()
		r.take("api", "v1/campaigns", nil, &http.Response{StatusCode: 200}, []byte(body))
		r.take("api", "v1/creatives", nil, &http.Response{StatusCode: 200}, []byte(`{"other":1}`))
		if got := r.Envelope("api", "v1/campaigns"); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
