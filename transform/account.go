package transform

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

// errTwice reports that the reply has two budgets of the same kind.
var errTwice = errors.New("there twice")

// Account makes a row of the balance and rows of the limits, seen at seenAt. It also returns the account that the API
// key acts on, and whether the API key can make changes. The reply me is required. If the reply limits or balance was
// not read, it is a zero Entity.
//
// The service's description lists the facts of the three replies but names few of their keys. So each value is looked
// up under the keys that the sections me, balance and limits of service.yaml list; the first key that exists counts:
//
//   - The account is a text or a whole number under a key that me.account or me.owner lists. Or there is an object
//     under that key, which has the account under one of these keys or under id. All of this may be within an object
//     under a key of me.parts. A bare id in the reply is not used, because it may be the API key's own. If no account
//     is found, the reply is refused, and the error lists its keys.
//   - Whether the API key can make changes: a boolean under can_write; the reverse under read_only; or texts under
//     scope: yes if one contains write, else no if one contains read.
//   - The balance and the facts about it are in the reply or within an object under a key of balance.parts. The balance
//     may be negative.
//   - The limits are a list or a map under a key of limits.lists, or a list within an object under such a key; or the
//     reply itself is the map. The kind of a limit is under limits.kind, or is its key in the map. The time of its
//     reset may be given once for the whole reply. If a limit has no key for used, but allowed and left are known, the
//     column used is their difference, at least 0.
//
// The meaning of null and of a missing key:
//
//	field                         null            missing
//	balance, average_daily_spend  NULL            unread
//	payment_mode, days_left       NULL            unread
//	balance_status, message       NULL            NULL: present only when funds are needed
//	used, allowed, resets_at      NULL            NULL: not limited or not stated
//	can make changes              NULL            NULL, and can_write is unread
//
// Payment mode and status are in lower case; other texts are as received. Any other value is refused and its column is
// unread. A limit without any number is refused. An error in one of the three replies does not affect the values of
// another. The raw column has all three replies.
func Account(me, limits, balance extract.Entity, seenAt schema.Instant, c SettingsContext) AccountRead {
	key := newAccountReader(c.Service)
	out := AccountRead{Ref: key.account(me), CanWrite: key.canWrite(me)}
	out.Key = key.Decoded
	a := newAccountReader(c.Service)
	a.c, a.seenAt = c, seenAt
	out.Snapshot = a.balance(balance)
	out.Snapshot.AdvertiserID = schema.Null[string]{V: out.Ref, Valid: out.Ref != ""}
	if limits.Raw != nil {
		a.table = schema.AccountLimits.Name
		out.Limits = a.limits(limits)
	}
	out.Snapshot.Raw = schema.Some(fmt.Sprintf(`{"me":%s,"limits":%s,"balance":%s}`, orNull(me), orNull(limits),
		orNull(balance)))
	out.Decoded = a.Decoded
	return out
}

// AccountRead is the decoded content of the three replies about the account.
type AccountRead struct {
	Snapshot schema.AccountSnapshot
	Limits   []schema.AccountLimit
	Decoded  // which fields of Snapshot and Limits were read, refused or not set

	Ref      string            // the account that the API key acts on; empty: the reply names none
	CanWrite schema.Null[bool] // whether the API key can make changes
	Key      Decoded           // whether Ref and CanWrite were read or refused
}

func orNull(e extract.Entity) string { return cmp.Or(string(e.Raw), "null") }

type accountReader struct {
	*entityContext
	c      SettingsContext
	seenAt schema.Instant
}

func newAccountReader(s *service.Service) *accountReader {
	return &accountReader{entityContext: &entityContext{table: schema.AccountSnapshots.Name, intern: NewInterner(),
		service: s}}
}

// inside returns a reader of an object within a reply. It finds keys by the names in a section of the service file.
func (a *accountReader) inside(section string, fields map[string]extract.Value) reader {
	return reader{entityContext: a.entityContext}.inside(section, fields)
}

// spread returns a reader of an entity that finds keys by the names in a section of the service file. The section's
// line "parts" lists keys of inner objects. The reader looks in these objects first and then in the entity itself,
// because a key next to an inner object may mean something else.
func (a *accountReader) spread(section string, e extract.Entity) reader {
	outer := maps.Clone(e.Fields)
	r := reader{entityContext: a.entityContext, section: section}
	for _, name := range r.names("parts") {
		if inner, ok := outer[name].Object(); ok {
			r.from = append(r.from, inner)
			delete(outer, name) // an object, not a value
		}
	}
	r.from = append(r.from, outer)
	return r
}

func (a *accountReader) keyInfo(me extract.Entity) reader {
	return a.spread("me", me)
}

// account returns the account that the API key acts on. If the reply names no valid account, it records the refusal and
// returns "".
func (a *accountReader) account(me extract.Entity) string {
	r := a.keyInfo(me)
	ids, owners := r.names("account"), r.names("owner")
	for _, fields := range r.from {
		for _, key := range slices.Concat(ids, owners) {
			v := fields[key]
			if v != nil {
				a.Read = append(a.Read, key)
			}
			if inner, ok := v.Object(); ok {
				v, _ = a.inside("me", inner).value(slices.Concat(ids, []string{"id"})...)
			}
			if v.Null() {
				continue
			}
			id, err := a.accountID(v)
			if err != nil {
				a.refuse(key, v, err)
				return ""
			}
			return id
		}
	}
	a.refuse("account", nil, unknownKeys(me.Fields))
	return ""
}

// accountID returns the ID in a text or a number.
func (a *accountReader) accountID(v extract.Value) (string, error) {
	if strings.Trim(string(v), "0123456789") == "" {
		return string(v), nil
	}
	id, err := a.intern.id(v)
	if err == nil && id == "" {
		err = ErrMissing
	}
	return id, err
}

// nameMissing records a column as refused if the reply has no known key for it. The error lists the keys of the reply,
// and names the line of the service file in which the operator can add another key.
func (a *accountReader) nameMissing(e extract.Entity, section string, columns ...string) {
	r := a.spread(section, e)
	for _, column := range columns {
		if !r.has(r.names(column)) {
			a.refuse(column, nil, fmt.Errorf("%w: the keys are %s; another name is a line %s.%s of "+
				"SPENDSYNC_SERVICE_FILE", ErrMissing, extract.Keys(e.Fields), section, column))
		}
	}
}

// balance returns the account's money, without the columns advertiser_id and raw.
func (a *accountReader) balance(e extract.Entity) schema.AccountSnapshot {
	r := a.spread("balance", e)
	statusAbsence := optional
	if e.Raw == nil {
		statusAbsence = needed // the reply was not read, so a missing key means unread, not NULL
	}
	snap := schema.AccountSnapshot{
		AccountID: a.c.Account, SeenAt: a.seenAt,
		Balance:           read(r, needed, money, "balance"),
		PaymentMode:       read(r, needed, r.lower, "payment_mode"),
		AverageDailySpend: read(r, needed, money, "average_daily_spend"),
		DaysLeft:          read(r, needed, money, "days_left"),
		BalanceStatus:     read(r, statusAbsence, r.lower, "balance_status", "status"),
		Message:           read(r, statusAbsence, r.text, "message"),
		RunID:             a.c.RunID,
	}
	if e.Raw != nil {
		a.nameMissing(e, "balance", "average_daily_spend")
	}
	r.autoFunding(&snap)
	if none := (schema.Null[schema.Money]{}); r.foreign("balance", "average_daily_spend") {
		snap.Balance, snap.AverageDailySpend, snap.AutoFundingThreshold, snap.AutoFundingAmount = none, none, none, none
		r.forgetUnset("balance", "average_daily_spend")
	}
	return snap
}

// limits returns the budgets, sorted by kind.
func (a *accountReader) limits(e extract.Entity) (lims []schema.AccountLimit) {
	around := a.inside("limits", e.Fields)
	lists, budgets := around.names("lists"), e.Fields
	v, isNamed := around.value(lists...)
	if inner, ok := v.Object(); ok { // the map of budgets, or the object that contains the list
		budgets, around.from = inner, []map[string]extract.Value{inner, e.Fields}
		within, _ := a.inside("limits", inner).value(lists...)
		if _, isNamed = within.Array(); isNamed {
			v = within
		}
	}
	if list, ok := v.Array(); ok {
		lims = a.limitList(around, list)
	} else if isNamed {
		a.refuse("kind", v, ErrForm)
	} else if lims = a.limitMap(around, budgets); len(lims) == 0 && (len(budgets) > 0 || v == nil) {
		a.refuse("kind", nil, unknownKeys(budgets))
	}
	slices.SortFunc(lims, func(x, y schema.AccountLimit) int { return cmp.Compare(x.LimitKind, y.LimitKind) })
	return a.withoutTwins(lims)
}

// withoutTwins removes the limits of each kind that comes more than once, because it is unknown which of them applies.
func (a *accountReader) withoutTwins(lims []schema.AccountLimit) []schema.AccountLimit {
	times := map[string]int{}
	for _, l := range lims {
		if times[l.LimitKind]++; times[l.LimitKind] == 2 {
			a.refuse("kind", extract.Value(l.LimitKind), errTwice)
		}
	}
	return slices.DeleteFunc(lims, func(l schema.AccountLimit) bool { return times[l.LimitKind] > 1 })
}

// limitMap reads the budgets of a map: each member that is an object is one budget. Other members, for example the time
// of the reset, apply to all budgets.
func (a *accountReader) limitMap(around reader, byKind map[string]extract.Value) (lims []schema.AccountLimit) {
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		if fields, ok := byKind[kind].Object(); ok {
			lims = a.appendLimit(lims, around, kind, fields)
		}
	}
	return lims
}

func (a *accountReader) limitList(around reader, list []extract.Value) (lims []schema.AccountLimit) {
	for _, v := range list {
		fields, ok := v.Object()
		if !ok {
			a.refuse("kind", v, ErrForm)
			continue
		}
		r := a.inside("limits", fields)
		kind := read(r, optional, r.intern.id, "kind")
		if kind.V == "" {
			a.refuse("kind", nil, unknownKeys(fields))
			continue
		}
		lims = a.appendLimit(lims, around, kind.V, fields)
	}
	return lims
}

// appendLimit appends one budget. It refuses a budget with an invalid kind or without any number.
func (a *accountReader) appendLimit(
	lims []schema.AccountLimit, around reader, kind string, fields map[string]extract.Value,
) []schema.AccountLimit {
	r := a.inside("limits", fields)
	usedKeys, leftKeys := r.names("used"), r.names("left")
	switch {
	case len(kind) > maxID || strings.ContainsFunc(kind, unicode.IsControl):
		a.refuse("kind", extract.Value(kind), ErrControl)
		return lims
	case !r.has(usedKeys) && !r.has(r.names("allowed")) && !r.has(leftKeys):
		a.refuse("kind", extract.Value(kind), unknownKeys(fields))
		return lims
	}
	l := schema.AccountLimit{
		AccountID: a.c.Account, SeenAt: a.seenAt, LimitKind: kind, RunID: a.c.RunID,
		Used:    read(r, optional, wholeNumber, "used"),
		Allowed: read(r, optional, wholeNumber, "allowed"),
	}
	left := read(r, optional, wholeNumber, "used", "left")
	if !r.has(usedKeys) && left.Valid && l.Allowed.Valid {
		l.Used = schema.Some(max(0, l.Allowed.V-left.V))
	}
	if r.has(r.names("resets_at")) {
		around = r
	}
	l.ResetsAt = read(around, optional, r.instant, "resets_at")
	return append(lims, l)
}
