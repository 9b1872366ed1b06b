package advertiser

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// TakeArguments parts the arguments into path, query and body.
func (c *Call) TakeArguments(raw json.RawMessage) *problem {
	args, err := parseBody(raw)
	if err != nil {
		return invalidField("", "%v", err)
	}
	if found := c.Op.Input().check(nil, "", map[string]any(args)); len(found) > 0 {
		return invalidFields(found)
	}
	path := c.Op.Path
	if name := c.Op.InPath(); name != "" {
		path = strings.Replace(path, "{"+name+"}", args.text(name), 1)
		delete(args, name)
	}
	c.path = strings.Split(strings.TrimPrefix(path, "/v1/"), "/")
	for _, p := range c.Op.Params {
		if args.has(p.Name) {
			c.Query.Set(p.Name, queryText(args[p.Name]))
			delete(args, p.Name)
		}
	}
	if c.Op.Body != nil {
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
