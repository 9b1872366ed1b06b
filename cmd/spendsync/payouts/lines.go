package payouts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"spendsync/schema"
)

// readPayouts reads the columns from, to, campaign, creative, source and payout, in any order; only from and payout
// must be there. Of a line, to may be empty, and it names a campaign or a creative, a source, or both, or nothing for
// all conversions. The error names each bad line.
func (r *reader) readPayouts(ctx context.Context, f *file) error {
	var problems []string
	if err := r.readRejects(ctx, f, func(n int, _, why string) {
		problems = append(problems, fmt.Sprintf("line %d: %s", n, why))
	}); err != nil {
		return err
	}
	from, err := r.readCells(ctx, f, payoutColumns)
	if err != nil {
		return err
	}
	of := map[string]column{}
	for _, c := range payoutColumns {
		of[c.name] = c
	}
	for row, err := range r.db.Rows(ctx, fmt.Sprintf(`SELECT n, why FROM (SELECT c.n, unnest([
			'from ' || %s,
			CASE WHEN c."to" <> '' THEN 'to ' || %s END,
			CASE WHEN to_of.day < from_of.day THEN format('to {} is before from {}', to_of.day, from_of.day) END,
			CASE WHEN c.payout = '' THEN 'payout "" is not an amount in US dollars' ELSE 'payout ' || %s END,
			CASE WHEN %[4]s NOT BETWEEN 0 AND 999999999999 THEN format('payout "{}" is below 0 or above 999999999999',
				shown(c.payout)) END,
			CASE WHEN c.campaign <> '' AND c.creative <> '' THEN format('campaign "{}" and creative "{}" are both '
				'named: a creative is of one campaign, so name it alone', c.campaign, c.creative) END]) AS why
		FROM %[5]s) WHERE why IS NOT NULL ORDER BY n, why`, f.wrong(of["from"]), f.wrong(of["to"]),
		f.wrong(of["payout"]), f.readCell(of["payout"]), from)) {
		if err != nil {
			return err
		}
		problems = append(problems, f.placeOf(row[0])+": "+row[1])
	}
	if len(problems) > 0 {
		return errors.New(list(problems))
	}
	return r.db.Exec(ctx, fmt.Sprintf(`INSERT INTO payout SELECT %d, c.n, from_of.day, to_of.day, c.campaign,
		c.creative, c.source, %s FROM %s`, f.id, f.readCell(of["payout"]), from))
}

// takePayouts takes the payouts of all files, unless one of them could not be read.
func (r *reader) takePayouts(ctx context.Context) error {
	var files []string
	for _, id := range slices.Sorted(maps.Keys(r.files)) {
		if f := r.files[id]; !f.isExport {
			files = append(files, f.path)
		}
	}
	if r.isBroken || len(files) == 0 {
		return nil
	}
	where := strings.Join(files, ", ")
	var rows []schema.Payout
	for row, err := range r.db.Rows(ctx, fmt.Sprintf(`SELECT "from", coalesce("to", DATE '1970-01-01'), "to" IS NULL,
		campaign, creative, source, payout FROM payout ORDER BY file, n LIMIT %d`, maxPayouts+1)) {
		if err != nil {
			return err
		}
		from, err := schema.ParseDate(row[0])
		to, wrong := schema.ParseDate(row[1])
		m, _, odd := schema.ParseMoney([]byte(row[6]))
		if err = errors.Join(err, wrong, odd); err != nil {
			return err
		}
		p := schema.Payout{FromDate: from, CampaignID: strings.Clone(row[3]), CreativeID: strings.Clone(row[4]),
			SourceID: strings.Clone(row[5]), Payout: schema.Some(m)}
		if row[2] == "false" {
			p.ToDate = schema.Some(to)
		}
		rows = append(rows, p)
	}
	twice, err := r.overlaps(ctx)
	var wrong string
	switch {
	case err != nil:
		return err
	case len(rows) == 0:
		wrong = "there is a heading and no line; a file without payouts ends none. To end one, give it a last day " +
			"(to), or remove its line"
	case len(rows) > maxPayouts:
		wrong = fmt.Sprintf("more than %d lines, which is the limit for payouts", maxPayouts)
	case len(twice) > 0:
		wrong = list(twice)
	default:
		r.own.Payouts = rows
		r.sayOfPayouts(where)
		return nil
	}
	r.own.fail("%s: %s", where, wrong)
	return nil
}

// overlaps are the lines about the same that hold on the same day: which of them counts?
func (r *reader) overlaps(ctx context.Context) (twice []string, err error) {
	place := func(file, n string) string {
		id, _ := strconv.Atoi(file)
		return r.files[id].placeOf(n)
	}
	for row, err := range r.db.Rows(ctx, `SELECT file, n, other.file, other.n, "from" FROM (
		SELECT *, lag({'file': file, 'n': n, 'to': "to"}) OVER (PARTITION BY campaign, creative, source
			ORDER BY "from", file, n) AS other FROM payout)
		WHERE other IS NOT NULL AND coalesce(other.to, DATE '9999-12-31') >= "from" ORDER BY ALL`) {
		if err != nil {
			return nil, err
		}
		twice = append(twice, fmt.Sprintf("%s and %s are about the same and both hold on %s", place(row[2], row[3]),
			place(row[0], row[1]), row[4]))
	}
	return twice, nil
}

// sayOfPayouts notes payouts of campaigns that the account does not have, and says how many are of days to come.
func (r *reader) sayOfPayouts(where string) {
	unknown, future := map[string]bool{}, 0
	for _, p := range r.own.Payouts {
		if p.CampaignID != "" && r.Campaigns != nil && !r.Campaigns[p.CampaignID] {
			unknown[p.CampaignID] = true
		}
		if p.FromDate > r.Today {
			future++
		}
	}
	if len(unknown) > 0 {
		r.own.Notes["payouts.unknown-campaign"] = fmt.Sprintf("%s: the account has no campaign %s; its payouts count "+
			"for nothing", where, some(unknown))
	}
	if future > 0 {
		r.own.say("payouts that begin on a day to come: %d", future)
	}
}

// some names IDs, the first of many.
func some(ids map[string]bool) string {
	const shown = 3
	names := slices.Sorted(maps.Keys(ids))
	if len(names) > shown {
		names = append(names[:shown:shown], fmt.Sprintf("and %d more", len(names)-shown))
	}
	return strings.Join(names, ", ")
}
