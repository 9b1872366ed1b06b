package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"spendsync/load/loadtest"
	"spendsync/schema"
)

// diary is what the warehouse's history has to be: page by page, what there was
// at each sync.
type diary struct {
	tables []*chapter
	last   time.Time // of the last page
}

// chapter is one table of the diary.
type chapter struct {
	name     string
	key      []string
	columns  []string // whose changes make a version
	patience int      // absences after which an entity is deleted
	entities map[string]*diaryEntry
}

// diaryEntry is one entity with its versions.
type diaryEntry struct {
	campaign  string
	versions  []diaryVersion
	missed    int
	confirmed time.Time
}

// diaryVersion is one version of an entity; of the newest, to is zero.
type diaryVersion struct {
	cells               []string
	from, to, after     time.Time
	confirmed           time.Time
	deleted             bool
	change, changedCols string
}

func newDiary() *diary {
	return &diary{tables: []*chapter{
		{name: "campaign_history", key: []string{"campaign_id"}, patience: 2,
			columns: strings.Fields(`name status default_bid daily_spend_limit target_cpa start_at end_at
				country states platforms subscribed_more_than_minutes_ago subscribed_less_than_minutes_ago
				min_age max_age gender source_mode unsupported_targeting`)},
		{name: "campaign_delivery_history", key: []string{"campaign_id"}, patience: 2,
			columns: []string{"delivery_status"}},
		{name: "creative_history", key: []string{"creative_id"}, patience: 2,
			columns: strings.Fields("title message link image_id icon_id button1 button2 status rejection_reasons " +
				"rejection_comment")},
		{name: "source_mode_history", key: []string{"campaign_id"}, patience: 2, columns: []string{"source_mode"}},
		{name: "source_rule_history", key: []string{"campaign_id", "source_id", "rule"}, patience: 1,
			columns: []string{"bid"}},
	}}
}

// facts are what there is at a sync: by table and key, the cells.
type facts map[string]map[string]fact

type fact struct {
	campaign string
	cells    []string
}

func (f facts) add(table, campaign, key string, cells ...string) {
	if f[table] == nil {
		f[table] = map[string]fact{}
	}
	f[table][key] = fact{campaign, cells}
}

// write adds a page: what there was at an instant. asked says of a campaign
// whether it was asked for, and listed whether it was in the listing.
func (d *diary) write(at time.Time, f facts, asked, listed func(campaign string) bool) {
	for _, c := range d.tables {
		for key, is := range f[c.name] {
			if asked(is.campaign) {
				c.see(at, key, is)
			}
		}
		for key, e := range c.entities {
			if _, is := f[c.name][key]; is && asked(e.campaign) {
				continue
			}
			// What belongs to a campaign is known to be gone where that was asked, and ends with its campaign.
			isMissed := !listed(e.campaign)
			switch c.name {
			case "creative_history":
				isMissed = isMissed || asked(e.campaign)
			case "source_rule_history":
				isMissed = asked(e.campaign) || isMissed && d.isDeleted("campaign_history", e.campaign)
			}
			if isMissed {
				c.miss(at, e)
			}
		}
	}
	d.last = at
}

// isDeleted reports whether an entity's newest version is a deletion.
func (d *diary) isDeleted(table, key string) bool {
	for _, c := range d.tables {
		if e := c.entities[key]; c.name == table && e != nil {
			return e.versions[len(e.versions)-1].deleted
		}
	}
	return false
}

func (c *chapter) see(at time.Time, key string, is fact) {
	if c.entities == nil {
		c.entities = map[string]*diaryEntry{}
	}
	e := c.entities[key]
	if e == nil {
		c.entities[key] = &diaryEntry{campaign: is.campaign, confirmed: at,
			versions: []diaryVersion{{cells: is.cells, from: at, change: schema.FirstSeen}}}
		return
	}
	now := &e.versions[len(e.versions)-1]
	var changed []string
	for i, cell := range is.cells {
		if cell != now.cells[i] {
			changed = append(changed, c.columns[i])
		}
	}
	slices.Sort(changed)
	e.missed = 0
	switch {
	case now.deleted:
		e.open(at, diaryVersion{cells: is.cells, change: schema.Restored, changedCols: strings.Join(changed, ",")})
	case changed != nil:
		e.open(at, diaryVersion{cells: is.cells, change: schema.Changed, changedCols: strings.Join(changed, ",")})
	}
	e.confirmed = at
}

func (c *chapter) miss(at time.Time, e *diaryEntry) {
	now := &e.versions[len(e.versions)-1]
	if !now.deleted {
		if e.missed++; e.missed < c.patience {
			return
		}
		e.open(at, diaryVersion{cells: now.cells, change: schema.Deleted, deleted: true})
	}
	e.confirmed = at
}

// open begins a version.
func (e *diaryEntry) open(at time.Time, v diaryVersion) {
	was := &e.versions[len(e.versions)-1]
	was.to, was.confirmed = at, e.confirmed
	v.from, v.after = at, e.confirmed
	e.versions = append(e.versions, v)
	e.missed = 0
}

// has reports whether one of the versions is so.
func (c *chapter) has(so func(diaryVersion) bool) bool {
	for _, e := range c.entities {
		if slices.ContainsFunc(e.versions, so) {
			return true
		}
	}
	return false
}

// rows are the versions of a table, spelled as the warehouse's question answers.
func (c *chapter) rows() map[string]string {
	out := map[string]string{}
	for key, e := range c.entities {
		for i, v := range e.versions {
			current := i == len(e.versions)-1
			to, confirmed := micros(v.to), micros(v.confirmed)
			if current {
				to, confirmed = strconv.FormatInt(int64(schema.Forever), 10), micros(e.confirmed)
			}
			id := key + "|" + strconv.Itoa(i+1)
			out[id] = strings.Join(slices.Concat([]string{micros(v.from), to, strconv.FormatBool(current),
				strconv.FormatBool(v.deleted), micros(v.after), confirmed, v.change, orNull(v.changedCols),
				schema.ReadOK}, v.cells), "|")
		}
	}
	return out
}

// withoutPending are the versions of creatives without those in which nothing changed but
// the version that waits for review behind a running one, which the diary does not follow.
const withoutPending = `(WITH s AS (
		SELECT *, nullif(rtrim(regexp_replace(changed_columns, 'pending_[a-z0-9_]+(,|$)', '', 'g'), ','), '') AS own
		FROM creative_history),
	k AS (SELECT *, sum((change_type <> 'changed' OR own IS NOT NULL)::INT)
			OVER (PARTITION BY creative_id ORDER BY version_no) AS n FROM s),
	m AS (SELECT *, max(valid_to) OVER w AS until, bool_or(is_current) OVER w AS current,
			max(last_confirmed_at) OVER w AS confirmed,
			row_number() OVER (PARTITION BY creative_id, n ORDER BY version_no) AS place
		FROM k WINDOW w AS (PARTITION BY creative_id, n))
	SELECT * REPLACE (n AS version_no, until AS valid_to, current AS is_current, confirmed AS last_confirmed_at,
		own AS changed_columns) FROM m WHERE place = 1)`

// question asks the warehouse for what rows gives.
func (c *chapter) question() string {
	columns := slices.Clone(c.columns)
	for i, name := range columns {
		if name == "start_at" || name == "end_at" {
			columns[i] = "epoch_us(" + name + ")"
		}
	}
	from := c.name
	switch from {
	case schema.SourceRuleHistory.Name: // the diary does not follow what the service optimizes
		from += " WHERE rule <> '" + schema.RuleOptimized + "'"
	case schema.CreativeHistory.Name:
		from = withoutPending
	}
	return fmt.Sprintf(`SELECT concat_ws('|', %s, version_no), epoch_us(valid_from), epoch_us(valid_to), is_current,
		is_deleted, epoch_us(changed_after), epoch_us(last_confirmed_at),
		change_type, changed_columns, read_state, %s FROM %s`,
		strings.Join(c.key, ", "), strings.Join(columns, ", "), from)
}

// check compares a table of the warehouse with the diary.
func (c *chapter) check(t *testing.T, dir string) (versions int) {
	t.Helper()
	a, err := loadtest.Query(t.Context(), dir, c.question())
	if err != nil {
		t.Fatal(err)
	}
	want, wrong := c.rows(), 0
	tell := func(format string, values ...any) {
		if wrong++; wrong <= 8 {
			t.Errorf(format, values...)
		}
	}
	for _, r := range a.Rows {
		cells := cellsOf(r)
		key, got := cells[0], strings.Join(cells[1:], "|")
		if w, is := want[key]; !is {
			tell("%s %s is not in the diary: %s", c.name, key, got)
		} else if w != got {
			tell("%s %s\n  has        %s\n  diary says %s", c.name, key, got, w)
		}
		delete(want, key)
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		tell("%s %s is missing: %s", c.name, key, want[key])
	}
	if wrong > 8 {
		t.Errorf("%s: %d versions differ", c.name, wrong)
	}
	return len(a.Rows)
}

func micros(t time.Time) string {
	if t.IsZero() {
		return "NULL"
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}

func orNull(s string) string {
	if s == "" {
		return "NULL"
	}
	return s
}
