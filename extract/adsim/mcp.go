package adsim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpPath is where the tools are: Streamable HTTP, stateless.
const mcpPath = APIPrefix + "/mcp"

// serveMCP answers POST {base_url}/mcp. Every request has a server of its own, which
// knows whose key it came with; nothing is kept between two requests.
func (s *Service) serveMCP(st *state, r *http.Request, f *Fault) reply {
	own, key := s.accountOf(r.Header.Get("Authorization"), st.now)
	if own == nil {
		own, key = s.signedIn(r.Header.Get("Authorization"))
	}
	if own == nil {
		rep := s.unauthorized()
		rep.header.Set("Www-Authenticate", `Bearer resource_metadata="`+baseOf(r)+protectedResource+mcpPath+`"`)
		return rep
	}
	server := own.toolServer(key, f)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: slog.New(slog.DiscardHandler)})
	w := &kept{header: http.Header{}}
	handler.ServeHTTP(w, r)
	rep := reply{status: w.status, header: w.header, body: w.body.Bytes()}
	if rep.status == 0 {
		rep.status = http.StatusOK
	}
	key.tell(rep.header, st.now)
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
func (s *Service) toolServer(key *apiKey, f *Fault) *mcp.Server {
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
			return s.callTool(op, key, f, in.Params.Arguments), nil
		})
	}
	return server
}

// input is the schema of the tool's arguments: the parameters of path and query and
// the fields of the body, under their names there.
func (op *operation) input() *schema {
	in := objectOf(nil, map[string]*schema{})
	if name := op.inPath(); name != "" {
		in.Properties[name] = idSchema(name)
		in.Required = append(in.Required, name)
	}
	for _, p := range op.params {
		in.Properties[p.name] = p.schema
	}
	if op.body != nil {
		maps.Copy(in.Properties, op.body.Properties)
		in.Required = append(in.Required, op.body.Required...)
		if op.body.MinFields > 0 {
			in.MinFields = op.body.MinFields + 1
		}
	}
	return in
}

// callTool does what a tool is called for. What is refused is a result that says so.
func (s *Service) callTool(op *operation, key *apiKey, f *Fault, arguments json.RawMessage) *mcp.CallToolResult {
	st := s.snapshot()
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
	return s.toolResult(c, rep)
}

// takeArguments parts the arguments into path, query and body.
func (c *call) takeArguments(raw json.RawMessage) *problem {
	args, err := parseBody(raw)
	if err != nil {
		return invalidField("", "%v", err)
	}
	if found := c.op.input().check(nil, "", map[string]any(args)); len(found) > 0 {
		return invalidFields(found)
	}
	path := c.op.path
	if name := c.op.inPath(); name != "" {
		path = strings.Replace(path, "{"+name+"}", args.text(name), 1)
		delete(args, name)
	}
	c.path = strings.Split(strings.TrimPrefix(path, "/v1/"), "/")
	for _, p := range c.op.params {
		if args.has(p.name) {
			c.query.Set(p.name, queryText(args[p.name]))
			delete(args, p.name)
		}
	}
	if c.op.body != nil {
		c.raw, err = json.Marshal(args)
	}
	if err != nil {
		return invalidField("", "%v", err)
	}
	return nil
}

// queryText is an argument as a query has it.
func queryText(v any) string {
	if list, ok := v.([]any); ok {
		words := make([]string, len(list))
		for i, e := range list {
			words[i] = fmt.Sprint(e)
		}
		return strings.Join(words, ",")
	}
	if n, ok := v.(json.Number); ok {
		f, _ := n.Float64() // the schema has seen that it is one
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// toolResult is a reply of REST as the result of a tool, with what REST tells in
// headers, and with a notice where the account needs funds.
func (s *Service) toolResult(c *call, rep reply) *mcp.CallToolResult {
	failed := rep.status >= 400
	var members map[string]json.RawMessage
	if err := json.Unmarshal(rep.body, &members); err != nil { // a bare list
		members = map[string]json.RawMessage{"items": rep.body}
	}
	if wait := rep.header.Get("Retry-After"); failed && wait != "" {
		members["error"] = json.RawMessage(strings.TrimSuffix(string(members["error"]), "}") +
			`,"retry_after_seconds":` + wait + `}`)
	}
	if text := c.key.warning(c.st.now); text != "" {
		members["key_expiry_warning"] = appendString(nil, text, false)
	}
	if notice := s.accountNotice(c.st); notice != "" {
		members["account_notice"] = appendString(nil, notice, false)
	}
	o := object{}
	o.begin("")
	for _, name := range sortedKeys(members) {
		o.raw(name, string(members[name]))
	}
	o.end()
	return &mcp.CallToolResult{IsError: failed, Content: []mcp.Content{&mcp.TextContent{Text: string(o.dst)}},
		StructuredContent: json.RawMessage(o.dst)}
}

// accountNotice is what to do where the account needs funds, else "".
func (s *Service) accountNotice(st *state) string {
	b := s.balanceOf(st, s.balanceAsOf(st.now, false))
	if b.status == "ok" {
		return ""
	}
	return b.message
}

// baseOf is where the client has found the service.
func baseOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// protectedResource is in front of the path that it tells of.
const protectedResource = "/.well-known/oauth-protected-resource"
