package adsim

import (
	_ "embed"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// openapi.json describes what is served, but for what depends on the Shape: a
// text that begins with @ stands for that.
//
//go:embed openapi.json
var openAPITemplate string

// openAPI is the description of what is served in this shape.
func (sh Shape) openAPI() string {
	text := strings.NewReplacer(
		"@campaign_id", sh.idKey("campaign_id"),
		"@creative_id", sh.idKey("creative_id"),
		`"@bid_overrides"`, sh.bidSchema(),
		`"@limits"`, sh.limitSchema(),
	).Replace(openAPITemplate)
	body := regexp.MustCompile(`"@(one|list):(\w*):(\w+)"`)
	return body.ReplaceAllStringFunc(text, func(m string) string {
		part := body.FindStringSubmatch(m)
		schema := fmt.Sprintf(`{"$ref":"#/components/schemas/%s"}`, part[3])
		if part[1] == "one" {
			if key := sh.oneKey(part[2]); key != "" {
				return fmt.Sprintf(`{"type":"object","required":["%s"],"properties":{"%[1]s":%s}}`, key, schema)
			}
			return schema
		}
		list := fmt.Sprintf(`{"type":"array","items":%s}`, schema)
		if key := sh.listKey(part[2]); key != "" && sh.NoTotals {
			return fmt.Sprintf(`{"type":"object","required":["%s"],"properties":{"%[1]s":%s}}`, key, list)
		} else if key != "" {
			return fmt.Sprintf(`{"type":"object","required":["%s","total","limit","offset"],"properties":{"%[1]s":%s,"total":{"type":"integer"},"limit":{"type":"integer"},"offset":{"type":"integer"}}}`, key, list)
		}
		return list
	})
}

func (sh Shape) bidSchema() string {
	if sh.BidMap {
		return `{"type":["object","null"],"additionalProperties":{"type":"number"}}`
	}
	return `{"type":["array","null"],"items":{"type":"object","required":["source_id","bid"],"properties":{"source_id":{"type":"string"},"bid":{"type":"number"}}}}`
}

func (sh Shape) limitSchema() string {
	const budget = `"used":{"type":"integer"},"limit":{"type":"integer"},"resets_at":{"type":"string","format":"date-time"}`
	if sh.LimitMap {
		return `{"type":"object","additionalProperties":{"type":"object","required":["used","limit","resets_at"],"properties":{` + budget + `}}}`
	}
	return `{"type":"array","items":{"type":"object","required":["kind","used","limit","resets_at"],"properties":{"kind":{"type":"string"},` + budget + `}}}`
}

// openAPI answers GET /v1/openapi.json.
func (s *Service) openAPI(*call) reply {
	return jsonReply(http.StatusOK, []byte(s.cfg.Shape.openAPI()))
}
