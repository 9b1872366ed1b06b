package adsim

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpPath is where the tools are: Streamable HTTP, stateless.
const mcpPath = APIPrefix + "/mcp"

// tools serves MCP and the sign-in for it, for the accounts of a service.
type tools struct {
	accounts []*api
	signIns  signIns
}

func newTools(accounts []*api) *tools { return &tools{accounts: accounts} }

// serve answers a request of MCP or of signing in; false is another path.
func (s *tools) serve(now time.Time, r *http.Request, f *Fault) (reply, bool) {
	if r.URL.Path == mcpPath {
		return s.serveMCP(now, r, f), true
	}
	return s.serveOAuth(r)
}

// serveMCP answers POST {base_url}/mcp. Every request has a server of its own, which
// knows whose key it came with; nothing is kept between two requests.
func (s *tools) serveMCP(now time.Time, r *http.Request, f *Fault) reply {
	own, key := accountOf(s.accounts, r.Header.Get("Authorization"), now)
	if own == nil {
		own, key = s.signedIn(r.Header.Get("Authorization"))
	}
	if own == nil {
		rep := s.accounts[0].unauthorized()
		rep.header.Set("Www-Authenticate", `Bearer resource_metadata="`+baseOf(r)+protectedResource+mcpPath+`"`)
		return rep
	}
	server := toolServer(own, key, f)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: slog.New(slog.DiscardHandler)})
	w := &kept{header: http.Header{}}
	handler.ServeHTTP(w, r)
	rep := reply{status: w.status, header: w.header, body: w.body.Bytes()}
	if rep.status == 0 {
		rep.status = http.StatusOK
	}
	key.tell(rep.header, now)
	return rep
}

// kept is a ResponseWriter that keeps the reply, so that it can meet a fault like
// any other.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *kept) Header() http.Header { return w.header }
func (w *kept) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}
func (w *kept) Write(p []byte) (int, error) { w.WriteHeader(http.StatusOK); return w.body.Write(p) }
func (w *kept) Flush()                      {}

// toolServer has every operation as a tool.
func toolServer(s *api, key *apiKey, f *Fault) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "advertiser-api", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "Manages the push-notification campaigns of one advertiser account.",
		Capabilities: &mcp.ServerCapabilities{},
		Logger:       slog.New(slog.DiscardHandler),
	})
	for _, op := range s.operations {
		if op.notTool {
			continue
		}
		tool := &mcp.Tool{Name: op.name, Description: op.summary, InputSchema: op.input(),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: !op.write}}
		server.AddTool(tool, func(_ context.Context, in *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return runTool(s, op, key, f, in.Params.Arguments), nil
		})
	}
	return server
}

// runTool does what a tool is called for. What is refused is a result that says so.
func runTool(s *api, op *operation, key *apiKey, f *Fault, arguments json.RawMessage) *mcp.CallToolResult {
	st := s.world.snapshot()
	c := &call{st: &st, key: key, op: op, fault: f, query: url.Values{}}
	rep := func() reply {
		if len(bytes.TrimSpace(arguments)) == 0 {
			arguments = json.RawMessage("{}")
		}
		p := c.takeArguments(arguments)
		if limit := s.throttle(c); limit != nil {
			p = limit
		}
		if p != nil {
			return s.refuse(p)
		}
		return s.perform(c)
	}()
	return toolResult(s, c, rep)
}

// toolResult is a reply of REST as the result of a tool, with what REST tells in
// headers, and with a notice where the account needs funds.
func toolResult(s *api, c *call, rep reply) *mcp.CallToolResult {
	failed := rep.status >= 400
	var members map[string]json.RawMessage
	if err := json.Unmarshal(rep.body, &members); err != nil { // a bare list
		members = map[string]json.RawMessage{"items": rep.body}
	}
	if !json.Valid(rep.body) { // a fault
		members = map[string]json.RawMessage{"body": marshal(string(rep.body))}
	}
	if wait := rep.header.Get("Retry-After"); failed && wait != "" {
		members["error"] = json.RawMessage(strings.TrimSuffix(string(members["error"]), "}") +
			`,"retry_after_seconds":` + wait + `}`)
	}
	if text := c.key.warning(c.st.now); text != "" {
		members["key_expiry_warning"] = appendString(nil, text, false)
	}
	if notice := accountNotice(c.st, s.world); notice != "" {
		members["account_notice"] = appendString(nil, notice, false)
	}
	text := marshal(members)
	return &mcp.CallToolResult{IsError: failed, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}},
		StructuredContent: json.RawMessage(text)}
}

// accountNotice is what to do where the account needs funds, else "".
func accountNotice(st *state, w *world) string {
	b := st.balanceOf(w.balanceAsOf(st.now, false))
	if b.status == "ok" {
		return ""
	}
	return b.message
}

// protectedResource is in front of the path that it tells of.
const protectedResource = "/.well-known/oauth-protected-resource"
