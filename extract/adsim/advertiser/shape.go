package advertiser

import (
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/wire"
)

// one writes an object in its envelope.
func (s *API) one(c *Call, singular string, members func(o *jsontext.Object)) wire.Reply {
	o := &jsontext.Object{Ascii: s.World.Account.Ascii}
	key := s.World.Cfg.Shape.OneKey(singular)
	if key != "" {
		o.Begin("")
		o.Key(key)
	}
	wire.Member(o, c.Fault, c.Fault.ChangesMembers(), members)
	if key != "" {
		o.End()
	}
	return wire.JSONReply(200, c.Fault.HurtTop(o.Dst))
}

// many writes a part of a list of n in its envelope.
func (s *API) many(c *Call, plural string, w wire.Window, n int, each func(o *jsontext.Object, i int)) wire.Reply {
	places, total := c.Fault.Entries(w, n)
	o := &jsontext.Object{Ascii: s.World.Account.Ascii, Dst: make([]byte, 0, 128+len(places)*256)}
	entry := func(k int) {
		wire.Member(o, c.Fault, c.Fault.HitsRow(k), func(o *jsontext.Object) { each(o, places[k]) })
	}
	key := s.World.Cfg.Shape.ListKey(plural)
	if key == "" {
		o.List("", len(places), entry)
		return wire.JSONReply(200, o.Dst)
	}
	o.Begin("")
	o.List(key, len(places), entry)
	if !s.World.Cfg.Shape.NoTotals && !c.Fault.Is(wire.NoPagination) {
		o.Int("total", int64(total))
		o.Int("limit", int64(w.Limit))
		o.Int("offset", int64(w.Offset))
	}
	o.End()
	return wire.JSONReply(200, c.Fault.HurtTop(o.Dst))
}

// plainList writes a whole list in its envelope, without totals.
func (s *API) plainList(c *Call, plural string, n int, each func(o *jsontext.Object, i int)) wire.Reply {
	o := &jsontext.Object{Ascii: s.World.Account.Ascii}
	key := s.World.Cfg.Shape.ListKey(plural)
	if key != "" {
		o.Begin("")
	}
	o.List(key, n, func(i int) {
		o.Begin("")
		each(o, i)
		o.End()
	})
	if key != "" {
		o.End()
	}
	return wire.JSONReply(200, c.Fault.HurtTop(o.Dst))
}
