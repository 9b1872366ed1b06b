package adsim

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/wire"
)

// router is the validator, made once.
var (
	routersMu sync.Mutex
	router    routers.Router
)

func routerOf(t testing.TB, s *Service) routers.Router {
	t.Helper()
	routersMu.Lock()
	defer routersMu.Unlock()
	if router != nil {
		return router
	}
	doc, err := openapi3.NewLoader().LoadFromData(advertiser.Description())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	r, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	router = r
	return r
}

// checked counts what was checked, so that a test can see that something was.
var checked sync.Map

// asDescribed holds a request of the advertiser API, and its reply, against
// openapi.json. What a fault or a variation has touched is not as described.
func asDescribed(t testing.TB, s *Service, req *http.Request, sent string, resp *http.Response, body []byte) {
	t.Helper()
	s.Faults.Mu.Lock()
	faults := len(s.Faults.List)
	s.Faults.Mu.Unlock()
	if !strings.HasPrefix(req.URL.Path, wire.APIPrefix+"/v1/") || faults > 0 || len(s.Cfg.Quirks) > 0 {
		return
	}
	again := req.Clone(context.Background())
	again.Body = io.NopCloser(strings.NewReader(sent))
	again.RequestURI = req.URL.RequestURI()
	route, params, err := routerOf(t, s).FindRoute(again)
	if err != nil {
		if resp.StatusCode != 404 && resp.StatusCode != 405 && resp.StatusCode != 401 && resp.StatusCode != 429 {
			t.Errorf("%s %s: openapi.json: %v, and the answer is %d", req.Method, req.URL.Path, err, resp.StatusCode)
		}
		return
	}
	// The same reply a thousand times over tells no more than a few.
	key := route.Operation.OperationID + resp.Status
	n, _ := checked.LoadOrStore(key, new(int))
	routersMu.Lock()
	*n.(*int)++
	often := *n.(*int) > 25
	routersMu.Unlock()
	if often {
		return
	}
	in := &openapi3filter.RequestValidationInput{Request: again, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			IncludeResponseStatus: true}}
	if resp.StatusCode < 300 {
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
			t.Errorf("%s %s was taken, and yet: %v", req.Method, req.URL.Path, err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: resp.StatusCode,
		Header: resp.Header, Options: in.Options}
	out.SetBodyBytes(bytes.Clone(body))
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		t.Errorf("%s %s: %d: %v", req.Method, req.URL.Path, resp.StatusCode, err)
	}
}

func TestOpenAPI_IsValid(t *testing.T) {
	s := sim(config.Config{})
	routerOf(t, s)
	status, _, body := callAPI(t, s, "/v1/openapi.json")
	if status != 200 || !bytes.Contains(body, []byte(`"openapi":"3.1.0"`)) ||
		!bytes.Contains(body, []byte(`"version":"1.0.0"`)) {
		t.Errorf("%d %s", status, head(body))
	}
}

// describedOperations are the rows of the description's table.
var describedOperations = strings.Fields(`
	GET /v1/me
	GET /v1/limits
	GET /v1/balance
	GET /v1/campaigns
	POST /v1/campaigns
	GET /v1/campaigns/{campaign_id}
	PATCH /v1/campaigns/{campaign_id}
	POST /v1/campaigns/{campaign_id}/status
	POST /v1/campaigns/{campaign_id}/clone
	GET /v1/campaigns/{campaign_id}/creatives
	POST /v1/campaigns/{campaign_id}/creatives
	GET /v1/creatives/{creative_id}
	PATCH /v1/creatives/{creative_id}
	POST /v1/creatives/{creative_id}/status
	POST /v1/creatives/{creative_id}/clone
	POST /v1/images
	GET /v1/campaigns/{campaign_id}/sources
	POST /v1/campaigns/{campaign_id}/sources/bids
	POST /v1/campaigns/{campaign_id}/sources/block
	POST /v1/campaigns/{campaign_id}/sources/unblock
	POST /v1/campaigns/{campaign_id}/sources/allow
	POST /v1/campaigns/{campaign_id}/sources/disallow
	GET /v1/openapi.json`)

func TestOpenAPI_NamesEveryOperationAndNoOther(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody *struct {
				Content map[string]struct {
					Schema struct {
						Additional *bool `json:"additionalProperties"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(advertiser.Description(), &doc); err != nil {
		t.Fatal(err)
	}
	var got []string
	for path, methods := range doc.Paths {
		for method, op := range methods {
			got = append(got, strings.ToUpper(method)+" "+path)
			if op.RequestBody != nil {
				if closed := op.RequestBody.Content["application/json"].Schema.Additional; closed == nil || *closed {
					t.Errorf("%s takes unknown fields", op.OperationID)
				}
			}
		}
	}
	var want []string
	for i := 0; i < len(describedOperations); i += 2 {
		want = append(want, describedOperations[i]+" "+describedOperations[i+1])
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// TestOpenAPI_RefusesWhatTheServiceRefuses holds the description's schemas against
// the bounds that the service is tested with.
func TestOpenAPI_RefusesWhatTheServiceRefuses(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	router := routerOf(t, s)
	valid := func(method, path, body string) error {
		req, err := http.NewRequest(method, "http://sim"+wire.APIPrefix+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		route, params, err := router.FindRoute(req)
		if err != nil {
			t.Fatal(err)
		}
		return openapi3filter.ValidateRequest(context.Background(), &openapi3filter.RequestValidationInput{Request: req,
			PathParams: params, Route: route,
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}})
	}
	// What no schema can say, only the service refuses.
	together := regexp.MustCompile(`min_age":21|ago":6,|\{\{|2027-02-30|}}`)
	for _, c := range fieldBounds {
		if err := valid("PATCH", "/v1/campaigns/C1234567", `{"`+c.field+`":`+c.good+`}`); err != nil {
			t.Errorf("%s %s: %v", c.field, c.good, err)
		}
		if err := valid("PATCH", "/v1/campaigns/C1234567", `{"`+c.field+`":`+c.bad+`}`); err == nil &&
			!together.MatchString(c.bad) {
			t.Errorf("%s %s is valid", c.field, c.bad)
		}
	}
	for _, c := range creativeBounds {
		if err := valid("PATCH", "/v1/creatives/C1234567-001", `{"`+c.field+`":`+c.bad+`}`); err == nil &&
			!together.MatchString(c.bad) {
			t.Errorf("%s %s is valid", c.field, c.bad)
		}
	}
	if valid("PATCH", "/v1/campaigns/C1234567", `{}`) == nil || valid("PATCH", "/v1/campaigns/C1234567",
		`{"colour":1}`) == nil {
		t.Error("no field, or an unknown one, is valid")
	}
}

// TestOpenAPI_SuitsGenerators: what makes generators leave something out is not there:
// schemas that extend others, one name for a schema and a response, enums and amounts
// without a type of their own.
func TestOpenAPI_SuitsGenerators(t *testing.T) {
	text := advertiser.Description()
	var doc struct {
		Components struct{ Schemas, Responses map[string]any }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for name := range doc.Components.Responses {
		if doc.Components.Schemas[name] != nil {
			t.Errorf("%s is a schema and a response", name)
		}
	}
	if len(doc.Components.Schemas) < 10 || len(doc.Components.Responses) < 10 ||
		bytes.Contains(text, []byte("allOf")) {
		t.Errorf("%.300s", text)
	}
	var walk func(where string, v any)
	walk = func(where string, v any) {
		for _, e := range list(v) {
			walk(where, e)
		}
		m := asMap(v)
		if (m["enum"] != nil || m["const"] != nil) && m["type"] == nil {
			t.Errorf("%s is an enum without a type", where)
		}
		if m["type"] == "number" && m["format"] != "double" {
			t.Errorf("%s is a number of no size", where)
		}
		for key, e := range m {
			walk(where+"."+key, e)
		}
	}
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	walk("", all)
}

// TestOpenAPI_RefusesWhatTheServerRefuses: an empty status list, and an image from
// nowhere or from two places.
func TestOpenAPI_RefusesWhatTheServerRefuses(t *testing.T) {
	s := sim(config.Config{})
	for body, want := range map[string]bool{
		`{"kind":"icon"}`: false, `{"kind":"icon","content_type":"image/png"}`: false,
		`{"kind":"icon","image_url":"https://a.example/x.png","data_base64":"aGFsbG8gd2VsdA==",` +
			`"content_type":"image/png"}`: false,
		`{"kind":"icon","image_url":"https://a.example/x.png"}`: true,
		`{"kind":"icon","data_base64":"aGFsbG8gd2VsdA==",` +
			`"content_type":"image/png"}`: true,
	} {
		if got := describedAs(t, s, "POST", "/v1/images", body); got != want {
			t.Errorf("%s: openapi.json takes it: %v, want %v", body, got, want)
		}
	}
	if describedAs(t, s, "GET", "/v1/campaigns?status=active,nosuch", "") {
		t.Error("openapi.json takes an unknown status")
	}
	// The validator takes status= for a parameter that is not there.
	for _, name := range []string{"list_campaigns", "list_creatives"} {
		i := slices.IndexFunc(s.api.Operations, func(op *advertiser.Operation) bool { return op.Name == name })
		if p := s.api.Operations[i].Params[0]; p.Name != "status" || p.Schema.MinItems != 1 {
			t.Errorf("%s: openapi.json takes an empty list of statuses", name)
		}
	}
}

// describedAs reports whether openapi.json takes a request.
func describedAs(t *testing.T, s *Service, method, path, body string) bool {
	t.Helper()
	req, err := http.NewRequest(method, "http://sim"+wire.APIPrefix+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+config.DefaultWriteKey)
	route, params, err := routerOf(t, s).FindRoute(req)
	if err != nil {
		t.Fatal(err)
	}
	return openapi3filter.ValidateRequest(t.Context(), &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}) == nil
}
