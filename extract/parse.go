package extract

// The kinds of what belongs to a campaign; me, limits and balance are the account's.
const KindCampaign, KindCreative, KindSources = "campaign", "creative", "source settings"

// ParseEntity takes a thing out of a reply, whether it came just now or was kept. The ID is that
// of the thing, or of the campaign whose source settings they are; the account's have none.
func ParseEntity(kind, id string, reply []byte) (e Entity, err error) {
	doc, err := document(reply)
	if err != nil {
		return Entity{}, err
	}
	switch kind {
	case KindCampaign:
		e, err = campaignResource().one(doc)
	case KindCreative:
		e, err = creativeResource().one(doc)
	case KindSources:
		e, err = sourcesResource(id).one(doc)
		if about, ok := e.Fields["campaign_id"].Text(); ok {
			e.ID = about
		}
	case "me":
		return aboutAccount(doc, "key info", "me", "key_info")
	case "limits":
		return aboutAccount(doc, "limits")
	default:
		return aboutAccount(doc, "balance", "balance")
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
