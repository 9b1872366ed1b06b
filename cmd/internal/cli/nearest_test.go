package cli

import (
	"strings"
	"testing"
)

func TestNearest_IsWhatWasMeant(t *testing.T) {
	names := []string{"last_week", "leaks", "runway", "sources_to_block", "sources_to_scale", "mart.campaign_day",
		"int.settlement", "campaign_day_by"}
	for written, want := range map[string]string{
		"last-week": "last_week", "lastweek": "last_week", "Last_Week": "last_week", "last_wek": "last_week",
		"lsat_week": "last_week", "runwya": "runway", "sources_to_blok": "sources_to_block",
		"campaign_dya": "mart.campaign_day campaign_day_by", "settlment": "int.settlement",
		"nonsense": "", "": "", "xyz": "",
	} {
		if got := strings.Join(Nearest(written, names), " "); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", written, got, want)
		}
	}
	if got := DidYouMean("lastweek", names); got != "; did you mean last_week?" {
		t.Errorf("DidYouMean = %q", got)
	}
	if got := DidYouMean("nonsense", names); got != "" {
		t.Errorf("DidYouMean = %q", got)
	}
}
