package advertiser

import (
	"net/http"

	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/wire"
)

// one answers with an object, under the name of its resource. Objects of no resource (the key, the limits, the
// balance) have no name.
func one(c *Call, singular string, v any) wire.Reply {
	body := c.Fault.Entry(v, c.Fault.ChangesMembers())
	if singular != "" {
		body = jsontext.ObjectNode().With(singular, body)
	}
	return answer(c, body)
}

// many answers with a part of a list of n.
func many(c *Call, plural string, w wire.Window, n int, entry func(i int) any) wire.Reply {
	places, total := c.Fault.Entries(w, n)
	list := jsontext.ListNode()
	for k, i := range places {
		list.Values = append(list.Values, c.Fault.Entry(entry(i), c.Fault.HitsRow(k)))
	}
	body := jsontext.ObjectNode().With(plural, list)
	if !c.Fault.Is(wire.NoPagination) {
		body.With("total", jsontext.IntNode(total)).With("limit", jsontext.IntNode(w.Limit)).
			Set("offset", jsontext.IntNode(w.Offset))
	}
	return answer(c, body)
}

func answer(c *Call, body *jsontext.Node) wire.Reply {
	c.Fault.HurtTop(body)
	return wire.JSONReply(http.StatusOK, body.Append(nil))
}
