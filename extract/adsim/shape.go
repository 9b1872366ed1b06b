package adsim

// one writes an object in its envelope.
func (s *api) one(c *call, singular string, members func(o *object)) reply {
	o := &object{ascii: s.world.account.ascii}
	key := s.world.cfg.Shape.oneKey(singular)
	if key != "" {
		o.begin("")
		o.key(key)
	}
	member(o, c.fault, c.fault.changesMembers(), members)
	if key != "" {
		o.end()
	}
	return jsonReply(200, c.fault.hurtTop(o.dst))
}

// many writes a part of a list of n in its envelope.
func (s *api) many(c *call, plural string, w window, n int, each func(o *object, i int)) reply {
	places, total := c.fault.entries(w, n)
	o := &object{ascii: s.world.account.ascii, dst: make([]byte, 0, 128+len(places)*256)}
	entry := func(k int) {
		member(o, c.fault, c.fault.hitsRow(k), func(o *object) { each(o, places[k]) })
	}
	key := s.world.cfg.Shape.listKey(plural)
	if key == "" {
		o.list("", len(places), entry)
		return jsonReply(200, o.dst)
	}
	o.begin("")
	o.list(key, len(places), entry)
	if !s.world.cfg.Shape.NoTotals && !c.fault.is(NoPagination) {
		o.int("total", int64(total))
		o.int("limit", int64(w.limit))
		o.int("offset", int64(w.offset))
	}
	o.end()
	return jsonReply(200, c.fault.hurtTop(o.dst))
}

// plainList writes a whole list in its envelope, without totals.
func (s *api) plainList(c *call, plural string, n int, each func(o *object, i int)) reply {
	o := &object{ascii: s.world.account.ascii}
	key := s.world.cfg.Shape.listKey(plural)
	if key != "" {
		o.begin("")
	}
	o.list(key, n, func(i int) {
		o.begin("")
		each(o, i)
		o.end()
	})
	if key != "" {
		o.end()
	}
	return jsonReply(200, c.fault.hurtTop(o.dst))
}
