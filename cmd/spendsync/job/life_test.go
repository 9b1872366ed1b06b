package job

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// life is an account whose owner changes its settings between the syncs, and a diary of the changes.
type life struct {
	*world
	*rand.Rand
	diary []*chapter
	names int
	seen  map[string]bool // campaigns and creatives that a sync has read
}

// chapter is the expected content of one table of versions.
type chapter struct {
	table    string
	columns  []string
	patience int // number of absences after which an entity has ended
	entries  map[string]*entry
}

type entry struct {
	campaign  string
	versions  []version
	missed    int
	confirmed time.Time
}

type version struct {
	cells           []string
	from, to, after time.Time
	change, columns string
}

func newLife(t *testing.T, seed uint64) *life {
	w := newWorld(t, func(c *adsim.Config) { c.Campaigns, c.RowsPerDay = 3, 12 })
	chapterOf := func(table string, patience int, columns string) *chapter {
		return &chapter{table: table, columns: strings.Fields(columns), patience: patience,
			entries: map[string]*entry{}}
	}
	return &life{world: w, Rand: rand.New(rand.NewPCG(seed, 1)), seen: map[string]bool{}, diary: []*chapter{
		chapterOf("campaign_history", 2, `name status default_bid daily_spend_limit target_cpa end_at country states
			platforms subscribed_more_than_minutes_ago subscribed_less_than_minutes_ago
			min_age max_age gender source_mode
			unsupported_targeting`),
		chapterOf("campaign_delivery_history", 2, "delivery_status"),
		chapterOf("creative_history", 2, "title message button1 status rejection_reasons rejection_comment"),
		chapterOf("source_mode_history", 2, "source_mode"),
		chapterOf("source_rule_history", 1, "bid"),
	}}
}

// TestLife_HistoryIsTheDiary: the owner, the reviewer and the service change the settings between syncs. Each table of
// versions then has one version for each difference that a sync could see, with its times, and no other version.
func TestLife_HistoryIsTheDiary(t *testing.T) {
	seed := schematest.Seed(t)
	for n := range schematest.Times(1, 4, 60) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			l := newLife(t, seed+uint64(n))
			did := map[string]int{}
			for hour := range 14 {
				for range l.IntN(6) * min(hour, 1) {
					d := deeds[l.IntN(len(deeds))]
					if changes := d.do(l, l.campaign()); changes != nil {
						did[d.what]++
						l.change(changes...)
					}
				}
				l.service.Advance(time.Hour)
				l.sync(exit.OK)
				l.write(l.service.Now())
			}
			l.check()
			l.wantVerified()
			if len(did) < len(deeds)/3 {
				t.Errorf("little was done: %v", did)
			}
		})
	}
}

// campaign returns a random campaign that is not hidden and can be changed.
func (l *life) campaign() adsim.Settings {
	var open []adsim.Settings
	for _, id := range l.service.CampaignIDs() {
		if s := l.settings(id); s.Status != "archived" && !s.Hidden {
			open = append(open, s)
		}
	}
	if open == nil {
		l.change(adsim.Change{Do: adsim.Create, Set: map[string]any{"name": l.name()}})
		return l.campaign()
	}
	return open[l.IntN(len(open))]
}

func (l *life) settings(id string) adsim.Settings {
	l.t.Helper()
	s, err := l.service.Settings(id)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// creative returns a random creative of a campaign that is not hidden and can be changed; nil: there is none.
func (l *life) creative(s adsim.Settings) *adsim.CreativeSettings {
	for _, i := range l.Perm(len(s.Creatives)) {
		if c := &s.Creatives[i]; !c.Hidden && c.Status != "archived" {
			return c
		}
	}
	return nil
}

func (l *life) name() string {
	l.names++
	return fmt.Sprintf("Name %d, \"quoted\" | ü", l.names)
}

func (l *life) dollars() string { return fmt.Sprintf("%d.%02d", 1+l.IntN(9), l.IntN(100)) }

// set changes fields of a campaign.
func set(s adsim.Settings, fields map[string]any) []adsim.Change {
	return []adsim.Change{{Campaign: s.CampaignID, Set: fields}}
}

// setCreative changes fields of a creative of a campaign, if the campaign has a creative.
func (l *life) setCreative(s adsim.Settings, fields map[string]any) []adsim.Change {
	if c := l.creative(s); c != nil {
		return []adsim.Change{{Creative: c.CreativeID, Set: fields}}
	}
	return nil
}

func sources(s adsim.Settings, c adsim.SourceChange) []adsim.Change {
	return []adsim.Change{{Campaign: s.CampaignID, Sources: &c}}
}

// deeds are the events in the life of an account. Each returns nil if the event does not apply to the account.
var deeds = []struct {
	what string
	do   func(l *life, s adsim.Settings) []adsim.Change
}{
	{"rename", func(l *life, s adsim.Settings) []adsim.Change { return set(s, map[string]any{"name": l.name()}) }},
	{"bid", func(l *life, s adsim.Settings) []adsim.Change {
		return set(s, map[string]any{"default_bid": l.dollars()})
	}},
	{"two fields", func(l *life, s adsim.Settings) []adsim.Change {
		return set(s, map[string]any{"name": l.name(), "daily_spend_limit": "10" + l.dollars()})
	}},
	{"set a target", func(l *life, s adsim.Settings) []adsim.Change {
		return set(s, map[string]any{"target_cpa": l.dollars()})
	}},
	{"end a target", func(_ *life, s adsim.Settings) []adsim.Change {
		return set(s,
			map[string]any{"target_cpa": nil})
	}},
	{"end on a date", func(l *life, s adsim.Settings) []adsim.Change {
		at := l.service.Now().Add(time.Duration(2+l.IntN(40)) * time.Hour).Truncate(time.Second)
		return set(s, map[string]any{"end_date": at.Format(time.RFC3339)})
	}},
	{"end on no date", func(_ *life, s adsim.Settings) []adsim.Change {
		return set(s,
			map[string]any{"end_date": nil})
	}},
	{"another audience", func(l *life, s adsim.Settings) []adsim.Change {
		return set(s, map[string]any{"audience": []map[string]any{
			{}, {"country": "US", "states": []string{"TX", "CA"}}, {"country": "US", "min_age": 21 + l.IntN(9)},
		}[l.IntN(3)]})
	}},
	{"exclude some", func(_ *life, s adsim.Settings) []adsim.Change {
		return set(s, map[string]any{"unsupported_targeting": true})
	}},
	{"change and change back", func(l *life, s adsim.Settings) []adsim.Change {
		return append(set(s, map[string]any{"name": l.name()}), set(s, map[string]any{"name": s.Name})...)
	}},
	{"pause or start", func(_ *life, s adsim.Settings) []adsim.Change {
		return set(s, map[string]any{"status": map[bool]string{true: "paused", false: "active"}[s.Status == "active"]})
	}},
	{"reject", func(_ *life, s adsim.Settings) []adsim.Change { return set(s, map[string]any{"status": "rejected"}) }},
	{"archive", func(l *life, s adsim.Settings) []adsim.Change {
		if l.IntN(3) > 0 {
			return nil
		}
		return set(s, map[string]any{"status": "archived"})
	}},
	{"create", func(l *life, _ adsim.Settings) []adsim.Change {
		return []adsim.Change{{Do: adsim.Create, Set: map[string]any{"name": l.name()}}}
	}},
	{"hide", func(l *life, s adsim.Settings) []adsim.Change {
		isNew := func(c adsim.CreativeSettings) bool { return !l.seen[c.CreativeID] }
		if !l.seen[s.CampaignID] || slices.ContainsFunc(s.Creatives, isNew) || len(l.hidden()) > 0 {
			return nil // only the report would name the hidden entities
		}
		return []adsim.Change{{Campaign: s.CampaignID, Do: adsim.Hide}}
	}},
	{"show", func(l *life, _ adsim.Settings) (list []adsim.Change) {
		for _, id := range l.hidden() {
			list = append(list, adsim.Change{Campaign: id, Do: adsim.Show})
		}
		return list
	}},
	{"block", func(l *life, s adsim.Settings) []adsim.Change {
		if s.SourceMode == "allow_list" {
			return nil
		}
		return sources(s, adsim.SourceChange{Block: []string{l.source()}})
	}},
	{"unblock", func(_ *life, s adsim.Settings) []adsim.Change {
		if s.SourceMode == "allow_list" || len(s.Blocked) == 0 {
			return nil
		}
		return sources(s, adsim.SourceChange{Unblock: s.Blocked[:1]})
	}},
	{"bid for a source", func(l *life, s adsim.Settings) []adsim.Change {
		return sources(s, adsim.SourceChange{Bids: map[string]any{l.source(): l.dollars()}})
	}},
	{"bid for none", func(_ *life, s adsim.Settings) []adsim.Change {
		for source := range s.Bids {
			return sources(s, adsim.SourceChange{Bids: map[string]any{source: nil}})
		}
		return nil
	}},
	{"allow", func(l *life, s adsim.Settings) []adsim.Change {
		return sources(s, adsim.SourceChange{Mode: "allow_list", Allow: []string{l.source()}})
	}},
	{"block list again", func(_ *life, s adsim.Settings) []adsim.Change {
		return sources(s, adsim.SourceChange{Mode: "block_list"})
	}},
	{"a creative's title", func(l *life, s adsim.Settings) []adsim.Change {
		return l.setCreative(s, map[string]any{"title": l.name(), "button1": "Shop Now"})
	}},
	{"a creative without a button", func(l *life, s adsim.Settings) []adsim.Change {
		return l.setCreative(s, map[string]any{"button1": nil})
	}},
	{"a rejected creative", func(l *life, s adsim.Settings) []adsim.Change {
		return l.setCreative(s, map[string]any{"status": "rejected", "rejection_reasons": []string{"b", "a"},
			"rejection_comment": "No."})
	}},
	{"a running creative", func(l *life, s adsim.Settings) []adsim.Change {
		return l.setCreative(s, map[string]any{"status": "active", "rejection_reasons": []string{},
			"rejection_comment": nil})
	}},
	{"an archived creative", func(l *life, s adsim.Settings) []adsim.Change {
		return l.setCreative(s, map[string]any{"status": "archived"})
	}},
	{"another creative", func(_ *life, s adsim.Settings) []adsim.Change {
		return []adsim.Change{{Campaign: s.CampaignID, Do: adsim.Create}}
	}},
	{"a creative that is gone", func(l *life, s adsim.Settings) []adsim.Change {
		if c := l.creative(s); c != nil && l.seen[c.CreativeID] {
			return []adsim.Change{{Creative: c.CreativeID, Do: adsim.Hide}}
		}
		return nil
	}},
}

// hidden returns the hidden campaigns.
func (l *life) hidden() (ids []string) {
	for _, id := range l.service.CampaignIDs() {
		if l.settings(id).Hidden {
			ids = append(ids, id)
		}
	}
	return ids
}

func (l *life) source() string {
	var ids []string
	for row := range l.service.Truth((l.today() - 1).String()) {
		if row.SourceID != "" {
			ids = append(ids, row.SourceID)
		}
	}
	return ids[l.IntN(len(ids))]
}

// write adds a page to the diary: the settings that a sync could see at an instant. An archived campaign is read once
// more and then never again, because it cannot change.
func (l *life) write(at time.Time) {
	pages, settled, shown := map[string]map[string][]string{}, map[string]bool{}, map[string]bool{}
	add := func(table, campaign, key string, cells ...string) {
		if pages[table] == nil {
			pages[table] = map[string][]string{}
		}
		for i, c := range cells {
			cells[i] = cmp.Or(c, "NULL")
		}
		pages[table][campaign+"|"+key] = cells
	}
	for _, id := range l.service.CampaignIDs() {
		s := l.settings(id)
		if shown[id] = !s.Hidden; !shown[id] {
			continue
		}
		a := s.Audience
		add("campaign_history", id, id, s.Name, s.Status, s.DefaultBid, s.DailySpendLimit, s.TargetCPA,
			micros(s.EndDate), a.Country, sortedText(a.States), sortedText(a.Platforms), number(a.SubscribedMoreThan),
			number(a.SubscribedLessThan), number(a.MinAge), number(a.MaxAge), a.Gender, s.SourceMode,
			strconv.FormatBool(a.UnsupportedTargeting))
		add("campaign_delivery_history", id, id, s.DeliveryStatus)
		add("source_mode_history", id, id, s.SourceMode)
		rule, list := "blocked", s.Blocked
		if s.SourceMode == "allow_list" {
			rule, list = "allowed", s.Allowed
		}
		for _, source := range list {
			add("source_rule_history", id, id+"|"+source+"|"+rule, "")
		}
		for source, bid := range s.Bids {
			add("source_rule_history", id, id+"|"+source+"|bid_override", bid)
		}
		for _, c := range s.Creatives {
			if !c.Hidden {
				add("creative_history", id, c.CreativeID, c.Title, strings.ReplaceAll(c.Message, "\n", " "),
					c.Button1, c.Status, sortedText(c.RejectionReasons), c.RejectionComment)
				l.seen[c.CreativeID] = true
			}
		}
		settled[id] = s.Status == "archived" && l.seen["archived "+id]
		l.seen[id], l.seen["archived "+id] = true, s.Status == "archived"
	}
	for _, c := range l.diary {
		c.write(at, pages[c.table], shown, settled, l.diary[0])
	}
}

// write adds a page to a chapter. An entity of a campaign ends if the campaign was read and lacked the entity, or if
// the campaign ends.
func (c *chapter) write(at time.Time, page map[string][]string, shown, settled map[string]bool, campaigns *chapter) {
	for key, cells := range page {
		campaign, id, _ := strings.Cut(key, "|")
		if !settled[campaign] {
			c.see(at, campaign, id, cells)
		}
	}
	for id, e := range c.entries {
		_, isThere := page[e.campaign+"|"+id]
		isGone := c.table == "source_rule_history" && !shown[e.campaign] && !campaigns.hasEnded(e.campaign)
		if isThere || settled[e.campaign] || isGone {
			continue
		}
		if last := e.versions[len(e.versions)-1]; last.change == schema.Deleted {
			e.confirmed = at
		} else if e.missed++; e.missed >= c.patience {
			e.open(version{cells: last.cells, from: at, change: schema.Deleted})
			e.confirmed = at
		}
	}
}

func (c *chapter) hasEnded(id string) bool {
	e := c.entries[id]
	return e != nil && e.versions[len(e.versions)-1].change == schema.Deleted
}

func (c *chapter) see(at time.Time, campaign, id string, cells []string) {
	e := c.entries[id]
	if e == nil {
		c.entries[id] = &entry{campaign: campaign, confirmed: at,
			versions: []version{{cells: cells, from: at, change: schema.FirstSeen}}}
		return
	}
	last, changed := e.versions[len(e.versions)-1], []string(nil)
	for i, cell := range cells {
		if cell != last.cells[i] {
			changed = append(changed, c.columns[i])
		}
	}
	slices.Sort(changed)
	if v := (version{cells: cells, from: at, columns: strings.Join(changed, ",")}); last.change == schema.Deleted {
		v.change = schema.Restored
		e.open(v)
	} else if changed != nil {
		v.change = schema.Changed
		e.open(v)
	}
	e.missed, e.confirmed = 0, at
}

func (e *entry) open(v version) {
	e.versions[len(e.versions)-1].to, v.after = v.from, e.confirmed
	e.versions, e.missed = append(e.versions, v), 0
}

// check compares each table with its chapter.
func (l *life) check() {
	l.t.Helper()
	keys := map[string]string{"creative_history": "creative_id", "source_rule_history": "campaign_id, source_id, rule"}
	for _, c := range l.diary {
		want := map[string]bool{}
		for id, e := range c.entries {
			for i, v := range e.versions {
				to := strconv.FormatInt(int64(schema.Forever), 10)
				if !v.to.IsZero() {
					to = strconv.FormatInt(v.to.UnixMicro(), 10)
				}
				after := "NULL"
				if !v.after.IsZero() {
					after = strconv.FormatInt(v.after.UnixMicro(), 10)
				}
				want[strings.Join(slices.Concat([]string{id, strconv.Itoa(i + 1), strconv.FormatInt(v.from.UnixMicro(),
					10), to, after, v.change, cmp.Or(v.columns, "NULL")}, v.cells), "|")] = true
			}
		}
		columns := strings.ReplaceAll(strings.Join(c.columns, ", "), "end_at", "epoch_us(end_at)")
		columns = strings.ReplaceAll(columns, "message", "replace(message, chr(10), ' ')")
		got := l.ask("SELECT concat_ws('|', %s), version_no, epoch_us(valid_from), epoch_us(valid_to), "+
			"epoch_us(changed_after), change_type, changed_columns, %s FROM %s%s",
			cmp.Or(keys[c.table], "campaign_id"), columns, c.table,
			map[bool]string{true: " WHERE rule <> 'optimized'"}[c.table == "source_rule_history"])
		for line := range strings.SplitSeq(got, "\n") {
			if line != "" && !want[line] {
				l.t.Errorf("%s has, and the diary has not:\n%s", c.table, line)
			}
			delete(want, line)
		}
		for _, line := range slices.Sorted(maps.Keys(want)) {
			l.t.Errorf("%s lacks\n%s", c.table, line)
		}
	}
}

func sortedText(list []string) string { return strings.Join(slices.Sorted(slices.Values(list)), ",") }

// number returns the text of a number; empty: the number is 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// micros returns an instant in microseconds; empty: the text is not an instant.
func micros(instant string) string {
	t, err := time.Parse(time.RFC3339, instant)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}
