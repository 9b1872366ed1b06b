package payouts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"spendsync/cmd/internal/files"
	"spendsync/schema"
)

// maxSize exceeds any list of payouts: a wrong path must not fill memory.
const maxSize = 64 << 20

// Limits for the unpacked size of a Parquet file of payouts.
const (
	maxRows     = 1 << 20
	maxUnpacked = 256 << 20
)

// Read reads a file of payouts: Parquet, or CSV with a heading. Both have the columns
// from, to, campaign, creative, source and payout, in any order; only from and payout must
// be there. Of a line, to may be empty, and it names a campaign or a creative, a source, or
// both, or nothing for all conversions.
func Read(path string) ([]schema.Payout, error) {
	f, size, err := files.Open(path, maxSize)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	magic := make([]byte, 4)
	_, err = f.ReadAt(magic, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var lines []line
	if string(magic) == "PAR1" {
		lines, err = readParquet(f, size)
	} else {
		lines, err = readCSV(io.NewSectionReader(f, 0, size))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	rows, problems := parse(lines)
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", path, list(problems))
	}
	return rows, nil
}

// list names problems, the first of many.
func list(problems []string) string {
	const shown = 20
	if len(problems) > shown {
		problems = append(problems[:shown:shown], fmt.Sprintf("and %d more", len(problems)-shown))
	}
	return strings.Join(problems, "; ")
}

// line is one line of the file, its values by column.
type line struct {
	at     string // "line 3", "row 2"
	values map[string]string
}

// columns are those of the file, under all the names that they may have.
var columns = map[string]string{
	"from": "from", "from_date": "from", "to": "to", "to_date": "to",
	"campaign": "campaign", "campaign_id": "campaign", "creative": "creative", "creative_id": "creative",
	"source": "source", "source_id": "source", "payout": "payout",
}

// heading returns the file's columns by their own names. An unknown name is refused: it may be a
// misspelling, and its values would be left out.
func heading(names []string) ([]string, error) {
	var known []string
	for _, n := range names {
		c := columns[strings.ToLower(strings.TrimSpace(n))]
		switch {
		case c == "":
			return nil, fmt.Errorf("the column %q is none of from, to, campaign, creative, source, payout", n)
		case slices.Contains(known, c):
			return nil, fmt.Errorf("the column %s is there twice", c)
		}
		known = append(known, c)
	}
	for _, needed := range []string{"from", "payout"} {
		if !slices.Contains(known, needed) {
			return nil, fmt.Errorf("there is no column %s; the heading is from,to,campaign,creative,source,payout",
				needed)
		}
	}
	return known, nil
}

// parse turns lines into rows, and returns the problems of each bad line.
func parse(lines []line) (rows []schema.Payout, problems []string) {
	var at []string
	for _, l := range lines {
		row, wrong := l.row()
		for _, w := range wrong {
			problems = append(problems, l.at+": "+w)
		}
		if wrong == nil {
			rows, at = append(rows, row), append(at, l.at)
		}
	}
	return rows, append(problems, overlaps(rows, at)...)
}

// amount is a number as a person writes it, without an exponent.
var amount = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]*)?$`)

func (l line) row() (row schema.Payout, wrong []string) {
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	row = schema.Payout{
		CampaignID: l.values["campaign"], CreativeID: l.values["creative"], SourceID: l.values["source"],
	}
	day := func(column string) (d schema.Date) {
		d, err := schema.ParseDate(l.values[column])
		if err != nil {
			refuse("%s %q is not a day such as 2026-11-20", column, l.values[column])
		}
		return d
	}
	row.FromDate = day("from")
	if l.values["to"] != "" {
		row.ToDate = schema.Some(day("to"))
	}
	if row.ToDate.Valid && wrong == nil && row.ToDate.V < row.FromDate {
		refuse("to %s is before from %s", row.ToDate.V, row.FromDate)
	}
	text := l.values["payout"]
	m, rounded, err := schema.ParseMoney([]byte(strings.TrimSuffix(text, ".")))
	switch {
	case !amount.MatchString(text) || err != nil:
		refuse("payout %q is not an amount such as 12.50", text)
	case rounded:
		refuse("payout %q has more than six decimals", text)
	}
	row.Payout = schema.Some(m)
	if row.CampaignID != "" && row.CreativeID != "" {
		refuse("campaign %q and creative %q are both named: a creative is of one campaign, so name it alone",
			row.CampaignID, row.CreativeID)
	}
	return row, wrong
}

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
