package config

import (
	"fmt"
	"slices"
	"strings"
)

// Envelope is what a body of the advertiser API is wrapped in. The description
// does not show the bodies, so a client has to bear all of them.
type Envelope int

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

// ListKey is the key that holds a list of a resource; "" for a bare list.
func (sh Shape) ListKey(plural string) string {
	return [...]string{plural, "", "data", "items"}[sh.Envelope]
}

// OneKey is the key that holds one object; "" for a bare one. Objects that are
// not of a resource (the key, the limits, the balance) have no name.
func (sh Shape) OneKey(singular string) string {
	return [...]string{singular, "", "data", ""}[sh.Envelope]
}

func (sh Shape) IDKey(long string) string {
	if sh.LongIDs {
		return long
	}
	return "id"
}

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

// ZeroSpend is the form in which a creative that was not delivered comes when
// the columns have a source.
type ZeroSpend int

// ParseZeroSpend takes null, empty, nosource or bare.
func ParseZeroSpend(s string) (ZeroSpend, error) {
	i := slices.Index([]string{"null", "empty", "nosource", "bare"}, s)
	if i < 0 {
		return 0, fmt.Errorf("zero spend: %q is none of null, empty, nosource, bare", s)
	}
	return ZeroSpend(i), nil
}

const (
	ZeroSpendNullSource  ZeroSpend = iota // "source_id":null
	ZeroSpendEmptySource                  // "source_id":""
	ZeroSpendNoSource                     // no key source_id
	ZeroSpendBare                         // neither a key source_id nor a key date
)
