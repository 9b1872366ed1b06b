package advertiser

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"spendsync/extract/adsim/wire"
)

// Description is openapi.json. It is the one table of rules: requests of REST and arguments of tools are checked by
// it, and missing ones get its defaults.
//
//go:embed openapi.json
var Description []byte

// Operation is one row of the description's table: what REST serves, and what a tool of MCP is.
type Operation struct {
	Name, Method, Path string // the path as in "/v1/campaigns/{campaign_id}"
	Summary            string
	Fields             *schema // the parameters of a read, the body of a write
	bodyOptional       bool
	answer             func(*API, *Call) wire.Reply
}

var answers = map[string]func(*API, *Call) wire.Reply{
	"get_api_key_info": (*API).me, "get_limits": (*API).limits, "get_balance": (*API).balance,
	"list_campaigns": (*API).listCampaigns, "create_campaign": (*API).createCampaign,
	"get_campaign": (*API).getCampaign, "update_campaign": (*API).updateCampaign,
	"set_campaign_status": (*API).setCampaignStatus, "clone_campaign": (*API).cloneCampaign,
	"list_creatives": (*API).listCreatives, "create_creatives": (*API).createCreatives,
	"get_creative": (*API).getCreative, "update_creative": (*API).updateCreative,
	"set_creative_status": (*API).setCreativeStatus, "clone_creative": (*API).cloneCreative,
	"upload_image": (*API).uploadImage, "get_source_settings": (*API).getSources,
	"set_source_bids": (*API).setSourceBids,
	"block_sources":   changeSources("block"), "unblock_sources": changeSources("unblock"),
	"allow_sources": changeSources("allow"), "disallow_sources": changeSources("disallow"),
	"get_openapi": func(*API, *Call) wire.Reply { return wire.JSONReply(http.StatusOK, Description) },
}

// Operations are all of the advertiser API that a Bearer key may do, by name.
var Operations = sync.OnceValue(func() (list []*Operation) {
	for path, methods := range described().Paths {
		for method, of := range methods {
			op := &Operation{Name: of.OperationID, Method: strings.ToUpper(method), Path: path, Summary: of.Summary,
				Fields: &schema{Type: "object", Properties: map[string]*schema{}}, answer: answers[of.OperationID]}
			for _, p := range of.Parameters {
				if p.In == "query" {
					op.Fields.Properties[p.Name] = p.Schema
				}
			}
			if of.RequestBody != nil {
				op.Fields, op.bodyOptional = of.RequestBody.Content["application/json"].Schema, !of.RequestBody.Required
			}
			if op.answer != nil { // all but the creation of keys, which takes no Bearer key
				list = append(list, op)
			}
		}
	}
	slices.SortFunc(list, func(x, y *Operation) int { return strings.Compare(x.Name, y.Name) })
	return list
})

// document is as much of openapi.json as the checks need.
type document struct {
	Paths map[string]map[string]struct {
		OperationID, Summary string
		Parameters           []struct {
			Name, In string
			Schema   *schema
		}
		RequestBody *struct {
			Required bool
			Content  map[string]struct{ Schema *schema }
		}
	}
	Components struct{ Schemas map[string]*schema }
}

var described = sync.OnceValue(func() *document {
	d := json.NewDecoder(bytes.NewReader(Description))
	d.UseNumber()
	doc := &document{}
	if err := d.Decode(doc); err != nil {
		panic(fmt.Sprintf("openapi.json: %v", err)) // it is part of this package
	}
	for _, methods := range doc.Paths {
		for _, of := range methods {
			if of.RequestBody != nil {
				of.RequestBody.Content["application/json"].Schema.resolve(doc.Components.Schemas)
			}
		}
	}
	return doc
})

// Write reports whether the operation needs a key that may write.
func (op *Operation) Write() bool { return op.Method != http.MethodGet }

// IsTool reports whether the operation is a tool of MCP.
func (op *Operation) IsTool() bool { return op.Name != "get_openapi" }

// InPath is the parameter of the path, "" for none.
func (op *Operation) InPath() string {
	_, rest, _ := strings.Cut(op.Path, "{")
	name, _, _ := strings.Cut(rest, "}")
	return name
}

// Input is the schema of the tool's arguments: the ID of the path, and the fields under their names there.
func (op *Operation) Input() *schema {
	in, closed := *op.Fields, false
	in.Additional = &closed
	if name := op.InPath(); name != "" {
		form := map[string]string{"campaign_id": `^C[0-9]{7,10}$`, "creative_id": `^C[0-9]{7,10}-[0-9]{3,6}$`}[name]
		in.Properties = maps.Clone(in.Properties)
		in.Properties[name] = &schema{Type: "string", Pattern: form}
		in.Required = append([]string{name}, in.Required...)
		if in.MinFields > 0 {
			in.MinFields++
		}
	}
	return &in
}

// route finds the operation of a request and the ID in its path. It gives the methods that the path has, nil for a
// path that there is not.
func (c *Call) route(method, path string) (allow []string) {
	parts := strings.Split(strings.TrimPrefix(path, wire.APIPrefix), "/")
	for _, op := range Operations() {
		id, fits := fitsPath(strings.Split(op.Path, "/"), parts)
		if !fits {
			continue
		}
		allow = append(allow, op.Method)
		if op.Method == method {
			c.Op, c.id = op, id
		}
	}
	return allow
}

// fitsPath reports whether a path is of a form with one parameter in braces, and the parameter's value.
func fitsPath(form, path []string) (id string, fits bool) {
	if len(form) != len(path) {
		return "", false
	}
	for i, part := range form {
		if strings.HasPrefix(part, "{") {
			id = path[i]
		} else if part != path[i] {
			return "", false
		}
	}
	return id, true
}

// takeRequest takes the arguments from a request of REST: of a read from its query, of a write from its body.
func (c *Call) takeRequest(r *http.Request) *problem {
	q := r.URL.Query()
	if c.Op.Write() {
		for _, name := range slices.Sorted(maps.Keys(q)) {
			return invalidField(name, "unknown parameter")
		}
		raw, err := wire.ReadBody(r)
		if err != nil {
			return invalidField("", "the body can't be read: %v", err)
		}
		if c.Op.bodyOptional && len(bytes.TrimSpace(raw)) == 0 {
			raw = []byte("{}")
		}
		return c.take(raw, c.Op.Fields)
	}
	args := body{}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if len(q[name]) > 1 {
			return invalidField(name, "given more than once")
		}
		args[name] = queryValue(q, name, c.Op.Fields.Properties[name])
	}
	return c.takeChecked(args, c.Op.Fields)
}

// queryValue is a parameter as JSON has it.
func queryValue(q url.Values, name string, of *schema) any {
	text := q.Get(name)
	if of == nil {
		return text
	}
	switch kind, _ := of.kind(); kind {
	case "array":
		list := []any{}
		for part := range strings.SplitSeq(text, ",") {
			list = append(list, part)
		}
		return list
	case "integer":
		return json.Number(text)
	case "boolean":
		if on, err := strconv.ParseBool(text); err == nil {
			return on
		}
	}
	return text
}

// TakeArguments takes the arguments of a tool.
func (c *Call) TakeArguments(raw json.RawMessage) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	c.wrong = c.take(raw, c.Op.Input())
	c.id = c.args.text(c.Op.InPath())
	delete(c.args, c.Op.InPath())
}

func (c *Call) take(raw []byte, by *schema) *problem {
	args, err := parseBody(raw)
	if err != nil {
		return invalidField("", "%v", err)
	}
	return c.takeChecked(args, by)
}

// takeChecked checks the arguments and adds the defaults of missing ones.
func (c *Call) takeChecked(args body, by *schema) *problem {
	c.args = args
	if found := by.check(nil, "", map[string]any(args)); len(found) > 0 {
		return invalidFields(found)
	}
	for name, of := range by.Properties {
		if !args.has(name) && of.Default != nil {
			args[name] = of.Default
		}
	}
	return nil
}
