package schema

import "slices"

// ReportColumn is a column of the service's spend report.
type ReportColumn struct {
	Name string // name in the service's description; the line report.NAME of the service file has the actual name
	Is   ReportKind
	// MayLack means that the operator may omit the column from report.columns. The values of the column are then
	// unknown.
	MayLack bool
}

// ReportKind is the role of a column of the report.
type ReportKind int

// The kinds of columns of the report.
const (
	ReportDay     ReportKind = iota // the requested day
	ReportID                        // part of the key of a row
	ReportMeasure                   // a number of a row
	ReportLabel                     // a text of a creative or its campaign; not part of a row's key or content
)

// Report lists the columns that spendsync requests: the labels once per run, all others with the rows of each day.
var Report = []ReportColumn{
	{"date", ReportDay, true},
	{"campaign_id", ReportID, false},
	{"creative_id", ReportID, false},
	{"source_id", ReportID, false},
	{"total_spend", ReportMeasure, false},
	{"clicks", ReportMeasure, true},
	{"impressions", ReportMeasure, true},
	{"conversions", ReportMeasure, true},
	{"campaign_name", ReportLabel, true},
	{"creative_title", ReportLabel, false},
	{"creative_message", ReportLabel, false},
	{"creative_image_url", ReportLabel, false},
	{"creative_icon_url", ReportLabel, false},
	{"creative_status", ReportLabel, false},
}

// IsOfRow reports whether a column is requested with the rows of a day.
func IsOfRow(c ReportColumn) bool { return c.Is != ReportLabel }

// MayNotLack reports whether the rows of a day cannot be stored without the column.
func MayNotLack(c ReportColumn) bool { return IsOfRow(c) && !c.MayLack }

// IsOfCreative reports whether a column is requested once per run, with one row for each campaign and creative.
func IsOfCreative(c ReportColumn) bool {
	return c.Is == ReportLabel || c.Name == "campaign_id" || c.Name == "creative_id"
}

// ReportNames returns the names of the columns that the given function accepts, in their order.
func ReportNames(matches func(ReportColumn) bool) (names []string) {
	for _, c := range Report {
		if matches(c) {
			names = append(names, c.Name)
		}
	}
	return names
}

// ReportColumnNamed returns the column of a day's rows that has the name; nil: there is none.
func ReportColumnNamed(name string) *ReportColumn {
	i := slices.IndexFunc(Report, func(c ReportColumn) bool { return IsOfRow(c) && c.Name == name })
	if i < 0 {
		return nil
	}
	return &Report[i]
}

// Piece is one campaign, or one creative of a campaign, that was requested by itself in the read of a day. Pages is the
// number of its reply pages.
type Piece struct {
	Campaign string `json:"campaign"`
	Creative string `json:"creative,omitempty"`
	Pages    int    `json:"pages"`
}

// Has reports whether a row belongs to the piece's campaign and, if the piece is a creative, to that creative.
func (p Piece) Has(r *Spend) bool {
	return r.CampaignID == p.Campaign && (p.Creative == "" || r.CreativeID == p.Creative)
}
