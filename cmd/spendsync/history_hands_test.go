package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"spendsync/extract/adsim"
)

// hands are what an advertiser changes his account with: REST and MCP, in turn.
type hands struct {
	t       *testing.T
	base    string
	rest    http.RoundTripper
	session *mcp.ClientSession
	calls   int // of both
}

// paths are the operations of the description that the hands use over REST.
var paths = map[string]string{
	"get_limits":          "GET /v1/limits",
	"get_balance":         "GET /v1/balance",
	"list_campaigns":      "GET /v1/campaigns",
	"create_campaign":     "POST /v1/campaigns",
	"get_campaign":        "GET /v1/campaigns/{campaign_id}",
	"update_campaign":     "PATCH /v1/campaigns/{campaign_id}",
	"set_campaign_status": "POST /v1/campaigns/{campaign_id}/status",
	"clone_campaign":      "POST /v1/campaigns/{campaign_id}/clone",
	"list_creatives":      "GET /v1/campaigns/{campaign_id}/creatives",
	"create_creatives":    "POST /v1/campaigns/{campaign_id}/creatives",
	"get_creative":        "GET /v1/creatives/{creative_id}",
	"update_creative":     "PATCH /v1/creatives/{creative_id}",
	"set_creative_status": "POST /v1/creatives/{creative_id}/status",
	"clone_creative":      "POST /v1/creatives/{creative_id}/clone",
	"upload_image":        "POST /v1/images",
	"get_source_settings": "GET /v1/campaigns/{campaign_id}/sources",
	"set_source_bids":     "POST /v1/campaigns/{campaign_id}/sources/bids",
	"block_sources":       "POST /v1/campaigns/{campaign_id}/sources/block",
	"unblock_sources":     "POST /v1/campaigns/{campaign_id}/sources/unblock",
	"allow_sources":       "POST /v1/campaigns/{campaign_id}/sources/allow",
	"disallow_sources":    "POST /v1/campaigns/{campaign_id}/sources/disallow",
}

type args map[string]any

// withKey sends the key that may write.
type withKey struct{ next http.RoundTripper }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+adsim.DefaultWriteKey)
	return k.next.RoundTrip(r)
}

func newHands(w *world) *hands {
	w.t.Helper()
	h := &hands{t: w.t, base: w.env["ADVERTISER_URL"], rest: withKey{w.service.Transport()}}
	client := mcp.NewClient(&mcp.Implementation{Name: "advertiser", Version: "1"}, nil)
	var err error
	h.session, err = client.Connect(w.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: h.base + "/mcp", HTTPClient: &http.Client{Transport: h.rest}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { h.session.Close() })
	return h
}

// call does an operation and gives the object of its answer, or the code that it
// was refused with.
func (h *hands) call(op string, in args) (answer map[string]any, code string) {
	h.t.Helper()
	var raw []byte
	if h.calls++; h.calls%2 == 0 {
		raw = h.overMCP(op, in)
	} else {
		raw = h.overREST(op, in)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		h.t.Fatalf("%s %v: %v in %s", op, in, err, raw)
	}
	if refused, is := answer["error"].(map[string]any); is {
		return refused, refused["code"].(string)
	}
	for _, envelope := range []string{"campaign", "creative", "source_change", "source_settings", "image"} {
		if inner, is := answer[envelope].(map[string]any); is {
			return inner, ""
		}
	}
	return answer, ""
}

// must is call for what the service has no reason to refuse.
func (h *hands) must(op string, in args) map[string]any {
	h.t.Helper()
	answer, code := h.call(op, in)
	if code != "" {
		h.t.Fatalf("%s %v: refused with %v", op, in, answer)
	}
	return answer
}

func (h *hands) overMCP(op string, in args) []byte {
	h.t.Helper()
	out, err := h.session.CallTool(h.t.Context(), &mcp.CallToolParams{Name: op, Arguments: in})
	if err != nil {
		h.t.Fatalf("%s %v: %v", op, in, err)
	}
	return []byte(out.Content[0].(*mcp.TextContent).Text)
}

func (h *hands) overREST(op string, in args) []byte {
	h.t.Helper()
	method, path, _ := strings.Cut(paths[op], " ")
	body, query := args{}, []string{}
	for name, v := range in {
		switch in := "{" + name + "}"; {
		case strings.Contains(path, in):
			path = strings.ReplaceAll(path, in, v.(string))
		case method == http.MethodGet:
			if list, is := v.([]string); is {
				v = strings.Join(list, ",")
			}
			query = append(query, fmt.Sprintf("%s=%v", name, v))
		default:
			body[name] = v
		}
	}
	if query != nil {
		path += "?" + strings.Join(query, "&")
	}
	var sent io.Reader
	if method != http.MethodGet {
		b, err := json.Marshal(body)
		if err != nil {
			h.t.Fatal(err)
		}
		sent = bytes.NewReader(b)
	}
	return h.fetch(method, h.base+path, sent, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/json")
	})
}

// fetch asks and reads the whole answer.
func (h *hands) fetch(method, url string, sent io.Reader, edit func(*http.Request)) []byte {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, url, sent)
	if err != nil {
		h.t.Fatal(err)
	}
	edit(r)
	resp, err := h.rest.RoundTrip(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return raw
}

// upload uploads a blank picture and gives its ID.
func (h *hands) upload(kind string, width, height int) string {
	h.t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		h.t.Fatal(err)
	}
	got := h.must("upload_image", args{"kind": kind, "content_type": "image/png",
		"data_base64": base64.StdEncoding.EncodeToString(b.Bytes())})
	return got["id"].(string)
}
