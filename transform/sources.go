package transform

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/schema"
)

// errTwoBids says that one source has two bids.
var errTwoBids = errors.New("the source has another bid, too")

// SourceRead is what one read told of a campaign's sources. Of a kind of rule that
// was not read there are no rules, which does not say that there are none.
type SourceRead struct {
	Mode       schema.SourceMode // without bids_last_read_at, which is the caller's to know
	ModeUnread []string          // columns of Mode that could not be read
	Rules      []schema.SourceRule

	BlockedRead, AllowedRead, BidsRead bool
}

// The keys that may hold the parts of the source settings, the likeliest first.
var (
	sourceModeKeys = []string{"source_targeting_mode", "source_mode", "sources_mode", "targeting_mode"}
	modeKeys       = append(slices.Clone(sourceModeKeys), "list_mode", "mode")
	blockedKeys    = []string{"blocked_source_ids", "blocked_sources", "blocked", "blocked_ids", "block_list", "blocklist"}
	allowedKeys    = []string{"allowed_source_ids", "allowed_sources", "allowed", "allowed_ids", "allow_list", "allowlist"}
	oneListKeys    = []string{"source_ids", "sources"}
	bidKeys        = []string{"bid_overrides", "source_bids", "bids"}
)

// The modes, as they are stored.
const (
	blockList = "block_list"
	allowList = "allow_list"
)

// Sources makes rows of a campaign's source settings. The parts may lie in the
// object itself or in an object under sources:
//
//   - The mode: source_targeting_mode, source_mode, sources_mode, targeting_mode,
//     list_mode or mode. block_list, blocklist and block are one, and so are
//     allow_list, allowlist and allow, with hyphens or blanks too and in any case;
//     another text is kept as it is. Null is NULL; missing is unread.
//   - The lists: blocked_source_ids, blocked_sources, blocked, blocked_ids,
//     block_list or blocklist, and the same with allow; or one list, source_ids or
//     sources, which is that of the mode. A list that is null or missing was not
//     read, except that of the mode that the campaign does not have, where its own
//     was read: the description knows no blocked sources of an allow-list campaign,
//     and no allowed ones of a block-list campaign, so there are none in force.
//   - An entry of a list: the ID, or an object with it under source_id or id.
//   - The bids: bid_overrides, source_bids or bids. A list of objects with the ID
//     and a bid, amount or value; or a map of IDs to a number or to such an object.
//     Null says that they could not be read, and so is a missing key taken. A bid
//     that is null is a rule without a number.
//
// An ID has the description's form, and a bid is from 0 and fits DECIMAL(12,6).
// Anything else is a [FieldError]; one about an object that is not known names its
// keys. The rules are sorted by rule and source, each once.
func Sources(e extract.Entity, campaignID string, c SettingsContext) (SourceRead, error) {
	e.ID = campaignID
	r, err := newReader(schema.SourceModeHistory.Name, "campaign_id", e)
	if err != nil {
		return SourceRead{}, err
	}
	if of := read(r, optional, r.text, "campaign_id"); of.Valid && of.V != campaignID {
		r.refuse("campaign_id", e.Fields["campaign_id"], ErrOther)
	}
	if inner, ok := e.Fields["sources"].Object(); ok {
		r.from = append(r.from, inner)
	}
	if !r.has(modeKeys) && !r.has(blockedKeys) && !r.has(allowedKeys) && !r.has(oneListKeys) && !r.has(bidKeys) {
		r.refuse("source_mode", nil, unknownKeys(e.Fields))
	}
	s := sourceReader{reader: r, c: c}
	s.out.Mode = schema.SourceMode{
		AccountID: c.Account, CampaignID: campaignID,
		SourceMode: read(r, needed, r.sourceMode, "source_mode", modeKeys...),
		Raw:        r.raw, RunID: c.RunID,
	}
	s.out.ModeUnread = r.unread
	r.table = schema.SourceRuleHistory.Name // from here on
	s.lists()
	s.bids()
	if r.err != nil {
		return SourceRead{}, r.err
	}
	slices.SortFunc(s.out.Rules, func(a, b schema.SourceRule) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.SourceID, b.SourceID))
	})
	return s.out, nil
}

// sourceMode is a mode in its one form.
func (f *findings) sourceMode(v extract.Value) (string, error) {
	s, err := f.word(v)
	switch strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s)) {
	case "blocklist", "block":
		return blockList, err
	case "allowlist", "allow":
		return allowList, err
	}
	return s, err
}

func (r reader) has(keys []string) bool {
	_, ok := r.value("", keys...)
	return ok
}

type sourceReader struct {
	reader
	c   SettingsContext
	out SourceRead
}

// lists reads what is blocked and what is allowed.
func (s *sourceReader) lists() {
	mode := s.out.Mode.SourceMode.V
	s.out.BlockedRead = s.list(schema.RuleBlocked, blockedKeys)
	s.out.AllowedRead = s.list(schema.RuleAllowed, allowedKeys)
	switch one := s.oneList(); {
	case s.out.BlockedRead || s.out.AllowedRead || one == nil:
	case mode == blockList:
		s.out.BlockedRead = s.list(schema.RuleBlocked, oneListKeys)
	case mode == allowList:
		s.out.AllowedRead = s.list(schema.RuleAllowed, oneListKeys)
	default:
		s.refuse("rule", one, fmt.Errorf("a list of sources without a known mode: %w", ErrForm))
	}
	switch mode {
	case blockList:
		s.out.AllowedRead = s.out.AllowedRead || s.out.BlockedRead
	case allowList:
		s.out.BlockedRead = s.out.BlockedRead || s.out.AllowedRead
	}
}

// oneList is the list that has no kind of its own. Under sources there may be an
// object instead.
func (s *sourceReader) oneList() extract.Value {
	v, _ := s.value("", oneListKeys...)
	if _, list := v.Array(); !list {
		return nil
	}
	return v
}

// list reads the sources of one kind of rule, if they were told.
func (s *sourceReader) list(rule string, keys []string) bool {
	v, _ := s.value("", keys...)
	if v.Null() {
		return false
	}
	entries, ok := v.Array()
	if !ok {
		s.refuse(rule, v, ErrForm)
		return false
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		id, err := s.source(entry)
		if err != nil {
			s.refuse(rule, entry, err)
			return false
		}
		if !seen[id] {
			seen[id] = true
			s.add(id, rule, schema.Null[schema.Money]{})
		}
	}
	return true
}

// source is the ID that an entry names.
func (s *sourceReader) source(entry extract.Value) (string, error) {
	v := entry
	if fields, ok := entry.Object(); ok {
		inner := reader{findings: s.findings, from: []map[string]extract.Value{fields}}
		if v, ok = inner.value("", "source_id", "id"); !ok {
			return "", unknownKeys(fields)
		}
	}
	id, err := s.intern.id(v)
	if err == nil {
		err = sourceID(id)
	}
	return id, err
}

// sourceID refuses an ID that no source has.
func sourceID(id string) error {
	if extract.IsSourceID(id) {
		return nil
	}
	return fmt.Errorf("%.60q is not the ID of a source: %w", id, ErrForm)
}

// bids reads the bids that sources have of their own.
func (s *sourceReader) bids() {
	v, _ := s.value("", bidKeys...)
	if v.Null() {
		return
	}
	s.out.BidsRead = true
	known := map[string]schema.Null[schema.Money]{}
	if entries, ok := v.Array(); ok {
		for _, entry := range entries {
			id, err := s.source(entry)
			s.bid(known, id, entry, err)
		}
	} else if byID, ok := v.Object(); ok {
		for _, id := range slices.Sorted(maps.Keys(byID)) {
			s.bid(known, id, byID[id], sourceID(id))
		}
	} else {
		s.refuse(schema.RuleBid, v, ErrForm)
	}
	for id, own := range known {
		s.add(id, schema.RuleBid, own)
	}
}

// bid reads the bid of one source, whose ID may already be in error.
func (s *sourceReader) bid(known map[string]schema.Null[schema.Money], id string, entry extract.Value, err error) {
	var price extract.Value
	if err == nil {
		price, err = s.price(entry)
	}
	var own schema.Null[schema.Money]
	if err == nil && !price.Null() {
		own.Valid = true
		own.V, err = bid(price)
	}
	if before, twice := known[id]; err == nil && twice && before != own {
		err = errTwoBids
	}
	if err != nil {
		s.refuse(schema.RuleBid, entry, err)
		return
	}
	known[id] = own
}

// price is the bid within an entry: the number itself, or a member of an object.
func (s *sourceReader) price(entry extract.Value) (extract.Value, error) {
	fields, ok := entry.Object()
	if !ok {
		return entry, nil
	}
	inner := reader{findings: s.findings, from: []map[string]extract.Value{fields}}
	if v, ok := inner.value("", "bid", "amount", "value"); ok {
		return v, nil
	}
	return nil, unknownKeys(fields)
}

func (s *sourceReader) add(source, rule string, own schema.Null[schema.Money]) {
	s.out.Rules = append(s.out.Rules, schema.SourceRule{
		AccountID: s.c.Account, CampaignID: s.id, SourceID: source, Rule: rule, Bid: own, RunID: s.c.RunID,
	})
}

// unknownKeys says that an object is not known, and by which keys it might be.
func unknownKeys(fields map[string]extract.Value) error {
	return fmt.Errorf("an object with the keys %s: %w", extract.Keys(fields), ErrForm)
}
