package extract

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"spendsync/extract/adsim"
	"spendsync/extract/openapi"
)

// describe is the simulated service's description of itself.
func describe(t *testing.T) []byte {
	t.Helper()
	server := httptest.NewServer(adsim.New(adsim.Config{}))
	defer server.Close()
	req, _ := http.NewRequest(http.MethodGet, server.URL+adsim.APIPrefix+"/v1/openapi.json", nil)
	req.Header.Set("Authorization", "Bearer "+adsim.DefaultKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", resp.StatusCode, err)
	}
	return b
}

func TestDescription_Drift(t *testing.T) {
	text := describe(t)
	for name, c := range map[string]struct {
		old, now string // what the text says, and what it says now
		want     []string
	}{
		"none": {},
		"an operation is gone": {`"/v1/limits"`, `"/v1/quotas"`,
			[]string{"GET /v1/limits is not described any more"}},
		"a path parameter": {`{campaign_id}`, `{id}`, nil},
		"a status is gone": {`"archived"`, `"retired"`, []string{"GET /v1/campaigns: status=archived is not " +
			"allowed any more", "GET /v1/campaigns/{}/creatives: status=archived is not allowed any more"}},
		"pages are shorter": {`"maximum":100,`, `"maximum":50,`, []string{"limit=100 is not allowed any more: " +
			"the maximum is 50"}},
		"paging by something new": {`"name":"offset"`, `"name":"cursor"`, []string{"has no parameter offset any more"}},
		"a field has a new name": {`"default_bid"`, `"base_bid"`, []string{"the answer of GET /v1/campaigns/{} has " +
			"no field default_bid any more"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := text
			if c.old != "" {
				if b = bytes.ReplaceAll(text, []byte(c.old), []byte(c.now)); bytes.Equal(b, text) {
					t.Fatalf("the description does not say %s", c.old)
				}
			}
			d, err := openapi.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			got := d.Drift(reliances(nil))
			for _, want := range c.want {
				if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) }) {
					t.Errorf("drift %q lacks %q", got, want)
				}
			}
			if len(c.want) == 0 && len(got) > 0 {
				t.Errorf("drift %q, want none", got)
			}
		})
	}
}

func TestDescription_RefusesWhatIsNone(t *testing.T) {
	for _, text := range []string{"", "[]", `{"info":{}}`, `{"paths":[]}`} {
		if _, err := openapi.Parse([]byte(text)); err == nil {
			t.Errorf("%q is a description", text)
		}
	}
	// References in a circle end.
	d, err := openapi.Parse([]byte(`{"paths":{"/v1/me":{"get":{"responses":{"200":{"$ref":"#/components/a"}}}}},` +
		`"components":{"a":{"$ref":"#/components/b"},"b":{"$ref":"#/components/a"}}}`))
	if err != nil || len(d.Drift(reliances(nil))) == 0 {
		t.Errorf("a circle: %v", err)
	}
	if !json.Valid(describe(t)) {
		t.Error("the description is no JSON")
	}
}

func TestDrift_FailsWithoutADescription(t *testing.T) {
	for body, status := range map[string]int{`{"error":"x"}`: 404, `{"openapi":7}`: 200} {
		c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return answerWith(status, body)
		}), func(o *Options) { o.RetryBudget = 1 })
		_, drift, err := c.Drift(t.Context())
		if err == nil || drift != nil {
			t.Errorf("status %d: drift %v, error %v", status, drift, err)
		}
	}
}
