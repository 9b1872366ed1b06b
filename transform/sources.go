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

// errTwoBids reports that one source has two bids.
var errTwoBids = errors.New("the source has another bid, too")

// SourceRead is one read of a campaign's source settings.
type SourceRead struct {
	Mode  schema.SourceMode // without bids_last_read_at, which only the caller knows
	Rules []schema.SourceRule

	Kinds map[string]bool // by kind of rule: whether all rules were read; if false, Rules may have some of them
	// Decoded describes the fields of Mode and three kinds of rules: blocked, allowed and bid_overrides. A kind that
	// was not read completely is in Unread. If its value in the reply was null, it is also in Withheld.
	Decoded
}

// The stored forms of a campaign's source mode.
const (
	blockList = "block_list"
	allowList = "allow_list"
)

// Sources makes rows of a campaign's source settings. The keys are those of the section sources of service.yaml. The
// parts may be in the object itself, or in an object under a key that parts lists:
//
//   - The mode: block_list, blocklist and block are the same, and so are allow_list, allowlist and allow, also with
//     hyphens or blanks and in any case. Another word of letters, digits, hyphens, underscores and blanks is stored
//     unchanged. Null and missing are unread.
//   - The lists are under blocked and allowed, or a single list is under one_list. The single list is the list of the
//     mode, unless its entries state under kind whether they are blocked or allowed. A list that is null or missing was
//     not read. But if the list of the campaign's mode was read, a list of the other mode that is null or missing
//     counts as empty: by the service's description, an allow-list campaign has no blocked sources, and a block-list
//     campaign no allowed ones.
//   - An entry of a list is an ID, or an object with the ID. An ID of digits may be a number.
//   - The bids are a list of objects with the ID and a bid, or a map from IDs to numbers or to such objects. If the key
//     is null or missing, the bids could not be read. A bid that is null is a rule without a number.
//
// An ID is any valid text, and a bid is not negative, fits DECIMAL(12,6), and is in the stored currency. An entry with
// another value is refused, and its kind counts as not completely read. The rules are sorted by rule and source,
// without duplicates. Sources returns an error if the settings are of another campaign.
func Sources(e extract.Entity, campaignID string, c SettingsContext) (SourceRead, error) {
	e.ID = campaignID
	r, err := newReader(c.Service, "sources", schema.SourceModeHistory.Name, "campaign_id", e)
	if err != nil {
		return SourceRead{}, err
	}
	if v, _ := r.value(r.names("campaign_id")...); !v.Null() {
		if campaign, isID := extract.IDOf(v); !isID || campaign != campaignID {
			return SourceRead{}, &FieldError{Table: r.table, ID: r.id, Column: "campaign_id", Value: shown(v),
				Err: ErrOther}
		}
	}
	for _, key := range r.names("parts") {
		if inner, ok := e.Fields[key].Object(); ok {
			r.from = append(r.from, inner)
		}
	}
	if !slices.ContainsFunc([]string{"mode", "blocked", "allowed", "one_list", "bid_overrides"},
		func(name string) bool { return r.has(r.names(name)) }) {
		r.refuse("source_mode", nil, unknownKeys(e.Fields))
	}
	s := sourceReader{reader: r, c: c, out: SourceRead{Kinds: map[string]bool{}}}
	s.out.Mode = schema.SourceMode{
		AccountID: c.Account, CampaignID: campaignID,
		SourceMode: read(r, required, r.sourceMode, "source_mode", "mode"),
		Raw:        r.raw, RunID: c.RunID,
	}
	r.table = schema.SourceRuleHistory.Name // refusals from here on are about the rules, not the mode
	s.lists()
	s.bids()
	if s.foreign(schema.RuleBid) {
		s.out.Kinds[schema.RuleBid] = false
		s.out.Rules = slices.DeleteFunc(s.out.Rules, func(r schema.SourceRule) bool { return r.Rule == schema.RuleBid })
	}
	s.optimized()
	s.unreadKinds()
	slices.SortFunc(s.out.Rules, func(a, b schema.SourceRule) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.SourceID, b.SourceID))
	})
	s.out.Decoded = r.Decoded
	return s.out, nil
}

// optimized reads the sources that are left to source optimization. The description does not mention a list of these
// sources. So if the reply has no such list, and both other lists were read, no source is left to optimization.
func (s *sourceReader) optimized() {
	if keys := s.names("optimized"); s.has(keys) { // null means that the list could not be read
		s.out.Kinds[schema.RuleOptimized] = s.list(schema.RuleOptimized, keys)
		return
	}
	s.out.Kinds[schema.RuleOptimized] = s.out.Kinds[schema.RuleBlocked] && s.out.Kinds[schema.RuleAllowed]
}

// unreadKinds marks a kind of rules as unread if not all rules of that kind were read.
func (s *sourceReader) unreadKinds() {
	for _, kind := range []struct {
		name string
		read bool
		keys []string
	}{
		{schema.RuleBlocked, s.out.Kinds[schema.RuleBlocked], s.names("blocked")},
		{schema.RuleAllowed, s.out.Kinds[schema.RuleAllowed], s.names("allowed")},
		{"bid_overrides", s.out.Kinds[schema.RuleBid], s.names("bid_overrides")},
	} {
		if kind.read {
			continue
		}
		s.miss(kind.name)
		if v, ok := s.value(kind.keys...); ok && v.Null() {
			s.Withheld = append(s.Withheld, kind.name)
		}
	}
}

// sourceMode returns the stored form of a mode, for example block_list for "Block List".
func (c *entityContext) sourceMode(v extract.Value) (string, error) {
	s, err := c.word(v)
	switch strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s)) {
	case "blocklist", "block":
		return blockList, err
	case "allowlist", "allow":
		return allowList, err
	}
	switch {
	case err == nil && !extract.IsToken(strings.ReplaceAll(s, " ", "_")):
		return "", fmt.Errorf("not a mode: %w", ErrForm)
	case err == nil:
		c.unnamed("source_mode", v)
	}
	return s, err
}

type sourceReader struct {
	reader
	c   SettingsContext
	out SourceRead
}

// lists reads the blocked and the allowed sources.
func (s *sourceReader) lists() {
	mode := s.out.Mode.SourceMode.V
	blockedKeys, allowedKeys := s.names("blocked"), s.names("allowed")
	s.out.Kinds[schema.RuleBlocked] = s.list(schema.RuleBlocked, blockedKeys)
	s.out.Kinds[schema.RuleAllowed] = s.list(schema.RuleAllowed, allowedKeys)
	switch one, ok := s.oneList(); {
	case s.hasValue(blockedKeys) || s.hasValue(allowedKeys) || !ok:
	case s.sorted(one):
	case mode == blockList:
		s.out.Kinds[schema.RuleBlocked] = s.add(schema.RuleBlocked, one)
	case mode == allowList:
		s.out.Kinds[schema.RuleAllowed] = s.add(schema.RuleAllowed, one)
	default:
		v, _ := s.value(s.names("one_list")...)
		s.refuse("rule", v, fmt.Errorf("a list of sources without a known mode: %w", ErrForm))
	}
	switch mode {
	case blockList: // the allowed list does not apply, so it may be null or missing
		if read := s.out.Kinds; read[schema.RuleBlocked] && !s.hasValue(allowedKeys) {
			read[schema.RuleAllowed] = true
		}
	case allowList:
		if read := s.out.Kinds; read[schema.RuleAllowed] && !s.hasValue(blockedKeys) {
			read[schema.RuleBlocked] = true
		}
	}
}

// hasValue reports whether one of the keys exists and is not null.
func (s *sourceReader) hasValue(keys []string) bool {
	v, _ := s.value(keys...)
	return !v.Null()
}

// oneList returns the list under a key of one_list. The key does not show whether the sources of the list are blocked
// or allowed. An object under such a key is not this list: it holds all source settings.
func (s *sourceReader) oneList() (entries []extract.Value, ok bool) {
	for _, key := range s.names("one_list") {
		if v, exists := s.value(key); exists {
			if entries, ok = v.Array(); ok {
				return entries, true
			}
		}
	}
	return nil, false
}

// sorted reads a list whose entries state whether they are blocked or allowed. If no entry states it, sorted reads
// nothing and returns false. If only some entries state it, neither kind counts as read.
func (s *sourceReader) sorted(entries []extract.Value) bool {
	if len(entries) == 0 {
		return false
	}
	kinds := map[string][]extract.Value{}
	for _, entry := range entries {
		fields, _ := entry.Object()
		v, _ := s.inside("sources", fields).value(s.names("kind")...)
		text, _ := v.Text()
		switch strings.TrimSuffix(strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(text)),
			"list") {
		case "blocked", "block":
			kinds[schema.RuleBlocked] = append(kinds[schema.RuleBlocked], entry)
		case "allowed", "allow":
			kinds[schema.RuleAllowed] = append(kinds[schema.RuleAllowed], entry)
		default:
			kinds[""] = append(kinds[""], entry)
		}
	}
	if len(kinds[""]) == len(entries) {
		return false
	}
	if unmarked := kinds[""]; len(unmarked) > 0 {
		s.refuse("rule", unmarked[0], ErrForm)
	}
	complete := len(kinds[""]) == 0
	s.out.Kinds[schema.RuleBlocked] = s.add(schema.RuleBlocked, kinds[schema.RuleBlocked]) && complete
	s.out.Kinds[schema.RuleAllowed] = s.add(schema.RuleAllowed, kinds[schema.RuleAllowed]) && complete
	return true
}

// list reads the sources of one kind of rule, and reports whether all of them were read.
func (s *sourceReader) list(rule string, keys []string) bool {
	v, _ := s.value(keys...)
	if v.Null() {
		return false
	}
	entries, ok := v.Array()
	if !ok {
		s.refuse(rule, v, ErrForm)
		return false
	}
	return s.add(rule, entries)
}

// add adds a rule for each entry, and reports whether it understood all entries. It skips an entry that it does not
// understand.
func (s *sourceReader) add(rule string, entries []extract.Value) (complete bool) {
	complete = true
	seen := map[string]bool{}
	for _, entry := range entries {
		id, err := s.source(entry)
		if err != nil {
			s.refuse(rule, entry, err)
			complete = false
			continue
		}
		if !seen[id] {
			seen[id] = true
			s.addRule(id, rule, schema.Null[schema.Money]{})
		}
	}
	return complete
}

// source returns the source ID of an entry.
func (s *sourceReader) source(entry extract.Value) (string, error) {
	v := entry
	if fields, ok := entry.Object(); ok {
		if v, ok = s.inside("sources", fields).value(s.service.Names("ids.source")...); !ok {
			return "", unknownKeys(fields)
		}
	}
	id, ok := extract.IDOf(v)
	if _, isText := v.Text(); !ok && !isText && !v.Null() {
		return "", ErrNotText
	}
	return s.sourceID(id)
}

// sourceID returns the given ID, or an error if it cannot be the ID of a source.
func (s *sourceReader) sourceID(id string) (string, error) {
	if !extract.IsID(id) {
		return "", fmt.Errorf("%.60q is not the ID of a source: %w", id, ErrForm)
	}
	return id, nil
}

// bids reads the bids of single sources.
func (s *sourceReader) bids() {
	v, _ := s.value(s.names("bid_overrides")...)
	if v.Null() {
		return
	}
	bids := map[string]schema.Null[schema.Money]{}
	refused := map[string]bool{} // sources whose bid was refused
	complete := true
	take := func(id string, entry extract.Value, err error) {
		var bid schema.Null[schema.Money]
		if err == nil {
			bid, err = s.bid(entry)
		}
		before, twice := bids[id]
		if err == nil && twice && before != bid {
			err = errTwoBids
		}
		if err != nil {
			s.refuse(schema.RuleBid, entry, err)
			complete, refused[id] = false, true
			return
		}
		bids[id] = bid
	}
	if entries, ok := v.Array(); ok {
		for _, entry := range entries {
			id, err := s.source(entry)
			if _, isObject := entry.Object(); err == nil && !isObject {
				err = ErrForm // an ID without a bid
			}
			take(id, entry, err)
		}
	} else if byID, ok := v.Object(); ok {
		for _, id := range slices.Sorted(maps.Keys(byID)) {
			_, err := s.sourceID(id)
			take(id, byID[id], err)
		}
	} else {
		s.refuse(schema.RuleBid, v, ErrForm)
		complete = false
	}
	s.out.Kinds[schema.RuleBid] = complete
	for id, bid := range bids {
		if !refused[id] {
			s.addRule(id, schema.RuleBid, bid)
		}
	}
}

// bid returns the bid of an entry. NULL: the bid is null in the reply.
func (s *sourceReader) bid(entry extract.Value) (amount schema.Null[schema.Money], err error) {
	price, err := s.priceIn(entry)
	if err != nil || price.Null() {
		return amount, err
	}
	if amount.V, err = bid(price); errors.Is(err, errBlank) {
		err = schema.ErrNotNumber
	}
	amount.Valid = err == nil
	return amount, err
}

// priceIn returns the JSON of the bid in an entry. If the entry is an object, the bid is a member of it, otherwise the
// bid is the entry itself.
func (s *sourceReader) priceIn(entry extract.Value) (extract.Value, error) {
	fields, ok := entry.Object()
	if !ok {
		return entry, nil
	}
	members := s.inside("sources", fields)
	v, ok := members.value(s.service.Names("currency.keys")...)
	if ok && extract.OtherCurrency(s.service, v) != "" {
		return nil, ErrCurrency
	}
	if v, ok := members.value(members.names("bid")...); ok {
		return v, nil
	}
	return nil, unknownKeys(fields)
}

func (s *sourceReader) addRule(source, rule string, bid schema.Null[schema.Money]) {
	s.out.Rules = append(s.out.Rules, schema.SourceRule{
		AccountID: s.c.Account, CampaignID: s.id, SourceID: source, Rule: rule, Bid: bid, RunID: s.c.RunID,
	})
}

// unknownKeys returns the error for an object that is not recognized, with its keys.
func unknownKeys(fields map[string]extract.Value) error {
	return fmt.Errorf("an object with the keys %s: %w", extract.Keys(fields), ErrForm)
}
