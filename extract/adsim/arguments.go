package adsim

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

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
