package extract

import "spendsync/extract/service"

// The kinds of what belongs to a campaign; me, limits and balance are the account's.
const KindCampaign, KindCreative, KindSources = "campaign", "creative", "source settings"

// ParseEntity takes a thing out of a reply, whether it came just now or was kept. The ID is that
// of the thing, or of the campaign whose source settings they are; the account's have none.
func ParseEntity(s *service.Service, kind, id string, reply []byte) (e Entity, err error) {
	doc, err := document(reply)
	if err != nil {
		return Entity{}, err
	}
	switch kind {
	case KindCampaign:
		e, err = campaignResource(s).one(doc)
	case KindCreative:
		e, err = creativeResource(s).one(doc)
	case KindSources:
		e, err = sourcesResource(s, id).one(doc)
		for _, key := range s.Names("sources.campaign_id") {
			if about, ok := IDOf(s, e.Fields[key]); ok {
				e.ID = about
				break
			}
		}
	case "me":
		return aboutAccount(s, doc, "key info", s.Names("me.wrappers")...)
	case "limits":
		return aboutAccount(s, doc, "limits")
	default:
		return aboutAccount(s, doc, "balance", s.Names("balance.wrappers")...)
	}
	if err == nil && e.ID != id {
		about := "campaign"
		if kind == KindCreative {
			about = "creative"
		}
		return Entity{}, contractf("the reply is about %s %s", about, printable(e.ID, 60))
	}
	return e, err
}
