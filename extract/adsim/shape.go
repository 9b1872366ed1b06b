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
}

// ParseShape takes named, bare, data or items, and longids and bidmap, joined by +.
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
func (s *Service) one(singular string, members func(o *object)) reply {
	o := &object{ascii: s.account.ascii}
	o.begin("")
	if key := s.cfg.Shape.oneKey(singular); key != "" {
		o.begin(key)
		members(o)
		o.end()
	} else {
		members(o)
	}
	o.end()
	return jsonReply(200, o.dst)
}

// many writes a part of a list in its envelope.
func (s *Service) many(plural string, w window, total int, each func(o *object, i int)) reply {
	o := &object{ascii: s.account.ascii}
	from := min(w.offset, total)
	to := min(from+w.limit, total)
	entry := func(i int) {
		o.begin("")
		each(o, from+i)
		o.end()
	}
	key := s.cfg.Shape.listKey(plural)
	if key == "" {
		o.list("", to-from, entry)
		return jsonReply(200, o.dst)
	}
	o.begin("")
	o.list(key, to-from, entry)
	o.int("total", int64(total))
	o.int("limit", int64(w.limit))
	o.int("offset", int64(w.offset))
	o.end()
	return jsonReply(200, o.dst)
}
