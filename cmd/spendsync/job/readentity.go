package job

import (
	"iter"
	"maps"
	"slices"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// settings is what one run has read of the settings. What could not be read is in
// lines and failures.
type settings struct {
	since, at schema.Instant // when the reading started and ended

	listing   extract.Listing
	campaigns map[string]*readEntity // by ID
	creatives map[string]*readEntity
	money     *accountRead               // nil: it could not be read
	reported  []transform.ReportCreative // creatives that the report names
	readKeys  map[string]map[string]bool // by stream: keys that values were read from

	unread      unreadCounter         // the fields that were not understood
	lines       []schema.EntityRead   // for the ledger
	undescribed []schema.UnknownField // keys that no column shows
	findings    []finding

	skipped int      // settled campaigns that were not read
	left    int      // listed campaigns that the budget did not reach
	overdue []string // those of them that were not read for a day or longer
}

// readEntity is what one run has read of a campaign or a creative, how, and whether it has ended.
type readEntity struct {
	isListed  bool                        // a campaign: the key's list has it
	isSingle  bool                        // a campaign: its own reply came; a creative: no list has it, and that came
	notThere  schema.Null[schema.Instant] // the service answers 404 or 410 for it: when it was seen last
	isSettled bool                        // archived and read, now or before
	isRead    bool                        // settled, and read in this run
	isUnclear bool                        // read in this run, and not understood in full

	campaign *history.Seen[schema.Campaign] // nil: not read, and so the others
	delivery *history.Seen[schema.Delivery]
	creative *history.Seen[schema.Creative]
	left     leftOut // fields of the campaign or creative

	allCreatives bool         // its creatives were listed to the end
	sources      *readSources // nil: not read
}

// readSources are the source settings of a campaign.
type readSources struct {
	mode  history.Seen[schema.SourceMode]
	rules []sourceRule
	kinds map[string]bool // rules that could be read, by kind
	isOdd bool            // they were not understood in full
}

func newSettings() *settings {
	return &settings{campaigns: map[string]*readEntity{}, creatives: map[string]*readEntity{},
		readKeys: map[string]map[string]bool{}}
}

// entityOf returns the value of an entity, which it adds.
func entityOf(all map[string]*readEntity, id string) *readEntity {
	if all[id] == nil {
		all[id] = &readEntity{}
	}
	return all[id]
}

// isSingle reports whether an entity was read by its own request.
func isSingle(all map[string]*readEntity, id string) bool { return all[id] != nil && all[id].isSingle }

// entities yields the campaigns, and then the creatives.
func (s *settings) entities() iter.Seq2[string, *readEntity] {
	return func(yield func(string, *readEntity) bool) {
		for _, all := range []map[string]*readEntity{s.campaigns, s.creatives} {
			for id, e := range all {
				if !yield(id, e) {
					return
				}
			}
		}
	}
}

// lacksSome reports whether the service answers 404 or 410 for an entity.
func (s *settings) lacksSome() bool {
	for _, e := range s.entities() {
		if e.notThere.Valid {
			return true
		}
	}
	return false
}

// rowsRead returns one kind of rows of entities that were read, by their IDs.
func rowsRead[R any](all map[string]*readEntity, row func(*readEntity) *history.Seen[R]) (seen []history.Seen[R]) {
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if r := row(all[id]); r != nil {
			seen = append(seen, *r)
		}
	}
	return seen
}

func (s *settings) campaignRows() []history.Seen[schema.Campaign] {
	return rowsRead(s.campaigns, func(e *readEntity) *history.Seen[schema.Campaign] { return e.campaign })
}

func (s *settings) deliveryRows() []history.Seen[schema.Delivery] {
	return rowsRead(s.campaigns, func(e *readEntity) *history.Seen[schema.Delivery] { return e.delivery })
}

func (s *settings) creativeRows() []history.Seen[schema.Creative] {
	return rowsRead(s.creatives, func(e *readEntity) *history.Seen[schema.Creative] { return e.creative })
}

func (s *settings) modeRows() []history.Seen[schema.SourceMode] {
	return rowsRead(s.campaigns, func(e *readEntity) *history.Seen[schema.SourceMode] {
		if e.sources == nil {
			return nil
		}
		return &e.sources.mode
	})
}

// campaignsRead is how many campaigns were read.
func (s *settings) campaignsRead() (n int) {
	for _, e := range s.campaigns {
		if e.campaign != nil {
			n++
		}
	}
	return n
}

// isRead reports whether a kind of rules of a campaign was read.
func (s *settings) isRead(campaign, kind string) bool {
	e := s.campaigns[campaign]
	return e != nil && e.sources != nil && e.sources.kinds[kind]
}

// release lets go of the rows, which were read for nothing but to be staged.
func (s *settings) release() {
	for _, e := range s.campaigns {
		e.delivery, e.sources = nil, nil
	}
	s.creatives, s.reported = nil, nil
}

// readAny reports whether the settings are worth a generation of their own. A run that was
// stopped must have read a campaign.
func (s *settings) readAny(stopped bool) bool {
	return s.listing.Complete && !stopped || s.campaignsRead() > 0
}

// sourceRule is a rule of a campaign, in a fifth of the memory that its row takes.
type sourceRule struct {
	source, rule string
	bid          schema.Null[schema.Money]
}

// rulesIn returns the rules of one read.
func rulesIn(read transform.SourceRead) []sourceRule {
	rules := make([]sourceRule, len(read.Rules))
	for i, r := range read.Rules {
		rules[i] = sourceRule{source: r.SourceID, rule: r.Rule, bid: r.Bid}
	}
	return rules
}

// accountRead is the account's money and budgets as this run saw them.
type accountRead struct {
	snapshot *schema.AccountSnapshot // nil: the balance could not be read
	limits   []schema.AccountLimit
}

// leftOut lists the fields that a reply about an entity lacks, or has in a damaged form.
type leftOut struct {
	unset   []string // missing or blank
	damaged []string // texts that are stored otherwise than they were sent
}

func leftOutOf(reading transform.Decoded) leftOut {
	l := leftOut{unset: slices.Concat(reading.Missing, reading.Blank)}
	if slices.Contains(l.unset, transform.WholeAudience) {
		l.unset = append(l.unset, transform.AudienceColumns...)
	}
	for _, text := range reading.Texts {
		l.damaged = append(l.damaged, text.Column)
	}
	return l
}

// found is an entity that answers though its list lacks it.
type found struct {
	id     string
	entity extract.Entity
}
