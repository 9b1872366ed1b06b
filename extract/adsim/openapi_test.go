package adsim

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
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
	doc, err := openapi3.NewLoader().LoadFromData(advertiser.Description)
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
	if status != 200 || !bytes.Contains(body, []byte(`"openapi": "3.1.0"`)) ||
		!bytes.Contains(body, []byte(`"version": "1.0.0"`)) {
		t.Errorf("%d %s", status, head(body))
	}
}

// describedOperations are the rows of the description's table.
var describedOperations = strings.Fields(`
	POST /v1/api-keys
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
	if err := json.Unmarshal(advertiser.Description, &doc); err != nil {
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
