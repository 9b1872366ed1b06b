package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// storedCampaign is a current version of a campaign with a name and a target, that was read in full.
func storedCampaign(id string, edit ...func(*schema.Campaign)) schema.Campaign {
	c := schema.Campaign{CampaignID: id, Name: schema.Some("n"), TargetCPA: schema.Some[schema.Money](5)}
	c.IsCurrent, c.ReadState = true, schema.ReadOK
	for _, e := range edit {
		e(&c)
	}
	return c
}

func withoutTarget(c *schema.Campaign) { c.TargetCPA = schema.Null[schema.Money]{} }

// TestJudgeUnset: a campaign whose target came without a value has none only if the replies of this account show
// that they leave unset fields out in this way. In all other cases the known value stands, and is named.
func TestJudgeUnset(t *testing.T) {
	const column = "target_cpa"
	leaves := transform.Decoded{Missing: []string{column}}
	other := func(edit ...func(*schema.Campaign)) []schema.Campaign {
		return []schema.Campaign{storedCampaign("c2", append([]func(*schema.Campaign){withoutTarget}, edit...)...)}
	}
	type world struct {
		known  *schema.Campaign // c1 as it is stored; nil: it is new
		others []schema.Campaign
		show   transform.Decoded // what the replies of the others have
		left   leftOut           // of c1 now; nothing: the target is missing
		nulls  bool              // the target of another campaign came as null in this run
		never  bool              // the target of c1 has never been readable
		unread []string          // of c1 already
		gained []string          // keys of c1 that were never seen before
		came   func(*schema.Campaign)
		why    string // why it is unread; empty: it is not set
	}
	plain := storedCampaign("c1")
	stub := storedCampaign("c1", func(c *schema.Campaign) { c.ReadState = schema.ReadStub })
	unreadable := storedCampaign("c1", func(c *schema.Campaign) { c.ReadState = schema.ReadUnreadable })
	past := storedCampaign("c1", func(c *schema.Campaign) { c.IsCurrent = false })
	none := storedCampaign("c1", withoutTarget)
	for name, c := range map[string]world{
		"no evidence":      {known: &plain, why: "missing, which nothing"},
		"others leave out": {known: &plain, others: other(), show: leaves},
		"others left out before": {known: &plain, others: other(func(o *schema.Campaign) { o.IsCurrent = false }),
			show: leaves, why: "missing, which nothing"},
		"others were read in part": {known: &plain, others: other(func(o *schema.Campaign) {
			o.ReadState = schema.ReadPartial
		}), show: leaves, why: "missing, which nothing"},
		"others are unread, too": {known: &plain, others: other(func(o *schema.Campaign) {
			o.TargetCPA = schema.Some[schema.Money](7)
		}), show: leaves, why: "missing, which nothing"},
		"others show null": {known: &plain, others: other(), show: transform.Decoded{Null: []string{column}},
			why: "missing, while the service shows null where it is not set"},
		"others show null now": {known: &plain, others: other(), show: leaves, nulls: true,
			why: "missing, while the service shows null where it is not set"},
		"others leave another field out": {known: &plain, others: other(func(o *schema.Campaign) {
			o.EndAt = schema.Null[schema.Instant]{}
		}), show: transform.Decoded{Missing: []string{"end_at"}}},
		"others show no column of ours": {known: &plain, others: other(), show: transform.Decoded{
			Missing: []string{"x"}, Blank: []string{"x"}}, why: "missing, which nothing"},
		"it was not set before":     {known: &none},
		"it is new":                 {},
		"the report alone had it":   {known: &stub},
		"it was unreadable":         {known: &unreadable},
		"it has no current version": {known: &past},
		"never read":                {known: &plain, never: true},
		"never read, and is null":   {known: &plain, never: true, nulls: true, why: "missing, while"},
		"unread already":            {known: &plain, unread: []string{column}},
		"a new key": {known: &plain, others: other(), show: leaves, gained: []string{"cpa", "b"},
			why: "may be its new name"},
		"a new key, no evidence": {known: &plain, gained: []string{"cpa"}, why: "missing, which nothing"},
		"a new key, it is new":   {gained: []string{"cpa"}},
		"blank, no evidence":     {known: &plain, left: leftOut{blank: []string{column}}, why: "blank, which nothing"},
		"blank, others are": {known: &plain, left: leftOut{blank: []string{column}}, others: other(),
			show: transform.Decoded{Blank: []string{column}}},
		"blank, others are unread": {known: &plain, left: leftOut{blank: []string{column}}, others: other(
			func(o *schema.Campaign) { o.TargetCPA = schema.Some[schema.Money](7) }),
			show: transform.Decoded{Blank: []string{column}}, why: "blank, which nothing"},
		"a field that is none of ours": {known: &plain, left: leftOut{missing: []string{"x"}, damaged: []string{"x"}}},
		"a damaged text": {known: &plain, left: leftOut{damaged: []string{"name"}}, why: "a damaged text",
			came: func(c *schema.Campaign) { c.Name = schema.Some("\uFFFD") }},
		"a damaged text, as it was": {known: &plain, left: leftOut{damaged: []string{"name"}}},
		"a damaged text, none was known": {known: func() *schema.Campaign {
			c := storedCampaign("c1", func(c *schema.Campaign) { c.Name = schema.Null[string]{} })
			return &c
		}(), left: leftOut{damaged: []string{"name"}},
			came: func(c *schema.Campaign) { c.Name = schema.Some("\uFFFD") }},
		"a damaged text of a new one": {left: leftOut{damaged: []string{"name"}}},
		"a damaged text, unread already": {known: &plain, left: leftOut{damaged: []string{"name"}},
			unread: []string{"name"},
			came:   func(c *schema.Campaign) { c.Name = schema.Some("\uFFFD") }},
	} {
		if c.left.missing == nil && c.left.blank == nil && c.left.damaged == nil {
			c.left.missing = []string{column}
		}
		r := &settingsStage{session: &session{Job: Job{Account: "acme", RunID: "run1", Log: newTestLog(t)}}}
		s := &settings{leftOut: map[string]map[string]leftOut{"campaign": {"c1": c.left}},
			nulls: map[string]map[string]bool{}, readNow: map[string]bool{"c1": true}, unclear: map[string]bool{}}
		if c.nulls {
			s.nulls["campaign"] = map[string]bool{column: true}
		}
		h := history.Versions[schema.Campaign]{Rows: slices.Clone(c.others)}
		if c.known != nil {
			h.Rows = append(h.Rows, *c.known)
		}
		if c.never {
			h.Confirmations.Never = map[string][]string{"c1": {column}}
		}
		seen := []history.Seen[schema.Campaign]{{Row: storedCampaign("c1", withoutTarget), Unread: c.unread},
			{Row: storedCampaign("c2", withoutTarget)}, {Row: storedCampaign("c3", withoutTarget)}}
		if c.came != nil {
			c.came(&seen[0].Row)
		}
		u := &unset[schema.Campaign]{entity: "campaign", id: func(c *schema.Campaign) string { return c.CampaignID },
			read: func(stored *schema.Campaign) transform.Decoded {
				if stored.CampaignID == "c1" {
					return transform.Decoded{}
				}
				return c.show
			}}
		keys := map[string]manifest.KeyChanges{"cpa": {}, "b": {}, "old": {}}
		found := map[string]transform.ExtraKey{"cpa": {}, "b": {}, "old": {}}
		judgeUnset[schema.Campaign, *schema.Campaign](r, s, schema.CampaignHistory, u, h, seen,
			map[int][]string{0: c.gained}, keys, found)

		why, unread := "", len(c.unread)
		if len(s.entities) > 0 {
			why = s.entities[0].Message.V
		}
		if c.why != "" {
			unread++
		}
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) || len(seen[0].Unread) != unread {
			t.Errorf("%s: %q, unread %v", name, why, seen[0].Unread)
		}
		if c.why != "" && (s.judged != 1 || len(s.standing) != 1 || !s.unclear["c1"] ||
			seen[0].Extra != history.ExtraSame ||
			s.entities[0].EntityID != "c1" || s.entities[0].EntityType != "campaign") || len(seen[1].Unread) > 0 {
			t.Errorf("%s: %+v, %+v", name, s.entities, seen[0])
		}
		want := 3
		if strings.Contains(c.why, "new name") {
			want = 1
		}
		if len(keys) != want || len(found) != want {
			t.Errorf("%s: keys %v", name, slices.Sorted(maps.Keys(keys)))
		}
		if len(s.failures) > 0 {
			t.Errorf("%s: one campaign is a failure: %v", name, s.failures)
		}
	}
}

// TestJudgeUnset_OfMost: a field that is unread in most of what was read is a failure, and an older version of the
// program may be the reason.
func TestJudgeUnset_OfMost(t *testing.T) {
	for c, want := range map[[2]int]bool{{1, 1}: false, {2, 2}: true, {2, 3}: true, {2, 4}: false, {3, 5}: true} {
		r := &settingsStage{session: &session{Job: Job{Log: newTestLog(t)}}}
		s := &settings{leftOut: map[string]map[string]leftOut{"campaign": {}}}
		var seen []history.Seen[schema.Campaign]
		var h history.Versions[schema.Campaign]
		for i := range c[1] {
			id := fmt.Sprintf("c%d", i)
			h.Rows = append(h.Rows, storedCampaign(id))
			row := storedCampaign(id)
			if i < c[0] {
				s.leftOut["campaign"][id] = leftOut{missing: []string{"target_cpa"}}
				withoutTarget(&row)
			}
			seen = append(seen, history.Seen[schema.Campaign]{Row: row})
		}
		u := &unset[schema.Campaign]{entity: "campaign", id: func(c *schema.Campaign) string { return c.CampaignID },
			read: func(*schema.Campaign) transform.Decoded { return transform.Decoded{} }}
		judgeUnset[schema.Campaign, *schema.Campaign](r, s, schema.CampaignHistory, u, h, seen, nil, nil, nil)
		if (len(s.failures) == 1) != want || s.judged != c[0] {
			t.Errorf("%v: %v", c, s.failures)
		}
		if want && (!errors.Is(s.failures[0].err, extract.ErrContract) || !strings.Contains(s.failures[0].String(),
			fmt.Sprintf("target_cpa missing from %d of %d reads", c[0], c[1]))) {
			t.Errorf("%v: %v", c, s.failures[0])
		}
	}
}

// TestJudgeUnset_OfAnAudience: an audience that is left out as a whole means everyone only if the service leaves out
// those of campaigns that are for everyone.
func TestJudgeUnset_OfAnAudience(t *testing.T) {
	inUS := func(c *schema.Campaign) { c.Country = schema.Some("US") }
	odd := func(c *schema.Campaign) { c.UnsupportedTargeting = schema.Some(true) }
	for name, c := range map[string]struct {
		other  func(*schema.Campaign) // of another campaign, whose reply has no audience
		unread string
	}{
		"nothing else is known":      {nil, "[country]"},
		"that of everyone is":        {func(*schema.Campaign) {}, "[]"},
		"a restricted one is":        {inUS, "[country]"},
		"one that is not understood": {odd, "[]"},
	} {
		var log strings.Builder
		r := &settingsStage{session: &session{Job: Job{Account: "acme", RunID: "run1", Log: logTo(&log)}}}
		left := leftOut{missing: []string{transform.WholeAudience}}
		s := &settings{leftOut: map[string]map[string]leftOut{"campaign": {"c1": left}}}
		h := history.Versions[schema.Campaign]{Rows: []schema.Campaign{storedCampaign("c1", inUS)}}
		if c.other != nil {
			h.Rows = append(h.Rows, storedCampaign("c2", c.other))
		}
		seen := []history.Seen[schema.Campaign]{{Row: storedCampaign("c1")}}
		u := &unset[schema.Campaign]{entity: "campaign", id: func(c *schema.Campaign) string { return c.CampaignID },
			read: func(stored *schema.Campaign) (reading transform.Decoded) {
				if stored.CampaignID == "c2" {
					reading.Missing = []string{transform.WholeAudience}
				}
				return reading
			}}
		judgeUnset[schema.Campaign, *schema.Campaign](r, s, schema.CampaignHistory, u, h, seen, nil, nil, nil)
		said := strings.Contains(log.String(), "a field is unread; the known value stands")
		if got := fmt.Sprint(seen[0].Unread); got != c.unread || said != (c.unread != "[]") {
			t.Errorf("%s: unread %s, %s", name, got, log.String())
		}
	}
	texts := leftOutOf(transform.Decoded{Texts: []transform.ChangedText{{Column: "name"}}})
	if fmt.Sprint(texts.damaged) != "[name]" {
		t.Errorf("%+v", texts)
	}
}
