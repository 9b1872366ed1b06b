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
	"spendsync/schema"
)

// errTwice reports that one kind of change has two budgets.
var errTwice = errors.New("there twice")

// Account makes a row of the balance and rows of the limits, seen at seenAt. It returns the account that the key acts
// on, and whether the key can make changes. Limits and balance may be zero Entities if they were not read; me may not.
//
// The description names the facts of the three replies but hardly a field, so each is searched under these keys. The
// first one found counts, and the raw column has them all:
//
//   - The account: advertiser_id, account_id, advertiser_account_id, or advertiser,
//     advertiser_account or account, which may be an object with one of these or an
//     id. It is a text or a whole number, and may lie within key, api_key or
//     key_info. A bare id could be the key's own and is not taken. Where none is
//     found the reply is refused, and the error names its keys.
//   - Whether the key can make changes: can_make_changes, can_write, can_change,
//     writable or write, true or false; read_only, the reverse; scope, scopes or
//     permissions, texts of which one speaks of write or all of read.
//   - balance: available_balance, balance_available, available, balance,
//     current_balance or amount; directly, or within balance, available_balance or
//     funds. It may be negative.
//   - average_daily_spend, avg_daily_spend, either with _7d or _last_7_days,
//     daily_spend_average, average_spend. days_left, days_remaining,
//     days_of_balance, estimated_days_left, balance_days_left. payment_mode,
//     payment_method, payment_type, funding_mode. status, balance_status. message,
//     balance_message, status_message.
//   - The limits: a list under limits, daily_limits, change_limits, budgets, data or
//     items, or a map there or of the whole reply. A limit has kind, type, name,
//     action or change, or that is its key in the map; used, used_today, count or
//     current; limit, allowed, max, maximum, budget or total; resets_at, reset_at,
//     reset_time, resets or reset, or that of the whole reply. Where used is
//     missing and remaining is there, it is the difference.
//
// What null and a missing key mean:
//
//	field                         null            missing
//	balance, average_daily_spend  NULL            unread
//	payment_mode, days_left       NULL            unread
//	balance_status, message       NULL            NULL: there when funds are needed
//	used, allowed, resets_at      NULL            NULL: not limited or not stated
//	can make changes              NULL            NULL, and can_write is unread
//
// Payment mode and status are in lower case; other texts are as they were
// sent. Any other value is refused and its column unread, and so is a limit without any of
// the numbers. The three replies stand each for itself: what is not understood of one keeps
// no other back, and the raw column has all.
func Account(me, limits, balance extract.Entity, seenAt schema.Instant, c SettingsContext) AccountRead {
	key := newAccountReader()
	out := AccountRead{Ref: key.account(me), CanWrite: key.canWrite(me)}
	out.Key = key.Decoded
	a := newAccountReader()
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

// AccountRead is the content of the three replies about the account.
type AccountRead struct {
	Snapshot schema.AccountSnapshot
	Limits   []schema.AccountLimit
	Decoded  // of the two

	Ref      string            // the account that the key acts on; empty if the reply does not name it
	CanWrite schema.Null[bool] // whether the key can make changes
	Key      Decoded           // of these two
}

func orNull(e extract.Entity) string { return cmp.Or(string(e.Raw), "null") }

type accountReader struct {
	*entityContext
	c      SettingsContext
	seenAt schema.Instant
}

func newAccountReader() *accountReader {
	return &accountReader{entityContext: &entityContext{table: schema.AccountSnapshots.Name, intern: NewInterner()}}
}

// inside reads the members of an object of a reply.
func (a *accountReader) inside(fields map[string]extract.Value) reader {
	return reader{entityContext: a.entityContext}.inside(fields)
}

// spread reads an entity whose values may be inside objects of these names. Values inside count first: values of the
// same name next to the object may be unrelated.
func (a *accountReader) spread(e extract.Entity, names ...string) reader {
	outer := maps.Clone(e.Fields)
	r := reader{entityContext: a.entityContext}
	for _, name := range names {
		if inner, ok := outer[name].Fields(); ok {
			r.from = append(r.from, inner)
			delete(outer, name) // it is an object, not a value
		}
	}
	r.from = append(r.from, outer)
	return r
}

func (a *accountReader) keyInfo(me extract.Entity) reader {
	return a.spread(me, "key_info", "api_key", "key")
}

// account is the account that the key acts on.
func (a *accountReader) account(me extract.Entity) string {
	ids := []string{"advertiser_id", "account_id", "advertiser_account_id"}
	owners := []string{"advertiser", "advertiser_account", "account"}
	r := a.keyInfo(me)
	for _, fields := range r.from {
		for _, key := range slices.Concat(ids, owners) {
			v := fields[key]
			if v != nil {
				a.Read = append(a.Read, key)
			}
			if inner, ok := v.Fields(); ok {
				v, _ = a.inside(inner).value("", append(ids, "id")...)
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

// accountID is a text, or a number that is written as one.
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

// balance is the account's money, without the raw replies.
func (a *accountReader) balance(e extract.Entity) schema.AccountSnapshot {
	r := a.spread(e, "balance", "available_balance", "funds")
	said := optional
	if e.Raw == nil {
		said = needed // and never found
	}
	snap := schema.AccountSnapshot{
		AccountID: a.c.Account, SeenAt: a.seenAt,
		Balance: read(r, needed, money, "balance",
			"available_balance", "balance_available", "available", "balance", "current_balance", "amount"),
		PaymentMode: read(r, needed, r.lower, "payment_mode", "payment_mode", "payment_method", "payment_type",
			"funding_mode"),
		AverageDailySpend: read(r, needed, money, "average_daily_spend",
			"average_daily_spend", "average_daily_spend_7d", "average_daily_spend_last_7_days",
			"avg_daily_spend", "avg_daily_spend_7d", "avg_daily_spend_last_7_days", "daily_spend_average",
			"average_spend"),
		DaysLeft: read(r, needed, money, "days_left",
			"days_left", "days_remaining", "days_of_balance", "estimated_days_left", "balance_days_left"),
		BalanceStatus: read(r, said, r.lower, "balance_status", "status", "balance_status"),
		Message:       read(r, said, r.text, "message", "message", "balance_message", "status_message"),
		RunID:         a.c.RunID,
	}
	r.autoFunding(&snap)
	return snap
}

var (
	limitListKeys = []string{"limits", "daily_limits", "change_limits", "budgets", "data", "items"}
	limitKindKeys = []string{"kind", "type", "name", "action", "change"}
	limitUsedKeys = []string{"used", "used_today", "count", "current"}
	limitMostKeys = []string{"limit", "allowed", "max", "maximum", "budget", "total"}
	limitLeftKeys = []string{"remaining", "left"}
	limitEndsKeys = []string{"resets_at", "reset_at", "reset_time", "resets", "reset"}
)

// limits are the budgets, in the order of their kinds.
func (a *accountReader) limits(e extract.Entity) (lims []schema.AccountLimit) {
	around := a.inside(e.Fields)
	if v, ok := around.value("", limitListKeys...); ok {
		if wrapped, ok := v.Fields(); ok {
			if inner, ok := a.inside(wrapped).value("", limitListKeys...); ok && inner[0] != '"' &&
				len(wrapped[limitListKeys[0]]) > 0 {
				v = inner // in an envelope of the same name
			}
		}
		if inner, ok := v.Object(); ok {
			around.from = []map[string]extract.Value{inner, e.Fields}
			if lims = a.limitMap(around, inner); len(lims) == 0 && len(inner) > 0 {
				a.refuse("kind", nil, unknownKeys(inner))
			}
		} else if list, ok := v.Array(); ok {
			lims = a.limitList(around, list)
		} else {
			a.refuse("kind", v, ErrForm)
		}
	} else if lims = a.limitMap(around, byKind(e.Fields)); len(lims) == 0 {
		a.refuse("kind", nil, unknownKeys(e.Fields))
	}
	slices.SortFunc(lims, func(x, y schema.AccountLimit) int { return cmp.Compare(x.LimitKind, y.LimitKind) })
	return a.withoutTwins(lims)
}

// withoutTwins leaves out kinds with two budgets: it is unknown which one counts.
func (a *accountReader) withoutTwins(lims []schema.AccountLimit) []schema.AccountLimit {
	times := map[string]int{}
	for _, l := range lims {
		if times[l.LimitKind]++; times[l.LimitKind] == 2 {
			a.refuse("kind", extract.Value(l.LimitKind), errTwice)
		}
	}
	return slices.DeleteFunc(lims, func(l schema.AccountLimit) bool { return times[l.LimitKind] > 1 })
}

// limitMap reads the members that are objects; others are about all of them.
func (a *accountReader) limitMap(around reader, byKind map[string]extract.Value) (lims []schema.AccountLimit) {
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		if fields, ok := byKind[kind].Fields(); ok {
			lims = a.appendLimit(lims, around, kind, fields)
		}
	}
	return lims
}

// byKind groups members such as campaign_create_used and campaign_create_limit by their prefix, if both exist.
func byKind(fields map[string]extract.Value) map[string]extract.Value {
	kinds := maps.Clone(fields)
	for key, used := range fields {
		kind, ok := strings.CutSuffix(key, "_used")
		if most, both := fields[kind+"_limit"]; ok && both {
			kinds[kind] = slices.Concat(extract.Value(`{"used":`), used, extract.Value(`,"limit":`), most,
				extract.Value("}"))
		}
	}
	return kinds
}

func (a *accountReader) limitList(around reader, list []extract.Value) (lims []schema.AccountLimit) {
	for _, v := range list {
		fields, ok := v.Fields()
		if !ok {
			a.refuse("kind", v, ErrForm)
			continue
		}
		r := a.inside(fields)
		kind := read(r, optional, r.intern.id, "kind", limitKindKeys...)
		if kind.V == "" {
			a.refuse("kind", nil, unknownKeys(fields))
			continue
		}
		lims = a.appendLimit(lims, around, kind.V, fields)
	}
	return lims
}

// appendLimit appends one budget, unless it is not understood.
func (a *accountReader) appendLimit(
	lims []schema.AccountLimit, around reader, kind string, fields map[string]extract.Value,
) []schema.AccountLimit {
	r := a.inside(fields)
	switch {
	case len(kind) > maxID || strings.ContainsFunc(kind, unicode.IsControl):
		a.refuse("kind", extract.Value(kind), ErrControl)
		return lims
	case !r.has(limitUsedKeys) && !r.has(limitMostKeys) && !r.has(limitLeftKeys):
		a.refuse("kind", extract.Value(kind), unknownKeys(fields))
		return lims
	}
	l := schema.AccountLimit{
		AccountID: a.c.Account, SeenAt: a.seenAt, LimitKind: kind, RunID: a.c.RunID,
		Used:    read(r, optional, whole, "used", limitUsedKeys...),
		Allowed: read(r, optional, whole, "allowed", limitMostKeys...),
	}
	left := read(r, optional, whole, "used", limitLeftKeys...)
	if !r.has(limitUsedKeys) && left.Valid && l.Allowed.Valid {
		l.Used = schema.Some(max(0, l.Allowed.V-left.V))
	}
	if r.has(limitEndsKeys) {
		around = r
	}
	l.ResetsAt = read(around, optional, r.instant, "resets_at", limitEndsKeys...)
	return append(lims, l)
}
