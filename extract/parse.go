package extract

import "spendsync/extract/service"

// The kinds of entities that belong to a campaign; the others, me, limits and balance, belong to the account.
const KindCampaign, KindCreative, KindSources = "campaign", "creative", "source settings of"

// parseEntity decodes the entity in a reply. id is that of the requested creative or campaign; it is empty for the
// account's entities.
func parseEntity(s *service.Service, kind, id string, reply []byte) (e Entity, err error) {
	doc, err := document(reply)
	if err != nil {
		return Entity{}, err
	}
	switch kind {
	case KindCampaign:
		return asked(kind, id, doc, campaignResource(s, id), campaignResource(s, ""))
	case KindCreative:
		return asked(kind, id, doc, creativeResource(s, id), creativeResource(s, ""))
	case KindSources:
		e, err = sourcesResource(s, id).one(doc)
		for _, key := range s.Names("sources.campaign_id") {
			if of, ok := IDOf(e.Fields[key]); err == nil && ok && of != id {
				return Entity{}, contractf("the reply is about campaign %s", printable(of, 60))
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

// asked returns the requested entity; if the reply contains another one instead, the error names it.
func asked(kind, id string, doc Value, wanted, any resource) (Entity, error) {
	e, err := wanted.one(doc)
	if err == nil {
		return e, nil
	}
	if other, odd := any.one(doc); odd == nil && other.ID != id {
		return Entity{}, contractf("the reply is about %s %s", kind, printable(other.ID, 60))
	}
	return Entity{}, err
}
