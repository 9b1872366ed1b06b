package advertiser

import (
	"net/http"

	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
)

// one answers with an object, under the name of its resource. Objects of no resource (the key, the limits, the
// balance) have no name.
func one(c *Call, singular string, v any) wire.Reply {
	body := c.Fault.Entry(v, c.Fault.ChangesMembers())
	if singular != "" {
		body = tree.Object(singular, body)
	}
	return answer(c, body)
}

// many answers with a part of a list of n.
func many(c *Call, plural string, w wire.Window, n int, entry func(i int) any) wire.Reply {
	places, total := c.Fault.Entries(w, n)
	list := tree.List()
	for k, i := range places {
		list.Values = append(list.Values, c.Fault.Entry(entry(i), c.Fault.HitsRow(k)))
	}
	body := tree.Object(plural, list)
	if !c.Fault.Is(wire.NoPagination) {
		body.Set("total", tree.Int(total))
		body.Set("limit", tree.Int(w.Limit))
		body.Set("offset", tree.Int(w.Offset))
	}
	return answer(c, body)
}

func answer(c *Call, body *tree.Node) wire.Reply {
	c.Fault.HurtTop(body)
	return wire.JSONReply(http.StatusOK, body.Append(nil))
}

// orNull returns nil for the zero value, which encodes as null.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
