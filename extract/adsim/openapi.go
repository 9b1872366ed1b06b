package adsim

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
)

// openapi.json describes what the bodies of replies look like, but for what depends
// on the Shape: a text that begins with @ stands for that. The paths come from the
// operations themselves.
//
//go:embed openapi.json
var openAPITemplate string

// components are the template's, in this shape.
func componentsOf(sh Shape) string {
	text := strings.NewReplacer(
		"@campaign_id", sh.idKey("campaign_id"),
		"@creative_id", sh.idKey("creative_id"),
		"@image_id", sh.idKey("image_id"),
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
func bodySchemaOf(sh Shape, form, name, of string) string {
	if form == "one" {
		if key := sh.oneKey(name); key != "" {
			return fmt.Sprintf(`{"type":"object","required":["%s"],"properties":{"%[1]s":%s}}`, key, of)
		}
		return of
	}
	list := fmt.Sprintf(`{"type":"array","items":%s}`, of)
	switch key := sh.listKey(name); {
	case key == "":
		return list
	case sh.NoTotals || form == "plain":
		return fmt.Sprintf(`{"type":"object","required":["%s"],"properties":{"%[1]s":%s}}`, key, list)
	default:
		return fmt.Sprintf(`{"type":"object","required":["%s","total","limit","offset"],"properties":{"%[1]s":%s,`+
			`"total":{"type":"integer"},"limit":{"type":"integer"},"offset":{"type":"integer"}}}`, key, list)
	}
}

func bidSchemaOf(sh Shape) string {
	if sh.BidMap {
		return `{"type":["object","null"],"additionalProperties":{"type":"number","format":"double"}}`
	}
	return `{"type":["array","null"],"items":{"type":"object","required":["source_id","bid"],` +
		`"properties":{"source_id":{"type":"string"},"bid":{"type":"number","format":"double"}}}}`
}

func limitSchemaOf(sh Shape) string {
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

// description is openapi.json.
func description(shape Shape, operations []*operation) []byte {
	if text, ok := descriptions.Load(shape); ok {
		return text.([]byte)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(componentsOf(shape)), &doc); err != nil {
		panic(fmt.Sprintf("openapi.json: %v", err)) // it is part of this package
	}
	flatten(doc["components"].(map[string]any))
	paths := map[string]map[string]any{}
	for _, op := range append([]*operation{createKey}, operations...) {
		if paths[op.path] == nil {
			paths[op.path] = map[string]any{}
		}
		paths[op.path][strings.ToLower(op.method)] = op.describe()
	}
	doc["paths"] = paths
	text, err := json.Marshal(doc)
	if err != nil {
		panic(fmt.Sprintf("openapi.json: %v", err))
	}
	descriptions.Store(shape, text)
	return text
}

// replySuffix ends the names of responses: generators make types of them beside those of
// the schemas, and one name for both would be one type for two.
const replySuffix = "Reply"

// flatten writes schemas that extend others out in full, for generators leave half of
// them out, and gives the responses names that no schema has.
func flatten(components map[string]any) {
	schemas := components["schemas"].(map[string]any)
	for _, name := range sortedKeys(schemas) {
		extend(schemas, schemas[name].(map[string]any))
	}
	responses := components["responses"].(map[string]any)
	for _, name := range sortedKeys(responses) {
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
func (op *operation) describe() map[string]any {
	out := map[string]any{"operationId": op.name, "summary": op.summary, "responses": op.responses()}
	var params []any
	if name := op.inPath(); name != "" {
		params = append(params, map[string]any{"name": name, "in": "path", "required": true, "schema": idSchema(name)})
	}
	for _, p := range op.params {
		of := map[string]any{"name": p.name, "in": "query", "schema": p.schema}
		if p.schema.Type == "array" {
			of["style"], of["explode"] = "form", false
		}
		params = append(params, of)
	}
	if params != nil {
		out["parameters"] = params
	}
	if op.body != nil {
		out["requestBody"] = map[string]any{"required": !op.bodyOptional,
			"content": map[string]any{"application/json": map[string]any{"schema": op.body}}}
	}
	if op == createKey {
		out["security"] = []any{map[string]any{"dashboard": []any{}}}
	}
	return out
}

// responses are what an operation may be answered with.
func (op *operation) responses() map[string]any {
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
func (s *api) openAPI(*call) reply {
	return jsonReply(http.StatusOK, description(s.world.cfg.Shape, s.operations))
}
