package schema

// Creative is one version of a creative: its texts, images, buttons and review status.
type Creative struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Creative.
	CreativeID string `col:"creative_id" id:"2" key:"true"`
	Frame
	// Campaign that the creative belongs to; never changes.
	CampaignID Null[string] `col:"campaign_id" id:"3" history:"no"`
	// Title; may hold dynamic text.
	Title Null[string] `col:"title" id:"4"`
	// Message; may hold dynamic text.
	Message Null[string] `col:"message" id:"5"`
	// Where a click leads; may hold tracking macros.
	Link Null[string] `col:"link" id:"6"`
	// Large image. NULL: none.
	ImageID Null[string] `col:"image_id" id:"7"`
	// Icon.
	IconID Null[string] `col:"icon_id" id:"8"`
	// Text of the first button. NULL: none.
	Button1 Null[string] `col:"button1" id:"9"`
	// Text of the second button. NULL: none.
	Button2 Null[string] `col:"button2" id:"10"`
	// active, paused, pending_review, rejected, draft or archived.
	Status Null[string] `col:"status" id:"11"`
	// Reasons for the rejection, sorted, comma-joined.
	RejectionReasons Null[string] `col:"rejection_reasons" id:"12"`
	// The reviewer's comment.
	RejectionComment Null[string] `col:"rejection_comment" id:"13"`
	// Address of the image, from the report. The newest known one; a change makes no version.
	ImageURL Null[string] `col:"image_url" id:"14" history:"refreshed"`
	// Address of the icon, from the report. The newest known one; a change makes no version.
	IconURL Null[string] `col:"icon_url" id:"15" history:"refreshed"`
	// JSON of the creative when this version was first read, or when the JSON last gained a key.
	Raw Null[string] `col:"raw" id:"16" history:"no"`
	// Status of the edited version of a running creative: pending_review while the edit awaits approval, rejected if
	// the edit was refused. NULL: there is no edited version.
	PendingStatus Null[string] `col:"pending_status" id:"18"`
	// Title of the edited version.
	PendingTitle Null[string] `col:"pending_title" id:"19"`
	// Message of the edited version.
	PendingMessage Null[string] `col:"pending_message" id:"20"`
	// Where a click on the edited version leads.
	PendingLink Null[string] `col:"pending_link" id:"21"`
	// Large image of the edited version. NULL: none.
	PendingImageID Null[string] `col:"pending_image_id" id:"22"`
	// Icon of the edited version.
	PendingIconID Null[string] `col:"pending_icon_id" id:"23"`
	// Text of the first button of the edited version. NULL: none.
	PendingButton1 Null[string] `col:"pending_button1" id:"24"`
	// Text of the second button of the edited version. NULL: none.
	PendingButton2 Null[string] `col:"pending_button2" id:"25"`
	// Reasons for the rejection of the edited version, sorted, comma-joined.
	PendingReasons Null[string] `col:"pending_rejection_reasons" id:"26"`
	// The reviewer's comment on the edited version.
	PendingComment Null[string] `col:"pending_rejection_comment" id:"27"`
	// Run that last changed the row.
	RunID string `col:"_run_id" id:"17"`
}

// CreativeHistory keeps every version of every creative.
var CreativeHistory = Define[Creative]("creative_history", ByAccount,
	"History: main.creative has the creatives of now. Every version of every creative that we saw, with its review, "+
		"one row a version: a join with spend by creative_id counts the spend once for each version.",
	Stubbed(), DeletedAfter(2))
