package tools

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
)

// MCPPath is where the tools are: Streamable HTTP, stateless.
const MCPPath = wire.APIPrefix + "/mcp"

// Server serves MCP and the sign-in for it, for the accounts of a service.
type Server struct {
	accounts []*advertiser.API
	signIns  signIns
}

// New makes the room for a service: see adsim.New.
func New(accounts []*advertiser.API) wire.Extension {
	return &Server{accounts, signIns{clients: map[string][]string{}, codes: map[string]grant{},
		tokens: map[string]signIn{}}}
}

// Serve answers a request of MCP or of signing in; false is another path.
func (s *Server) Serve(now time.Time, r *http.Request, f *wire.Fault) (wire.Reply, bool) {
	if r.URL.Path == MCPPath {
		return s.serveMCP(now, r, f), true
	}
	return s.serveOAuth(r)
}

// serveMCP answers POST {base_url}/mcp. Every request has a server of its own, which
// knows whose key it came with; nothing is kept between two requests.
func (s *Server) serveMCP(now time.Time, r *http.Request, f *wire.Fault) wire.Reply {
	own, key := advertiser.AccountOf(s.accounts, r.Header.Get("Authorization"), now)
	if own == nil {
		own, key = s.signedIn(r.Header.Get("Authorization"))
	}
	if own == nil {
		rep := s.accounts[0].Unauthorized()
		rep.Header.Set("Www-Authenticate", `Bearer resource_metadata="`+wire.BaseOf(r)+ProtectedResource+MCPPath+`"`)
		return rep
	}
	server := toolServer(own, key, f)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: slog.New(slog.DiscardHandler)})
	w := httptest.NewRecorder() // so that the reply can meet a fault like any other
	handler.ServeHTTP(w, r)
	rep := wire.Reply{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
	key.Tell(rep.Header, now)
	return rep
}

// toolServer has every operation as a tool.
func toolServer(s *advertiser.API, key *advertiser.APIKey, f *wire.Fault) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "advertiser-api", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "Manages the push-notification campaigns of one advertiser account.",
		Capabilities: &mcp.ServerCapabilities{},
		Logger:       slog.New(slog.DiscardHandler),
	})
	for _, op := range advertiser.Operations() {
		if !op.IsTool() {
			continue
		}
		tool := &mcp.Tool{Name: op.Name, Description: op.Summary, InputSchema: op.Input(),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: !op.Write()}}
		server.AddTool(tool, func(_ context.Context, in *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return runTool(s, op, key, f, in.Params.Arguments), nil
		})
	}
	return server
}

// runTool runs a tool. A refusal is a result with an error.
func runTool(s *advertiser.API, op *advertiser.Operation, key *advertiser.APIKey, f *wire.Fault,
	arguments json.RawMessage) *mcp.CallToolResult {
	st := s.World.Snapshot()
	c := &advertiser.Call{St: &st, Key: key, Op: op, Fault: f}
	c.TakeArguments(arguments)
	return toolResult(s, c, s.Perform(c))
}

// toolResult turns a REST reply into the result of a tool. It includes the information of REST's
// headers, and a notice if the account needs funds.
func toolResult(s *advertiser.API, c *advertiser.Call, rep wire.Reply) *mcp.CallToolResult {
	failed := rep.Status >= 400
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(rep.Body, &members); err != nil { // a fault
		members = map[string]json.RawMessage{"body": tree.Marshal(string(rep.Body))}
	}
	if wait := rep.Header.Get("Retry-After"); failed && wait != "" {
		members["error"] = json.RawMessage(strings.TrimSuffix(string(members["error"]), "}") +
			`,"retry_after_seconds":` + wait + `}`)
	}
	if text := c.Key.Warning(c.St.Now); text != "" {
		members["key_expiry_warning"] = tree.Marshal(text)
	}
	if b := c.St.BalanceOf(s.World.BalanceAsOf(c.St.Now, false)); b.Status != "ok" {
		members["account_notice"] = tree.Marshal(b.Message)
	}
	text := tree.Marshal(members)
	return &mcp.CallToolResult{IsError: failed, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}},
		StructuredContent: json.RawMessage(text)}
}

// ProtectedResource precedes the path that it describes.
const ProtectedResource = "/.well-known/oauth-protected-resource"
