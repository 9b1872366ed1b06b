package advertiser

import (
	"net/http"

	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
)

// one answers with an object, under the name of its resource. Objects of no resource (the key, the limits, the
// balance) have no name.
func one(singular string, v any) wire.Reply {
	if singular != "" {
		v = map[string]any{singular: v}
	}
	return wire.JSONReply(http.StatusOK, tree.Marshal(v))
}

// many answers with a part of a list of n, which a fault may begin elsewhere.
func many(c *Call, plural string, n int, entry func(i int) any) wire.Reply {
	limit, offset := c.args.integer("limit"), c.args.integer("offset")
	list := tree.List()
	from := c.Fault.From(offset)
	for i := from; i < min(from+limit, n); i++ {
		list.Values = append(list.Values, tree.Leaf(string(tree.Marshal(entry(i)))))
	}
	return wire.JSONReply(http.StatusOK, tree.Object(plural, list, "total", tree.Int(n), "limit", tree.Int(limit),
		"offset", tree.Int(offset)).Append(nil))
}

// orNull returns nil for the zero value, which encodes as null.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
