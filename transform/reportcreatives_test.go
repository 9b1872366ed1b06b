package transform

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/extract"
	"spendsync/schema"
)

// TestReportCreatives_NamesTheLinesThatItLeavesOut: the other lines of the page are returned.
func TestReportCreatives_NamesTheLinesThatItLeavesOut(t *testing.T) {
	v := func(s string) extract.Value { return extract.Value(s) }
	p := extract.Page[extract.CreativeLine]{
		Number: 3, NotObjects: []int{2},
		Items: []extract.CreativeLine{
			{CampaignID: v(`"C1"`), CreativeID: v(`"C1-1"`), Title: v(`"t"`), Message: v(`""`), Status: v(`null`),
				ImageURL: v(`"https://i"`), IconURL: v(`["x"]`)},
			{},
			{CampaignID: v(`7`), CreativeID: v(`"C1-2"`)},
			{CampaignID: v(`"C1"`), CreativeID: v(`"C\n1"`)},
			{CampaignID: v(`null`), CreativeID: v(`"C1-3"`), Title: v(`2024`)},
		},
		Raw: []byte(`{"data":[{"n":1},2,{"n":3},{"n":4},{"n":5}]}`),
	}
	lines, left := ReportCreatives(p)
	want := []ReportCreative{
		{CampaignID: "C1", CreativeID: "C1-1", Title: schema.Some("t"), ImageURL: schema.Some("https://i")},
		{CampaignID: "7", CreativeID: "C1-2"},
		{CreativeID: "C1-3", Title: schema.Some("2024")},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got)\n%s", diff)
	}
	var got []string
	for _, l := range left {
		got = append(got, l.Error())
	}
	if diff := cmp.Diff([]string{
		`creative_history page 3 row 2: not an object`,
		`creative_history page 3 row 4: creative_id "C\n1": control character`,
	}, got); diff != "" {
		t.Errorf("left out (-want +got)\n%s", diff)
	}
}
