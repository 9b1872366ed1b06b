package advertiser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/wire"
)

// openapi.json describes what the bodies of replies look like, but for what depends
// on the Shape: a text that begins with @ stands for that. The paths come from the
// operations themselves.
//
//go:embed openapi.json
var openAPITemplate string

// components are the template's, in this shape.
func componentsOf(sh config.Shape) string {
	text := strings.NewReplacer(
		"@campaign_id", sh.IDKey("campaign_id"),
		"@creative_id", sh.IDKey("creative_id"),
		"@image_id", sh.IDKey("image_id"),
		`"@bid_overrides"`, bidSchemaOf(sh),
		`"@limits"`, limitSchemaOf(sh),
	).Replace(openAPITemplate)
	body := regexp.MustCompile(`"@(one|list|plain):(\w*):(\w+)"`)
	return body.ReplaceAllStringFunc(text, func(m string) string {
		part := body.FindStringSubmatch(m)
		return bodySchemaOf(sh, part[1], part[2], fmt.Sprintf(`{"$ref":"#/components/schemas/%s"}`, part[3]))
	})
}

// bodySchema is the schema of a body: one object, a list, or a list without totals.
func bodySchemaOf(sh config.Shape, form, name, of string) string {
	if form == "one" {
		if key := sh.OneKey(name); key != "" {
			return fmt.Sprintf(`{"type":"object","required":["%s"],"properties":{"%[1]s":%s}}`, key, of)
		}
		return of
	}
	list := fmt.Sprintf(`{"type":"array","items":%s}`, of)
	switch key := sh.ListKey(name); {
	case key == "":
		return list
	case sh.NoTotals || form == "plain":
		return fmt.Sprintf(`{"type":"object","required":["%s"],"properties":{"%[1]s":%s}}`, key, list)
	default:
		return fmt.Sprintf(`{"type":"object","required":["%s","total","limit","offset"],"properties":{"%[1]s":%s,`+
			`"total":{"type":"integer"},"limit":{"type":"integer"},"offset":{"type":"integer"}}}`, key, list)
	}
}

func bidSchemaOf(sh config.Shape) string {
	if sh.BidMap {
		return `{"type":["object","null"],"additionalProperties":{"type":"number","format":"double"}}`
	}
	return `{"type":["array","null"],"items":{"type":"object","required":["source_id","bid"],` +
		`"properties":{"source_id":{"type":"string"},"bid":{"type":"number","format":"double"}}}}`
}

func limitSchemaOf(sh config.Shape) string {
	const budget = `"used":{"type":"integer"},"limit":{"type":"integer"},"resets_at":{"type":"string",` +
		`"format":"date-time"}`
	if sh.LimitMap {
		return `{"type":"object","additionalProperties":{"type":"object","required":["used","limit","resets_at"],` +
			`"properties":{` + budget + `}}}`
	}
	return `{"type":"array","items":{"type":"object","required":["kind","used","limit","resets_at"],` +
		`"properties":{"kind":{"type":"string"},` + budget + `}}}`
}

// descriptions keeps the description of each shape: it is the same for all accounts.
var descriptions sync.Map

// Description is openapi.json.
func Description(shape config.Shape, operations []*Operation) []byte {
	if text, ok := descriptions.Load(shape); ok {
		return text.([]byte)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(componentsOf(shape)), &doc); err != nil {
		panic(fmt.Sprintf("openapi.json: %v", err)) // it is part of this package
	}
	flatten(doc["components"].(map[string]any))
	paths := map[string]map[string]any{}
	for _, op := range append([]*Operation{CreateKey}, operations...) {
		if paths[op.Path] == nil {
			paths[op.Path] = map[string]any{}
		}
		paths[op.Path][strings.ToLower(op.Method)] = op.describe()
	}
	doc["paths"] = paths
	text, err := json.Marshal(doc)
	if err != nil {
		panic(fmt.Sprintf("openapi.json: %v", err))
	}
	descriptions.Store(shape, text)
	return text
}

// replySuffix ends the names of responses: generators make types of both responses and schemas, and
// a shared name would merge two types into one.
const replySuffix = "Reply"

// flatten writes schemas that extend others out in full, for generators leave half of
// them out, and gives the responses names that no schema has.
func flatten(components map[string]any) {
	schemas := components["schemas"].(map[string]any)
	for _, name := range jsontext.SortedKeys(schemas) {
		extend(schemas, schemas[name].(map[string]any))
	}
	responses := components["responses"].(map[string]any)
	for _, name := range jsontext.SortedKeys(responses) {
		responses[name+replySuffix] = responses[name]
		delete(responses, name)
	}
}

// extend puts what a schema refers to with allOf into the schema itself.
func extend(schemas, of map[string]any) {
	bases, _ := of["allOf"].([]any)
	delete(of, "allOf")
	for _, b := range bases {
		ref := b.(map[string]any)["$ref"].(string)
		base := schemas[ref[strings.LastIndexByte(ref, '/')+1:]].(map[string]any)
		extend(schemas, base)
		properties := of["properties"].(map[string]any)
		for name, p := range base["properties"].(map[string]any) {
			properties[name] = p
		}
		of["required"] = append(slices.Clone(base["required"].([]any)), of["required"].([]any)...)
	}
}

// describe is the operation as OpenAPI has it.
func (op *Operation) describe() map[string]any {
	out := map[string]any{"operationId": op.Name, "summary": op.Summary, "responses": op.responses()}
	var params []any
	if name := op.InPath(); name != "" {
		params = append(params, map[string]any{"name": name, "in": "path", "required": true, "schema": idSchema(name)})
	}
	for _, p := range op.Params {
		of := map[string]any{"name": p.Name, "in": "query", "schema": p.Schema}
		if p.Schema.Type == "array" {
			of["style"], of["explode"] = "form", false
		}
		params = append(params, of)
	}
	if params != nil {
		out["parameters"] = params
	}
	if op.Body != nil {
		out["requestBody"] = map[string]any{"required": !op.bodyOptional,
			"content": map[string]any{"application/json": map[string]any{"schema": op.Body}}}
	}
	if op == CreateKey {
		out["security"] = []any{map[string]any{"dashboard": []any{}}}
	}
	return out
}

// responses are what an operation may be answered with.
func (op *Operation) responses() map[string]any {
	ref := func(name string) map[string]any {
		return map[string]any{"$ref": "#/components/responses/" + name + replySuffix}
	}
	out := map[string]any{strconv.Itoa(op.status): ref(op.reply)}
	for _, status := range []int{400, 401, 403, 404, 409, 500, 502} {
		out[strconv.Itoa(status)] = ref("Error")
	}
	out["429"], out["503"] = ref("Wait"), ref("Wait")
	return out
}

// openAPI answers GET /v1/openapi.json.
func (s *API) openAPI(*Call) wire.Reply {
	return wire.JSONReply(http.StatusOK, Description(s.World.Cfg.Shape, s.Operations))
}
