package schema

// Creative is one version of a creative.
type Creative struct {
	AccountID  string `col:"account_id" id:"1" key:"true" doc:"Short name of the account in this warehouse."`
	CreativeID string `col:"creative_id" id:"2" key:"true" doc:"Creative."`
	Frame
	CampaignID       Null[string] `col:"campaign_id" id:"3" history:"no" doc:"Campaign that it belongs to; never changes."`
	Title            Null[string] `col:"title" id:"4" doc:"Title; may hold dynamic text."`
	Message          Null[string] `col:"message" id:"5" doc:"Message; may hold dynamic text."`
	Link             Null[string] `col:"link" id:"6" doc:"Where a click leads; may hold tracking macros."`
	ImageID          Null[string] `col:"image_id" id:"7" doc:"Large image. NULL: none."`
	IconID           Null[string] `col:"icon_id" id:"8" doc:"Icon."`
	Button1          Null[string] `col:"button1" id:"9" doc:"Text of the first button. NULL: none."`
	Button2          Null[string] `col:"button2" id:"10" doc:"Text of the second button. NULL: none."`
	Status           Null[string] `col:"status" id:"11" doc:"active, paused, pending_review, rejected, draft or archived."`
	RejectionReasons Null[string] `col:"rejection_reasons" id:"12" doc:"Why it was rejected, sorted, comma-joined."`
	RejectionComment Null[string] `col:"rejection_comment" id:"13" doc:"The reviewer's comment."`
	ImageURL         Null[string] `col:"image_url" id:"14" history:"refreshed" doc:"Address of the image, from the report. The newest known; not versioned."`
	IconURL          Null[string] `col:"icon_url" id:"15" history:"refreshed" doc:"Address of the icon, from the report. The newest known; not versioned."`
	Raw              Null[string] `col:"raw" id:"16" history:"no" doc:"The creative's own JSON when this version was first read."`
	PendingStatus    Null[string] `col:"pending_status" id:"18" since:"3" doc:"Of a running creative that was edited: pending_review while its new version waits, rejected when that was refused. NULL: no other version waits."`
	PendingTitle     Null[string] `col:"pending_title" id:"19" since:"3" doc:"Title of that version."`
	PendingMessage   Null[string] `col:"pending_message" id:"20" since:"3" doc:"Message of that version."`
	PendingLink      Null[string] `col:"pending_link" id:"21" since:"3" doc:"Where a click on that version leads."`
	PendingImageID   Null[string] `col:"pending_image_id" id:"22" since:"3" doc:"Large image of that version. NULL: none."`
	PendingIconID    Null[string] `col:"pending_icon_id" id:"23" since:"3" doc:"Icon of that version."`
	PendingButton1   Null[string] `col:"pending_button1" id:"24" since:"3" doc:"Text of the first button of that version. NULL: none."`
	PendingButton2   Null[string] `col:"pending_button2" id:"25" since:"3" doc:"Text of the second button of that version. NULL: none."`
	PendingReasons   Null[string] `col:"pending_rejection_reasons" id:"26" since:"3" doc:"Why that version was rejected, sorted, comma-joined."`
	PendingComment   Null[string] `col:"pending_rejection_comment" id:"27" since:"3" doc:"The reviewer's comment on that version."`
	RunID            string       `col:"_run_id" id:"17" doc:"Run that last changed the row."`
}

// CreativeHistory keeps every version of every creative.
var CreativeHistory = Define[Creative]("creative_history", ByAccount,
	"Every version of every creative that we saw, with its review.",
	Stubbed(), DeletedAfter(2))
