package advertiser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
)

// openapi.json describes the bodies of replies. The paths come from the operations themselves.
//
//go:embed openapi.json
var openAPITemplate []byte

var description struct {
	once sync.Once
	text []byte
}

// Description returns openapi.json, which is the same for all accounts.
func Description() []byte {
	description.once.Do(func() { description.text = describeAll() })
	return description.text
}

func describeAll() []byte {
	var doc map[string]any
	if err := json.Unmarshal(openAPITemplate, &doc); err != nil {
		panic(fmt.Sprintf("openapi.json: %v", err)) // it is part of this package
	}
	flatten(doc["components"].(map[string]any))
	paths := map[string]map[string]any{}
	for _, op := range Operations() {
		if paths[op.Path] == nil {
			paths[op.Path] = map[string]any{}
		}
		paths[op.Path][strings.ToLower(op.Method)] = op.describe()
	}
	error400 := (&Operation{reply: "Error"}).responses()["400"]
	paths["/v1/api-keys"] = map[string]any{"post": map[string]any{
		"operationId": "create_api_key", "summary": "Create a key, with the dashboard user's credentials.",
		"security": []any{map[string]any{"dashboard": []string{}}},
		"requestBody": map[string]any{"required": true,
			"content": map[string]any{"application/json": map[string]any{"schema": keyBody}}},
		"responses": map[string]any{"400": error400, "401": error400, "201": map[string]any{
			"description": "The key; its text is shown once.",
			"content": map[string]any{"application/json": map[string]any{"schema": objectOf(
				[]string{"id", "name", "scope", "api_key", "expires_at"}, map[string]*schema{"id": textOf(1, 0),
					"name": textOf(1, 0), "scope": keyBody.Properties["scope"], "api_key": textOf(1, 0),
					"expires_at": instantOf()})}}}}}}
	doc["paths"] = paths
	return tree.Marshal(doc)
}

// replySuffix ends the names of responses: generators make types of both responses and schemas, and
// a shared name would merge two types into one.
const replySuffix = "Reply"

// flatten writes schemas that extend others out in full, for generators leave half of
// them out, and gives the responses names that no schema has.
func flatten(components map[string]any) {
	schemas := components["schemas"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		extend(schemas, schemas[name].(map[string]any))
	}
	responses := components["responses"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(responses)) {
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
	return wire.JSONReply(http.StatusOK, Description())
}
