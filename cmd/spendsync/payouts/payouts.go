package payouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"spendsync/schema"
)

// MaxPayouts is how many lines the files of payouts may have.
const MaxPayouts = 100_000

// ofPayouts are the columns of payouts, under all the names that they may have.
var ofPayouts = map[string]string{
	"from": "from", "from_date": "from", "to": "to", "to_date": "to",
	"campaign": "campaign", "campaign_id": "campaign", "creative": "creative", "creative_id": "creative",
	"source": "source", "source_id": "source", "payout": "payout",
}

// payoutFiles are the files of payouts as far as they are read.
type payoutFiles struct {
	rows   []schema.Payout
	at     []string // where each is
	files  []string
	broken bool // a file that may be one of payouts could not be read
}

// all returns the payouts of all files; nil: there is no such file, or the stored payouts stand.
func (p *payoutFiles) all(r *reader) ([]schema.Payout, error) {
	if p.broken || len(p.files) == 0 {
		return nil, nil
	}
	where := strings.Join(p.files, ", ")
	if len(p.rows) == 0 {
		return nil, fmt.Errorf("%s: there is a heading and no line; a file without payouts ends none. To end one, "+
			"give it "+
			"a last day (to), or remove its line", where)
	}
	if twice := overlaps(p.rows, p.at); len(twice) > 0 {
		return nil, fmt.Errorf("%s: %s", where, list(twice))
	}
	unknown := map[string]bool{}
	future := 0
	for i := range p.rows {
		if id := p.rows[i].CampaignID; id != "" && r.Campaigns != nil && !r.Campaigns[id] {
			unknown[id] = true
		}
		if p.rows[i].FromDate > r.Today {
			future++
		}
	}
	if len(unknown) > 0 {
		r.own.Notes["payouts.unknown-campaign"] = fmt.Sprintf("%s: the account has no campaign %s; its payouts "+
			"count for "+
			"nothing", where, some(unknown))
	}
	if future > 0 {
		r.own.Said = append(r.own.Said, fmt.Sprintf("payouts that begin on a day to come: %d", future))
	}
	return p.rows, nil
}

// list names problems, the first of many.
func list(problems []string) string {
	const shown = 20
	if len(problems) > shown {
		problems = append(problems[:shown:shown], fmt.Sprintf("and %d more", len(problems)-shown))
	}
	return strings.Join(problems, "; ")
}

// heading returns the file's columns by our names. An unknown name is refused: it may be a misspelling, and its values
// would be left out.
func heading(names []string) ([]string, error) {
	const form = "a file of payouts has the columns from, to, campaign, creative, source, payout, and a tracker's " +
		"export " +
		"a column of days"
	var known []string
	for _, n := range names {
		c := ofPayouts[plain(n)]
		switch {
		case c == "":
			return nil, fmt.Errorf("the column %q is none of from, to, campaign, creative, source, payout (%s)", n,
				form)
		case slices.Contains(known, c):
			return nil, fmt.Errorf("the column %s is there twice", c)
		}
		known = append(known, c)
	}
	for _, needed := range []string{"from", "payout"} {
		if !slices.Contains(known, needed) {
			return nil, fmt.Errorf("there is no column %s; %s", needed, form)
		}
	}
	return known, nil
}

// read reads the columns from, to, campaign, creative, source and payout, in any order; only from and payout must be
// there. Of a line, to may be empty, and it names a campaign or a creative, a source, or both, or nothing for all
// conversions. The error names each bad line.
func (p *payoutFiles) read(ctx context.Context, r *reader, f *file) error {
	names, err := heading(f.names)
	if err != nil {
		return err
	}
	var lines [][]string
	var numbers marks
	days := map[string]string{}
	for cells, err := range r.db.Rows(ctx, f.from) {
		if err != nil {
			return errors.New(firstLine(err.Error()))
		}
		if len(lines)+len(p.rows) == MaxPayouts {
			return fmt.Errorf("it has more than %d lines: payouts have at most so many", MaxPayouts)
		}
		cells = slices.Clone(cells)
		for i, c := range cells {
			cells[i] = strings.TrimSpace(c)
			place := f.place(len(lines) + 1)
			switch names[i] {
			case "payout":
				numbers.add(cells[i], fmt.Sprintf("%s, column %s: %q", place, f.names[i], c), false)
			case "from", "to":
				if cells[i] != "" && days[cells[i]] == "" {
					days[cells[i]] = place
				}
			}
		}
		lines = append(lines, cells)
	}
	if err := r.readRejects(ctx, f, func(n int, line, why string) {
		err = errors.Join(err, fmt.Errorf("line %d: %s", n, why))
	}); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	decimal, err := r.decide(&numbers)
	if err != nil {
		return err
	}
	dates, err := readDays(days, r.Format.DayOrder)
	if err != nil {
		return err
	}
	var problems []string
	for n, cells := range lines {
		l := map[string]string{}
		for i, name := range names {
			l[name] = cells[i]
		}
		row, wrong := payoutOf(l, dates, decimal)
		place := f.place(n + 1)
		for _, w := range wrong {
			problems = append(problems, place+": "+w)
		}
		p.rows, p.at = append(p.rows, row), append(p.at, place)
	}
	if len(problems) > 0 {
		return errors.New(list(problems))
	}
	p.files = append(p.files, f.path)
	return nil
}

// decide returns the decimal mark of a file.
func (r *reader) decide(numbers *marks) (string, error) {
	if r.Format.Decimal != "" {
		return r.Format.Decimal, nil
	}
	mark, err := numbers.decide()
	if err == nil && mark == "" && numbers.ambiguous != "" {
		err = fmt.Errorf("%s may be %s or %s, and no other number of the file decides; set %s=decimal=. or decimal=,",
			numbers.ambiguous, numbers.two[0], numbers.two[1], FormatVariable)
	}
	return cmp.Or(mark, "."), err
}

// payoutOf is one line of payouts, and what is wrong with it.
func payoutOf(l map[string]string, dates days, decimal string) (row schema.Payout, wrong []string) {
	refuse := func(err error) {
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	day := func(column string) schema.Date {
		if d, ok := dates.of[l[column]]; ok {
			return d
		}
		err := dates.wrong[l[column]]
		if err == nil {
			err = errors.New(`"" is not a day, for example 2026-11-20`)
		}
		refuse(fmt.Errorf("%s %w", column, err))
		return 0
	}
	row = schema.Payout{CampaignID: l["campaign"], CreativeID: l["creative"], SourceID: l["source"],
		FromDate: day("from")}
	if l["to"] != "" {
		row.ToDate = schema.Some(day("to"))
	}
	if row.ToDate.Valid && wrong == nil && row.ToDate.V < row.FromDate {
		refuse(fmt.Errorf("to %s is before from %s", row.ToDate.V, row.FromDate))
	}
	m, err := money("payout", l["payout"], decimal)
	if err == nil && (m < 0 || m > maxPayout) {
		err = fmt.Errorf("payout %q is below 0 or above %s", l["payout"], maxPayout)
	}
	refuse(err)
	row.Payout = schema.Some(m)
	if row.CampaignID != "" && row.CreativeID != "" {
		refuse(fmt.Errorf("campaign %q and creative %q are both named: a creative is of one campaign, so name it alone",
			row.CampaignID, row.CreativeID))
	}
	return row, wrong
}

// maxPayout is 999,999,999,999 dollars.
const maxPayout schema.Money = 999_999_999_999_000_000

// overlaps are the lines about the same that hold on the same day: which of them counts?
func overlaps(rows []schema.Payout, at []string) (problems []string) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &rows[i], &rows[j]
		return cmp.Or(cmp.Compare(a.CampaignID, b.CampaignID), cmp.Compare(a.CreativeID, b.CreativeID),
			cmp.Compare(a.SourceID, b.SourceID), cmp.Compare(a.FromDate, b.FromDate))
	})
	for n := 1; n < len(order); n++ {
		a, b := &rows[order[n-1]], &rows[order[n]]
		if a.CampaignID == b.CampaignID && a.CreativeID == b.CreativeID && a.SourceID == b.SourceID &&
			(!a.ToDate.Valid || a.ToDate.V >= b.FromDate) {
			problems = append(problems, fmt.Sprintf("%s and %s are about the same and both hold on %s", at[order[n-1]],
				at[order[n]], b.FromDate))
		}
	}
	return problems
}
