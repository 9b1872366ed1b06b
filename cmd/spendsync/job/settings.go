package job

import (
	"context"
	"errors"
	"fmt"
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

	listing   extract.Listing
	campaigns map[string]*readCampaign  // by ID
	notThere  map[string]*missingEntity // campaigns and creatives that the service answers 404 or 410 for, by ID
	rows      readRows
	money     *accountRead               // nil: it could not be read
	reported  []transform.ReportCreative // creatives that the report names
	byID      map[string]transform.ReportCreative
	readKeys  map[string]map[string]bool // by stream: keys that values were read from

	// Once they are staged: the fields that were not understood.
	unread       []string // whose last known values stand
	unreadFields int
	words        []string              // with a value that the description does not know
	undescribed  []schema.UnknownField // keys that no column shows

	lines    []schema.EntityRead // for ops.entity_read
	findings []finding

	rulesDiffer []string // campaigns whose rules of sources differ from the stored ones, sorted

	skipped int      // settled campaigns that were not read
	left    int      // listed campaigns that the budget did not reach
	overdue []string // those of them that were not read for a day or longer

	looked map[[2]string]bool // by type and ID, as in ops.entity_read: the entities that were read
}

// readRows are the rows that one run has read, by their IDs.
type readRows struct {
	campaigns map[string]*reading[schema.Campaign]
	delivery  map[string]*reading[schema.Delivery]
	creatives map[string]*reading[schema.Creative]
	modes     map[string]*reading[schema.SourceMode]
}

// readCampaign is how one run has read a campaign.
type readCampaign struct {
	isListed  bool // the key's list has it
	isSettled bool // archived and read, now or before

	allCreatives bool         // its creatives were listed to the end
	sources      *readSources // nil: not read
}

// missingEntity is a campaign or a creative that the service answers 404 or 410 for.
type missingEntity struct {
	kind   string
	seenAt schema.Instant // last
	lives  bool           // its report shows later spend, so that it has not ended
}

func newSettings() *settings {
	return &settings{campaigns: map[string]*readCampaign{}, notThere: map[string]*missingEntity{},
		readKeys: map[string]map[string]bool{}, rows: readRows{map[string]*reading[schema.Campaign]{},
			map[string]*reading[schema.Delivery]{}, map[string]*reading[schema.Creative]{},
			map[string]*reading[schema.SourceMode]{}}}
}

// campaign returns how a campaign is read, which it adds.
func (s *settings) campaign(id string) *readCampaign {
	if s.campaigns[id] == nil {
		s.campaigns[id] = &readCampaign{}
	}
	return s.campaigns[id]
}

// hasEnded reports whether the service answers 404 or 410 for a campaign or a creative, and nothing speaks against it.
func (s *settings) hasEnded(id string) bool {
	m := s.notThere[id]
	return m != nil && !m.lives
}

// reportedCreative returns what the report has of a creative.
func (s *settings) reportedCreative(id string) transform.ReportCreative {
	if s.byID == nil {
		s.byID = make(map[string]transform.ReportCreative, len(s.reported))
		for _, l := range s.reported {
			s.byID[l.CreativeID] = l
		}
	}
	return s.byID[id]
}

// addKeys records from which keys of an entity values were read.
func (s *settings) addKeys(stream string, reading transform.Decoded) {
	keys := s.readKeys[stream]
	if keys == nil {
		keys = map[string]bool{}
		s.readKeys[stream] = keys
	}
	for _, key := range reading.Read {
		keys[key] = true
	}
}

// unreadSightings returns what could not be read of the settings. What the run did not look at stays as it was.
func (s *settings) unreadSightings() *manifest.Sightings[schema.EntityRead] {
	return &manifest.Sightings[schema.EntityRead]{Rows: s.lines, Looked: func(row *schema.EntityRead) bool {
		return row.EntityType == "listing" || row.EntityType == "account" || s.looked[[2]string{row.EntityType,
			row.EntityID}]
	}}
}

// release lets go of the rows, which were read for nothing but to be staged. It records which entities were read.
func (s *settings) release() {
	s.looked = map[[2]string]bool{}
	for id, c := range s.campaigns {
		s.looked[[2]string{"campaign", id}] = s.rows.campaigns[id] != nil
		s.looked[[2]string{"source settings", id}] = c.sources != nil
		for _, kind := range []string{"creatives of", "source settings of", "sources of"} {
			s.looked[[2]string{kind, id}] = true
		}
		c.sources = nil
	}
	for id := range s.rows.creatives {
		s.looked[[2]string{"creative", id}] = true
	}
	for id, m := range s.notThere {
		for _, kind := range []string{m.kind, "creatives of", "source settings of", "sources of"} {
			s.looked[[2]string{kind, id}] = true
		}
	}
	s.reported, s.byID = nil, nil
	s.rows = readRows{campaigns: s.rows.campaigns}
}

// readAny reports whether the settings are worth a generation of their own. A run that was
// stopped must have read a campaign.
func (s *settings) readAny(stopped bool) bool {
	return s.listing.Complete && !stopped || s.campaignsRead() > 0
}

// campaignsRead is how many campaigns were read.
func (s *settings) campaignsRead() int { return len(s.rows.campaigns) }

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

// settingsReaders is how many campaigns are read at the same time. The limiter of
// the key decides the speed, not this.
const settingsReaders = 4

// settingsReader reads the settings concurrently into a value.
type settingsReader struct {
	s         *session
	list      *campaignList
	before    []string // campaigns that were settled before this run
	budget    *budget
	stored    storedCampaigns  // before this run
	confirmed history.Readings // before this run

	mu   sync.Mutex // guards the fields below
	read *settings
}

func newSettingsReader(r *session) *settingsReader {
	return &settingsReader{
		s: r, before: r.store.Account().SettledCampaigns(), budget: r.newBudget(), read: newSettings(),
	}
}

// context returns the columns of settings rows that the replies lack.
func (n *settingsReader) context() transform.SettingsContext {
	return transform.SettingsContext{Account: n.s.Account, RunID: n.s.RunID, Service: n.s.Service}
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
