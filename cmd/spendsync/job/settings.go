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

// settings has all that one run has read of the settings. What could not be read is recorded in lines and in findings.
type settings struct {
	since, at schema.Instant // when the reading started and ended
	err       error          // why none of the settings may be published; nil if they may be published

	listing   extract.Listing
	campaigns map[string]*readCampaign   // by ID
	notThere  map[string]bool            // IDs of campaigns and creatives for which the service answers not_found
	rows      map[string]any             // readings by table, see readingsOf
	money     *accountRead               // balance and limits; nil: not read
	reported  []transform.ReportCreative // creatives that the report names
	readKeys  map[string]map[string]bool // the JSON keys that were decoded, by stream ("campaign", for example)
	looked    map[[2]string]bool         // requested entities, by their type and ID in ops.entity_read
	unlisted  map[string][]string        // entities that a complete list lacks, but that the service has; by kind

	// Set once the settings are staged:
	unread      []string              // fields without a usable value in the reply; stored values are kept
	words       []string              // fields with a value that is not in the service's description
	undescribed []schema.UnknownField // keys without a column

	lines    []schema.EntityRead // for ops.entity_read
	findings []finding

	rulesDiffer []string // campaigns whose source rules differ from the stored ones, sorted

	skipped int                 // settled campaigns that were not read
	left    map[string]int      // number of campaigns and creatives that this run did not reach; by kind
	overdue map[string][]string // IDs of campaigns and creatives that no run has read for a day or longer; by kind
}

// readCampaign records how far one run has read one campaign.
type readCampaign struct {
	isListed  bool // the key's list contains it
	isSettled bool // whether it is archived and was read in full, in this run or before

	whole map[string]bool // names of the parts that this run has read in full, see campaignPart
	rules []sourceRule    // source rules; nil: not read
}

func newSettings() *settings {
	return &settings{campaigns: map[string]*readCampaign{}, notThere: map[string]bool{}, rows: map[string]any{},
		readKeys: map[string]map[string]bool{}, looked: map[[2]string]bool{}, unlisted: map[string][]string{},
		left: map[string]int{}, overdue: map[string][]string{}}
}

// readingsOf returns what this run has read of a table's entities, by ID. Callers may add to the map.
func readingsOf[R any](s *settings, t schema.TableOf[R]) map[string]*reading[R] {
	if s.rows[t.Name] == nil {
		s.rows[t.Name] = map[string]*reading[R]{}
	}
	return s.rows[t.Name].(map[string]*reading[R])
}

// campaign returns how far a campaign has been read. If nothing is recorded yet, it adds an empty record.
func (s *settings) campaign(id string) *readCampaign {
	if s.campaigns[id] == nil {
		s.campaigns[id] = &readCampaign{whole: map[string]bool{}}
	}
	return s.campaigns[id]
}

// addKeys records which JSON keys of a stream were decoded. All other keys have no column.
func (s *settings) addKeys(stream string, reading transform.Decoded) {
	if s.readKeys[stream] == nil {
		s.readKeys[stream] = map[string]bool{}
	}
	for _, key := range reading.Read {
		s.readKeys[stream][key] = true
	}
}

// unreadSightings returns the entities and fields that could not be read, for ops.entity_read. They replace the stored
// lines of all entities that this run has requested; other entities keep their lines.
func (s *settings) unreadSightings() *manifest.Sightings[schema.EntityRead] {
	return &manifest.Sightings[schema.EntityRead]{Rows: s.lines, Looked: func(row *schema.EntityRead) bool {
		return row.EntityType == "listing" || row.EntityType == "account" || s.looked[[2]string{row.EntityType,
			row.EntityID}]
	}}
}

// release frees the memory of rows that are staged. The rows of campaigns stay, because they are counted later.
func (s *settings) release() {
	for _, c := range s.campaigns {
		c.rules = nil
	}
	s.reported = nil
	maps.DeleteFunc(s.rows, func(table string, _ any) bool { return table != schema.CampaignHistory.Name })
}

// readAny reports whether enough was read to publish the settings alone, if no day can be published: at least one
// campaign or, unless a signal stopped the run, a complete list of campaigns.
func (s *settings) readAny(stopped bool) bool {
	return s.listing.Complete && !stopped || s.campaignsRead() > 0
}

func (s *settings) campaignsRead() int { return len(readingsOf(s, schema.CampaignHistory)) }

// sentence returns the part of the run's message about the settings: how much was read, which fields are unread, and
// which have unknown values. It is empty if s is nil. The last argument is the stored list of unread fields, the oldest
// first.
func (s *settings) sentence(newVersions int64, before []schema.EntityRead) (text string) {
	if s == nil {
		return ""
	}
	text = fmt.Sprintf("; settings of %s read, %s", cli.Count(s.campaignsRead(), "campaign"),
		cli.Count(int(newVersions), "new version"))
	for _, kind := range slices.Sorted(maps.Keys(s.left)) {
		text += fmt.Sprintf(", %s left to the next run", cli.Count(s.left[kind], kind))
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

// isUnreadAgain reports whether a field that was unread before this run is still unread.
func (s *settings) isUnreadAgain(before schema.EntityRead) bool {
	return before.Field != "" && slices.ContainsFunc(s.lines, func(now schema.EntityRead) bool {
		return now.EntityType == before.EntityType && now.EntityID == before.EntityID && now.Field == before.Field
	})
}

// settingsReader reads the settings in several goroutines, and collects what it has read in a [settings].
type settingsReader struct {
	s             *session
	list          *future[campaignList]
	settledBefore []string // campaigns settled before this run
	budget        *budget
	stored        storedCampaigns  // before this run
	confirmed     history.Readings // before this run

	knownCreatives map[string]bool // creatives that the advertiser API returned before this run

	mu       sync.Mutex // guards the fields below
	settings *settings
	short    map[string]openEntity // listed creatives whose entries are short, by ID
}

// context returns the values of columns that no reply contains, such as the account.
func (n *settingsReader) context() transform.SettingsContext {
	return transform.SettingsContext{Account: n.s.Account, RunID: n.s.RunID, Service: n.s.Service}
}

// look records that an entity was requested. Its older lines in ops.entity_read are then deleted.
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

// fail adds a line to ops.entity_read and a finding about something that could not be read. It ignores canceled reads:
// a signal, or the time limit for the settings, has ended them, and the next run repeats them. The notes are those of
// the [finding].
func (n *settingsReader) fail(kind, id, state string, err error, notes ...string) {
	if errors.Is(err, context.Canceled) {
		return
	}
	extract.ReleaseReply(err) // frees the reply's memory: the finding keeps the error until the run ends
	n.line(kind, id, state, err)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settings.findings = append(n.settings.findings, finding{what: kind + " " + id, err: err, notes: notes})
}
