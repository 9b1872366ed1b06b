package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSections_FollowTheQuestions holds the order in which an owner asks, and what is folded.
func TestSections_FollowTheQuestions(t *testing.T) {
	names := func(a Account) (all []string) {
		for _, s := range sections(a) {
			all = append(all, s.Name)
		}
		return all
	}
	a := sample(40, 120)
	a.Sources.Losing, a.Bids.LessSpend = N(90), N(10*28)
	a.Runway.DaysAtMean, a.Runway.Expected = N(2), N(50)
	got := names(a)
	want := []string{"breaks", "spend", "campaigns", "sources", "fatigue", "timeline", "runway", "pacing", "bids",
		"restated", "coverage", "health"}
	if !slices.Equal(got, want) {
		t.Errorf("the sections are %v, want %v", got, want)
	}
	a.Breaks, a.Coverage = Breaks{}, Coverage{Days: []Day{{State: "complete"}}}
	if got = names(a); !slices.Equal(got, want[1:]) {
		t.Errorf("without a break: %v", got)
	}
	folded := func(a Account) (all []string) {
		for _, s := range sections(a) {
			if s.Folded {
				all = append(all, s.Name)
			}
		}
		return all
	}
	if got := folded(a); !slices.Contains(got, "coverage") || !slices.Contains(got, "restated") || slices.Contains(got,
		"campaigns") {
		t.Errorf("folded: %v", got)
	}
	a.Coverage.Days[0] = Day{State: "missing", Left: N(2)}
	if got := folded(a); slices.Contains(got, "coverage") {
		t.Errorf("a gap that is to be closed is folded: %v", got)
	}
	if slices.Sort(got); len(slices.Compact(got)) != 11 {
		t.Errorf("%d sections: %v", len(got), got)
	}
}

func TestToDo_IsShortAndBeginsWithWhatBroke(t *testing.T) {
	a := sample(40, 120)
	do := toDo(sections(a))
	if len(do) == 0 || len(do) > maxToDo || do[0].Name != "breaks" {
		t.Fatalf("to do: %v", do)
	}
	for _, more := range []float64{-1, 1} {
		a.Sources.Losing = N(a.Campaigns.stake().V - a.Sources.Crowding.V + more)
		do := toDo(sections(a))
		sources := slices.IndexFunc(do, func(s section) bool { return s.Name == "sources" })
		campaigns := slices.IndexFunc(do, func(s section) bool { return s.Name == "campaigns" })
		if sources < 1 || campaigns < 1 || (sources < campaigns) != (more > 0) {
			t.Errorf("$%g more at the sources than at the campaigns: %v", more, do)
		}
	}
	for _, s := range do {
		if s.Verdict.Tone != "act" {
			t.Errorf("%s is to be done, and its tone is %s", s.Name, s.Verdict.Tone)
		}
	}
	html := write(t, samplePage(sample(40, 120)))
	if first := strings.Index(html, "Do this first"); first < 0 || first > strings.Index(html, "What broke?") {
		t.Error("the list does not stand before the sections")
	}
	if strings.Contains(write(t, samplePage(Account{Name: "new"})), "Do this first") {
		t.Error("an account of which nothing is known has something to do")
	}
}

// TestTiles_TickOnlyWhereEveryPartIsFine spoils one part after the other.
func TestTiles_TickOnlyWhereEveryPartIsFine(t *testing.T) {
	good := sample(40, 120)
	good.Headline.Gaps, good.Headline.Lost, good.Headline.CPA = 0, 0, N(20)
	good.Sources.Block, good.Sources.CrowdsOut = N(0), N(0)
	good.Campaigns.Loses, good.Campaigns.Unclear, good.Campaigns.Broke = 0, 0, 0
	good.Runway.DaysAtMean, good.Headline.DaysLeft, good.Runway.DaysAtFull = N(90), N(90), N(60)
	tone := func(a Account, label string) string {
		for _, c := range tiles(a) {
			if c.Label == label {
				return c.Tone
			}
		}
		t.Fatalf("there is no tile %q", label)
		return ""
	}
	for label, spoil := range map[string][]func(*Account){
		"Spend of the last whole day": {func(a *Account) { a.Headline.Spend = N(1) },
			func(a *Account) { a.Headline.MeanSpend = Number{} }},
		"Cost per conversion": {func(a *Account) { a.Campaigns.Loses = 1 }, func(a *Account) { a.Campaigns.Broke = 1 },
			func(a *Account) { a.Campaigns.Unclear = 1 }, func(a *Account) { a.Headline.CPA = N(26) },
			func(a *Account) { a.Campaigns.CPA = Number{} }},
		"Money left": {func(a *Account) { a.Runway.DaysAtFull = N(3) }, func(a *Account) { a.Runway.Warns = true },
			func(a *Account) { a.Runway.DaysAtMean = N(3) }},
		"Gaps": {func(a *Account) { a.Headline.Gaps = 1 }, func(a *Account) { a.Headline.Lost = 1 }},
		"Sources to block": {func(a *Account) { a.Sources.Block = N(1) },
			func(a *Account) { a.Sources.CrowdsOut = N(1) }, func(a *Account) { a.Campaigns.Broke = 1 }},
	} {
		if got := tone(good, label); got != "fine" {
			t.Errorf("%s is %s where all is fine", label, got)
		}
		for i, do := range spoil {
			a := good
			if do(&a); tone(a, label) == "fine" {
				t.Errorf("%s is fine in spite of %s", label, fmt.Sprint("part ", i+1))
			}
		}
	}
}
