package extract

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"spendsync/extract/adsim"
	"spendsync/schema"
)

func TestReportCreatives_HasARowForEachCreative(t *testing.T) {
	s := newAdsim(adsim.Config{Campaigns: 9, CreativesPerCampaign: 4, RowsPerDay: 200})
	today := schema.DateOf(adsimNow)
	want := map[string]bool{}
	for day := today - 32; day <= today; day++ {
		for l := range s.Truth(day.String()) {
			want[l.CampaignID+" "+l.CreativeID] = true
		}
	}
	pages, err := walk(t, adsimClient(t, s).ReportCreatives(t.Context(), today-32, today, 10))
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 3 {
		t.Errorf("%d pages prove little", len(pages))
	}
	got := map[string]bool{}
	for _, p := range pages {
		check(t, "unknown keys", len(p.Unknown), 0)
		for _, l := range p.Items {
			text := func(v Value) string { return string(v.appendText(nil)) }
			got[text(l.CampaignID)+" "+text(l.CreativeID)] = true
			if l.Title.Null() || l.Message.Null() || l.Status.Null() || l.ImageURL == nil || l.IconURL == nil {
				t.Errorf("line %s", l)
			}
		}
	}
	for key := range want {
		if !got[key] {
			t.Errorf("%s is missing", key)
		}
	}
}

func TestReportCreatives_IsProven(t *testing.T) {
	const columns = `["campaign_id","creative_id","campaign_name","creative_title",` +
		`"creative_message","creative_image_url",` +
		`"creative_icon_url","creative_status"]`
	row := func(campaign, creative int) string {
		return fmt.Sprintf(`{"campaign_id":"C%07d","creative_id":"C%[1]d-%03d","creative_title":"x",`+
			`"creative_message":"y","creative_image_url":null,"creative_icon_url":"u","creative_status":"active"}`,
			campaign, creative)
	}
	reply := func(columns, pagination string, rows ...string) string {
		return `{"columns":` + columns + `,"data":[` + strings.Join(rows, ",") + `],` + pagination + `}`
	}
	unproven := errors.New("an UnprovenError")
	for name, tc := range map[string]struct {
		body string
		want error
	}{
		"whole":                     {reply(columns, placed(1, 5, 2, 1), row(1, 1), row(1, 2)), nil},
		"same-number":               {reply(columns, placed(1, 5, 2, 1), row(1, 1), row(2, 1)), nil},
		"two names":                 {reply(columns, placed(1, 5, 2, 1), row(1, 1), row(1, 1)), nil},
		"a total that does not fit": {reply(columns, placed(1, 5, 2, 0), row(1, 1), row(1, 2)), unproven},
		"few-counted":               {reply(columns, placed(1, 5, 1, 1), row(1, 1), row(1, 2)), nil},
		"columns": {reply(`["campaign_id","creative_id"]`, placed(1, 5, 1, 1), row(1, 1)),
			ErrContract},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := walk(t, newTestClient(t, saying(tc.body)).ReportCreatives(t.Context(), testDay-1, testDay, 5))
			switch {
			case tc.want == nil:
				if err != nil {
					t.Fatal(err)
				}
			case tc.want == unproven:
				if _, ok := errors.AsType[*UnprovenError](err); !ok {
					t.Errorf("error %v, want an UnprovenError", err)
				}
			default:
				wantError(t, err, tc.want, "creatives of the report 2026-03-07 to 2026-03-08 page 1: the columns "+
					"lack campaign_name")
			}
		})
	}
}
