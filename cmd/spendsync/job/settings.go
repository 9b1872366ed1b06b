package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"spendsync/cmd/internal/cli"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// settings is what one run has read of the settings. What could not be read is in lines and findings.
type settings struct {
	since, at schema.Instant // when the reading started and ended
	err       error          // why nothing of them may be published; nil: it may

	listing   extract.Listing
	campaigns map[string]*readCampaign   // by ID
	notThere  map[string]bool            // campaigns and creatives that the service answers not_found for
	rows      map[string]any             // by table; see readingsOf
	money     *accountRead               // nil: it could not be read
	reported  []transform.ReportCreative // creatives that the report names
	readKeys  map[string]map[string]bool // by stream: keys that values were read from
	looked    map[[2]string]bool         // by type and ID, as in ops.entity_read: what was asked for

	// Once they are staged: the fields that were not understood.
	unread      []string              // whose last known values stand
	words       []string              // with a value that the description does not know
	undescribed []schema.UnknownField // keys that no column shows

	lines    []schema.EntityRead // for ops.entity_read
	findings []finding

	rulesDiffer []string // campaigns whose rules of sources differ from the stored ones, sorted

	skipped int      // settled campaigns that were not read
	left    int      // listed campaigns that the budget did not reach
	overdue []string // those of them that were not read for a day or longer
}

// readCampaign is how one run has read a campaign.
type readCampaign struct {
	isListed  bool // the key's list has it
	isSettled bool // archived and read, now or before

	whole map[string]bool // parts that were read in full, as in the table of readings
	rules []sourceRule    // of its sources; nil: not read
}

func newSettings() *settings {
	return &settings{campaigns: map[string]*readCampaign{}, notThere: map[string]bool{}, rows: map[string]any{},
		readKeys: map[string]map[string]bool{}, looked: map[[2]string]bool{}}
}

// readingsOf returns what was read of the entities of a table, by ID.
func readingsOf[R any](s *settings, t schema.TableOf[R]) map[string]*reading[R] {
	if s.rows[t.Name] == nil {
		s.rows[t.Name] = map[string]*reading[R]{}
	}
	return s.rows[t.Name].(map[string]*reading[R])
}

// campaign returns how a campaign is read, which it adds.
func (s *settings) campaign(id string) *readCampaign {
	if s.campaigns[id] == nil {
		s.campaigns[id] = &readCampaign{whole: map[string]bool{}}
	}
	return s.campaigns[id]
}

// addKeys records from which keys of an entity values were read.
func (s *settings) addKeys(stream string, reading transform.Decoded) {
	if s.readKeys[stream] == nil {
		s.readKeys[stream] = map[string]bool{}
	}
	for _, key := range reading.Read {
		s.readKeys[stream][key] = true
	}
}

// unreadSightings returns what could not be read of the settings. What the run did not look at stays as it was.
func (s *settings) unreadSightings() *manifest.Sightings[schema.EntityRead] {
	return &manifest.Sightings[schema.EntityRead]{Rows: s.lines, Looked: func(row *schema.EntityRead) bool {
		return row.EntityType == "listing" || row.EntityType == "account" || s.looked[[2]string{row.EntityType,
			row.EntityID}]
	}}
}

// release lets go of the rows, which were read for nothing but to be staged.
func (s *settings) release() {
	for _, c := range s.campaigns {
		c.rules = nil
	}
	s.reported = nil
	maps.DeleteFunc(s.rows, func(table string, _ any) bool { return table != schema.CampaignHistory.Name })
}

// readAny reports whether the settings are worth a generation of their own. A run that was
// stopped must have read a campaign.
func (s *settings) readAny(stopped bool) bool {
	return s.listing.Complete && !stopped || s.campaignsRead() > 0
}

// campaignsRead is how many campaigns were read.
func (s *settings) campaignsRead() int { return len(readingsOf(s, schema.CampaignHistory)) }

// sentence describes the settings that were read, and names the fields whose last known values stand, and those with a
// value that the description lacks. It is empty before they are read.
func (s *settings) sentence(newVersions int64) (text string) {
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
	}
	if len(s.words) > 0 {
		text += ", " + someOf("unknown value", s.words)
	}
	return text
}

// settingsReader reads the settings concurrently into a value.
type settingsReader struct {
	s         *session
	list      *answer[campaignList]
	before    []string // campaigns that were settled before this run
	budget    *budget
	stored    storedCampaigns  // before this run
	confirmed history.Readings // before this run

	mu   sync.Mutex // guards the fields below
	read *settings
}

// context returns the columns of settings rows that the replies lack.
func (n *settingsReader) context() transform.SettingsContext {
	return transform.SettingsContext{Account: n.s.Account, RunID: n.s.RunID, Service: n.s.Service}
}

// look records that an entity was asked for, so that what it lacked before counts no more.
func (n *settingsReader) look(kind, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read.looked[[2]string{kind, id}] = true
}

// fail records something that could not be read. A read that a signal or the budget ended is not a failure: the next
// run reads it.
func (n *settingsReader) fail(kind, id, state string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	extract.ReleaseReply(err) // the error may be held until the run ends
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read.lines = append(n.read.lines, schema.EntityRead{AccountID: n.s.Account, EntityType: kind, EntityID: id,
		ReadState: state, Message: schema.Some(err.Error())})
	n.read.findings = append(n.read.findings, finding{what: kind + " " + id, err: err})
}
