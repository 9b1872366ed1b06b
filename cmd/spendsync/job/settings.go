package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"spendsync/cmd/internal/cli"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// settings is the result of reading the settings in one run. lines and findings record what could not be read.
type settings struct {
	since, at schema.Instant // when the reading started and ended
	err       error          // why no settings may be published; nil: they may be

	listing   extract.Listing
	campaigns map[string]*readCampaign   // by ID
	notThere  map[string]bool            // campaigns and creatives for which the service answers not_found
	rows      map[string]any             // readings by table, see readingsOf
	money     *accountRead               // balance and limits; nil: not read
	reported  []transform.ReportCreative // creatives that the report names
	readKeys  map[string]map[string]bool // by stream: the keys whose values were read
	looked    map[[2]string]bool         // by type and ID, as in ops.entity_read: requested entities
	unlisted  map[string][]string        // by kind: entities that the service has and a complete list lacks

	// Set once the settings are staged:
	unread      []string              // fields whose stored values are kept
	words       []string              // fields with a value that the description does not list
	undescribed []schema.UnknownField // keys without a column

	lines    []schema.EntityRead // for ops.entity_read
	findings []finding

	rulesDiffer []string // campaigns whose rules of sources differ from the stored ones, sorted

	skipped int      // settled campaigns that were not read
	left    int      // campaigns that the budget did not reach
	overdue []string // campaigns counted in left that no run has read for a day or longer
}

// readCampaign is the state of reading one campaign.
type readCampaign struct {
	isListed  bool // the key's list contains it
	isSettled bool // archived and read, now or before

	whole map[string]bool // parts that were read in full, as in the table of readings
	rules []sourceRule    // of its sources; nil: not read
}

func newSettings() *settings {
	return &settings{campaigns: map[string]*readCampaign{}, notThere: map[string]bool{}, rows: map[string]any{},
		readKeys: map[string]map[string]bool{}, looked: map[[2]string]bool{}, unlisted: map[string][]string{}}
}

// readingsOf returns the readings of a table's entities, by ID.
func readingsOf[R any](s *settings, t schema.TableOf[R]) map[string]*reading[R] {
	if s.rows[t.Name] == nil {
		s.rows[t.Name] = map[string]*reading[R]{}
	}
	return s.rows[t.Name].(map[string]*reading[R])
}

// campaign returns the state of a campaign. It adds a new state if there is none.
func (s *settings) campaign(id string) *readCampaign {
	if s.campaigns[id] == nil {
		s.campaigns[id] = &readCampaign{whole: map[string]bool{}}
	}
	return s.campaigns[id]
}

// addKeys records the keys whose values were read.
func (s *settings) addKeys(stream string, reading transform.Decoded) {
	if s.readKeys[stream] == nil {
		s.readKeys[stream] = map[string]bool{}
	}
	for _, key := range reading.Read {
		s.readKeys[stream][key] = true
	}
}

// unreadSightings returns the entities and fields of the settings that could not be read. Entities that the run did not
// request keep their earlier lines.
func (s *settings) unreadSightings() *manifest.Sightings[schema.EntityRead] {
	return &manifest.Sightings[schema.EntityRead]{Rows: s.lines, Looked: func(row *schema.EntityRead) bool {
		return row.EntityType == "listing" || row.EntityType == "account" || s.looked[[2]string{row.EntityType,
			row.EntityID}]
	}}
}

// release drops the rows once they are staged, to free memory.
func (s *settings) release() {
	for _, c := range s.campaigns {
		c.rules = nil
	}
	s.reported = nil
	maps.DeleteFunc(s.rows, func(table string, _ any) bool { return table != schema.CampaignHistory.Name })
}

// readAny reports whether enough was read to publish the settings without the report: at least one campaign or, unless
// the run was stopped, a complete listing.
func (s *settings) readAny(stopped bool) bool {
	return s.listing.Complete && !stopped || s.campaignsRead() > 0
}

// campaignsRead returns the number of campaigns read.
func (s *settings) campaignsRead() int { return len(readingsOf(s, schema.CampaignHistory)) }

// sentence describes the settings that were read, the unread fields, and the fields with unknown values. It is empty if
// no settings were read. The parameter before has the stored unread fields, the oldest first.
func (s *settings) sentence(newVersions int64, before []schema.EntityRead) (text string) {
	if s == nil {
		return ""
	}
	text = fmt.Sprintf("; settings of %s read, %s", cli.Count(s.campaignsRead(), "campaign"),
		cli.Count(int(newVersions), "new version"))
	if s.left > 0 {
		text += fmt.Sprintf(", %s left to the next run", cli.Count(s.left, "campaign"))
	}
	if len(s.unread) > 0 {
		text += ", " + someOf("unread field", s.unread)
		if i := slices.IndexFunc(before, s.isUnreadAgain); i >= 0 {
			text += ", since " + schema.DateOf(before[i].FirstSeenAt.Time()).String()
		}
		if len(s.findings) == 0 {
			text += " (nothing to do: the next run asks again)"
		}
	}
	if len(s.words) > 0 {
		text += ", " + someOf("unknown value", s.words)
	}
	return text
}

// isUnreadAgain reports whether a stored unread field is unread in this run, too.
func (s *settings) isUnreadAgain(before schema.EntityRead) bool {
	return before.Field != "" && slices.ContainsFunc(s.lines, func(now schema.EntityRead) bool {
		return now.EntityType == before.EntityType && now.EntityID == before.EntityID && now.Field == before.Field
	})
}

// settingsReader reads the settings concurrently into a value.
type settingsReader struct {
	s             *session
	list          *future[campaignList]
	settledBefore []string // campaigns settled before this run
	budget        *budget
	stored        storedCampaigns  // before this run
	confirmed     history.Readings // before this run

	knownCreatives map[string]bool // creatives that the advertiser API described before this run

	mu       sync.Mutex // guards the fields below
	settings *settings
}

// context returns the column values that are not in the replies.
func (n *settingsReader) context() transform.SettingsContext {
	return transform.SettingsContext{Account: n.s.Account, RunID: n.s.RunID, Service: n.s.Service}
}

// look records that an entity was requested, so that its earlier lines in ops.entity_read end.
func (n *settingsReader) look(kind, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settings.looked[[2]string{kind, id}] = true
}

// line adds a line to ops.entity_read.
func (n *settingsReader) line(kind, id, state string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settings.lines = append(n.settings.lines, schema.EntityRead{AccountID: n.s.Account, EntityType: kind,
		EntityID: id, ReadState: state, Message: schema.Some(err.Error())})
}

// fail records something that could not be read. It ignores reads canceled by a signal or by the budget: the next run
// repeats them.
func (n *settingsReader) fail(kind, id, state string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	extract.ReleaseReply(err) // the error may be held until the run ends
	n.line(kind, id, state, err)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settings.findings = append(n.settings.findings, finding{what: kind + " " + id, err: err})
}
