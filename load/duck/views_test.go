package duck

import (
	"maps"
	"slices"
	"testing"
)

func TestTablesBehind_FollowsViews(t *testing.T) {
	o := Options{Views: []View{
		{Schema: "mart", Name: "day", SQL: "SELECT * FROM main.spend_daily AS s JOIN main.campaign AS c ON true JOIN " +
			"ops.day_coverage AS d ON true"},
		{Schema: "main", Name: "campaign", SQL: "SELECT * FROM main.campaign_history WHERE is_current"},
		{Schema: "mart", Name: "other", SQL: "SELECT * FROM main.account_snapshot"},
	}}
	got := slices.Sorted(maps.Keys(o.TablesBehind("mart.day")))
	want := []string{"campaign", "campaign_history", "day", "day_coverage", "spend_daily"}
	if !slices.Equal(got, want) {
		t.Errorf("tables behind mart.day: %q, want %q", got, want)
	}
}
