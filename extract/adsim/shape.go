package adsim

import (
	"fmt"
	"strings"
)

// Envelope is what a body of the advertiser API is wrapped in. The description
// does not show the bodies, so a client has to bear all of them.
type Envelope int

const (
	// EnvelopeNamed: {"campaigns":[...],"total":..}, {"campaign":{...}}.
	EnvelopeNamed Envelope = iota
	// EnvelopeBare: [...], {...}.
	EnvelopeBare
	// EnvelopeData: {"data":[...],"total":..}, {"data":{...}}.
	EnvelopeData
	// EnvelopeItems: {"items":[...],"total":..}, {...}.
	EnvelopeItems
)

// Shape is the form of the advertiser API's bodies.
type Shape struct {
	Envelope Envelope
	// LongIDs names an object's own ID campaign_id or creative_id, not id.
	LongIDs bool
	// BidMap writes bid_overrides as {"S1":0.25}, not as [{"source_id":"S1","bid":0.25}].
	BidMap bool
	// LimitMap writes the limits by their kind, as {"limits":{"campaign_create":{"used":0,..},..}},
	// not as a list of objects with a kind.
	LimitMap bool
	// NoTotals leaves total, limit and offset out of lists: the end shows only in a
	// page that is not full.
	NoTotals bool
}

// ParseShape takes named, bare, data or items, and longids, bidmap, limitmap and
// nototals, joined by +.
func ParseShape(s string) (Shape, error) {
	var sh Shape
	for word := range strings.SplitSeq(s, "+") {
		switch word {
		case "named":
			sh.Envelope = EnvelopeNamed
		case "bare":
			sh.Envelope = EnvelopeBare
		case "data":
			sh.Envelope = EnvelopeData
		case "items":
			sh.Envelope = EnvelopeItems
		case "longids":
			sh.LongIDs = true
		case "bidmap":
			sh.BidMap = true
		case "limitmap":
			sh.LimitMap = true
		case "nototals":
			sh.NoTotals = true
		default:
			return Shape{}, fmt.Errorf("shape: unknown word %q", word)
		}
	}
	return sh, nil
}

// listKey is the key that holds a list of a resource; "" for a bare list.
func (sh Shape) listKey(plural string) string {
	return [...]string{plural, "", "data", "items"}[sh.Envelope]
}

// oneKey is the key that holds one object; "" for a bare one. Objects that are
// not of a resource (the key, the limits, the balance) have no name.
func (sh Shape) oneKey(singular string) string {
	return [...]string{singular, "", "data", ""}[sh.Envelope]
}

func (sh Shape) idKey(long string) string {
	if sh.LongIDs {
		return long
	}
	return "id"
}

// one writes an object in its envelope.
func (s *Service) one(c *call, singular string, members func(o *object)) reply {
	o := &object{ascii: s.account.ascii}
	key := s.cfg.Shape.oneKey(singular)
	if key != "" {
		o.begin("")
		o.key(key)
	}
	o.member(c.fault, c.fault.changesMembers(), members)
	if key != "" {
		o.end()
	}
	return jsonReply(200, c.fault.hurtTop(o.dst))
}

// many writes a part of a list of n in its envelope.
func (s *Service) many(c *call, plural string, w window, n int, each func(o *object, i int)) reply {
	places, total := c.fault.entries(w, n)
	o := &object{ascii: s.account.ascii, dst: make([]byte, 0, 128+len(places)*256)}
	entry := func(k int) {
		o.member(c.fault, c.fault.hitsRow(k), func(o *object) { each(o, places[k]) })
	}
	key := s.cfg.Shape.listKey(plural)
	if key == "" {
		o.list("", len(places), entry)
		return jsonReply(200, o.dst)
	}
	o.begin("")
	o.list(key, len(places), entry)
	if !s.cfg.Shape.NoTotals && !c.fault.is(NoPagination) {
		o.int("total", int64(total))
		o.int("limit", int64(w.limit))
		o.int("offset", int64(w.offset))
	}
	o.end()
	return jsonReply(200, c.fault.hurtTop(o.dst))
}

// plainList writes a whole list in its envelope, without totals.
func (s *Service) plainList(c *call, plural string, n int, each func(o *object, i int)) reply {
	o := &object{ascii: s.account.ascii}
	key := s.cfg.Shape.listKey(plural)
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
