package schema

// Reading records when a part of a campaign's settings, for example its list of creatives, was last read completely.
// That time confirms the current version of every entity in the part. An entity that was last confirmed at another time
// has a row of its own in this table.
type Reading struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Campaign that was read.
	CampaignID string `col:"campaign_id" id:"2" key:"true"`
	// Part that was read: campaign, delivery, creative (the list of creatives), source_mode, blocked, allowed,
	// bid_override or optimized.
	Part string `col:"part" id:"3" key:"true"`
	// Empty text: the entire part. Otherwise the ID of a creative or a source that was last confirmed at another time
	// than the rest of the part.
	EntityID string `col:"entity_id" id:"4" key:"true"`
	// When the last reading of the part began: its values were read at or after this time.
	ReadAt Instant `col:"read_at" id:"5"`
	// Run that read the part.
	RunID string `col:"_run_id" id:"6"`
}

// The values of Reading.Part that are not also values of SourceRule.Rule.
const (
	PartCampaign = "campaign"
	PartDelivery = "delivery"
	PartCreative = "creative"
	PartMode     = "source_mode"
)

// Place is the key, without the account, of the row of table reading whose time confirms a version. If EntityID is
// empty, that row is about an entire part.
type Place struct{ CampaignID, Part, EntityID string }

// Whole returns the key of the row for the entire part that contains the entity.
func (p Place) Whole() Place {
	p.EntityID = ""
	return p
}

// Place returns the key of the row of table reading whose time confirms this version of the campaign.
func (r *Campaign) Place() Place { return Place{r.CampaignID, PartCampaign, ""} }

// Place returns the key of the row of table reading whose time confirms this version of the delivery status.
func (r *Delivery) Place() Place { return Place{r.CampaignID, PartDelivery, ""} }

// Place returns the key of the row of table reading whose time confirms this version of the creative.
func (r *Creative) Place() Place { return Place{r.CampaignID.V, PartCreative, r.CreativeID} }

// Place returns the key of the row of table reading whose time confirms this version of the source mode.
func (r *SourceMode) Place() Place { return Place{r.CampaignID, PartMode, ""} }

// Place returns the key of the row of table reading whose time confirms this version of the rule.
func (r *SourceRule) Place() Place { return Place{r.CampaignID, r.Rule, r.SourceID} }

// Readings holds the time of the last reading of each part of the settings.
var Readings = Define[Reading]("reading", ByAccount,
	"When each part of each campaign's settings was last read in full: last_confirmed_at of the views of now and of "+
		"the views of versions follows from it. It differs after every run, and nothing else does.",
	Since(12))
