package extract

import "spendsync/extract/service"

// The kinds of entities that belong to a campaign. The kinds me, limits and balance belong to the account.
const KindCampaign, KindCreative, KindSources = "campaign", "creative", "source settings of"

// parseEntity decodes the entity in a reply. id is the ID of the requested creative or campaign, and empty for the
// account's entities.
func parseEntity(s *service.Service, kind, id string, reply []byte) (e Entity, err error) {
	doc, err := document(reply)
	if err != nil {
		return Entity{}, err
	}
	switch kind {
	case KindCampaign, KindCreative:
		e, err = byID(s, kind, id).one(doc)
		if other, otherErr := byID(s, kind, "").one(doc); err != nil && otherErr == nil && other.ID != id {
			return Entity{}, contractf("the reply is about %s %s", kind, printable(other.ID, 60))
		}
		return e, err
	case KindSources:
		e, err = sourcesResource(s, id).one(doc)
		for _, key := range s.Names("sources.campaign_id") {
			if campaign, ok := IDOf(e.Fields[key]); err == nil && ok && campaign != id {
				return Entity{}, contractf("the reply is about campaign %s", printable(campaign, 60))
			}
		}
		return e, err
	case "limits":
		if _, ok := doc.Array(); ok {
			return Entity{Raw: doc, Fields: map[string]Value{s.Names("limits.lists")[0]: doc}}, nil
		}
	}
	fields, ok := doc.Object()
	if !ok {
		return Entity{}, contractf("no %s: a value of type %s, not an object", kind, doc.Type())
	}
	return Entity{ID: id, Raw: doc, Fields: fields}, nil
}
