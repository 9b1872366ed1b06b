package pagedata

import (
	"regexp"
	"slices"
	"testing"

	"spendsync/queries"
)

// TestKept_StandAfterWhatTheyAsk: a view that is answered once is there, and none is asked again by one before it.
func TestKept_StandAfterWhatTheyAsk(t *testing.T) {
	views, err := queries.Views(nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string][]string{}
	for _, v := range views {
		if v.Schema == "mart" {
			asked[v.Name] = regexp.MustCompile(`\bmart\.[a-z_]+`).FindAllString(v.SQL, -1)
		}
	}
	for i, k := range Kept {
		if _, is := asked[k.View]; !is {
			t.Errorf("there is no view mart.%s", k.View)
		}
		for _, later := range Kept[i+1:] {
			if slices.Contains(asked[k.View], "mart."+later.View) {
				t.Errorf("mart.%s asks mart.%s, which is kept after it", k.View, later.View)
			}
		}
	}
	for _, name := range questions {
		if _, err := queries.Find(name); err != nil {
			t.Error(err)
		}
	}
}
