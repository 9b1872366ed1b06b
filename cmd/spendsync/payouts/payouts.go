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

// Limits for the unpacked size of a Parquet file.
const (
	maxRows     = 1 << 20
	maxUnpacked = 256 << 20
)

// Read reads the operator's files: at most one of payouts and one that is a tracker's export. Each is Parquet, or CSV
// with a heading, which decides what the file is: an export has a column of days. columns name the export's columns,
// by ours; without them its headings must be known. The rows of an export come in key order. What no file has is nil.
func Read(paths []string, columns map[string]string) ([]schema.Payout, []schema.TrackerDay, error) {
	var own own
	of := map[bool]string{} // by whether it is an export
	for _, path := range paths {
		isExport, err := own.read(path, columns)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		if other := of[isExport]; other != "" {
			what := map[bool]string{false: "have payouts", true: "are exports of a tracker"}[isExport]
			return nil, nil, fmt.Errorf("%s and %s both %s: one of a kind is read", other, path, what)
		}
		of[isExport] = path
	}
	return own.payouts, own.tracker, nil
}

// own are the operator's own numbers as far as they are read.
type own struct {
	payouts []schema.Payout
	tracker []schema.TrackerDay
}

// read adds a file, and reports whether it is a tracker's export.
func (o *own) read(path string, columns map[string]string) (isExport bool, err error) {
	f, size, err := files.Open(path, maxSize)
	if err != nil {
		return false, err
	}
	defer f.Close()
	magic := make([]byte, 4)
	_, err = f.ReadAt(magic, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	var s *sheet
	if string(magic) == "PAR1" {
		s, err = parquetSheet(f, size)
	} else {
		s, err = csvSheet(io.NewSectionReader(f, 0, size))
	}
	if err != nil {
		return false, err
	}
	var problems []string
	if isExport = hasDays(s.names, columns); isExport {
		o.tracker, problems, err = readExport(s, columns)
	} else {
		o.payouts, problems, err = readPayouts(s)
	}
	if err == nil && len(problems) > 0 {
		err = errors.New(list(problems))
	}
	return isExport, err
}

// list names problems, the first of many.
func list(problems []string) string {
	const shown = 20
	if len(problems) > shown {
		problems = append(problems[:shown:shown], fmt.Sprintf("and %d more", len(problems)-shown))
	}
	return strings.Join(problems, "; ")
}

// columns are those of payouts, under all the names that they may have.
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
		c := columns[strings.ToLower(n)]
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

// readPayouts reads the columns from, to, campaign, creative, source and payout, in any order; only from and payout
// must be there. Of a line, to may be empty, and it names a campaign or a creative, a source, or both, or nothing
// for all conversions. It returns the problems of each bad line.
func readPayouts(s *sheet) (rows []schema.Payout, problems []string, err error) {
	names, err := heading(s.names)
	if err != nil {
		return nil, nil, err
	}
	rows = []schema.Payout{}
	var at []string
	for {
		n, values, err := s.next()
		if errors.Is(err, io.EOF) {
			return rows, append(problems, overlaps(rows, at)...), nil
		}
		if err != nil {
			return nil, nil, err
		}
		l := line{}
		for i, name := range names {
			l[name] = values[i]
		}
		row, wrong := l.row()
		place := fmt.Sprintf("%s %d", s.unit, n)
		for _, w := range wrong {
			problems = append(problems, place+": "+w)
		}
		if wrong == nil {
			rows, at = append(rows, row), append(at, place)
		}
	}
}

// amount is a number as a person writes it, without an exponent.
var amount = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]*)?$`)

// money reads an amount exactly.
func money(column, text string) (schema.Money, error) {
	m, rounded, err := schema.ParseMoney([]byte(strings.TrimSuffix(text, ".")))
	switch {
	case !amount.MatchString(text) || err != nil:
		return 0, fmt.Errorf("%s %q is not an amount such as 12.50", column, text)
	case rounded:
		return 0, fmt.Errorf("%s %q has more than six decimals", column, text)
	}
	return m, nil
}

// date reads a day.
func date(column, text string) (schema.Date, error) {
	d, err := schema.ParseDate(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not a day such as 2026-11-20", column, text)
	}
	return d, nil
}

// line is one line of payouts, its values by column.
type line map[string]string

func (l line) row() (row schema.Payout, wrong []string) {
	refuse := func(err error) {
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	row = schema.Payout{CampaignID: l["campaign"], CreativeID: l["creative"], SourceID: l["source"]}
	var err error
	row.FromDate, err = date("from", l["from"])
	refuse(err)
	if l["to"] != "" {
		to, err := date("to", l["to"])
		refuse(err)
		row.ToDate = schema.Some(to)
	}
	if row.ToDate.Valid && wrong == nil && row.ToDate.V < row.FromDate {
		refuse(fmt.Errorf("to %s is before from %s", row.ToDate.V, row.FromDate))
	}
	m, err := money("payout", l["payout"])
	refuse(err)
	row.Payout = schema.Some(m)
	if row.CampaignID != "" && row.CreativeID != "" {
		refuse(fmt.Errorf("campaign %q and creative %q are both named: a creative is of one campaign, so name it alone",
			row.CampaignID, row.CreativeID))
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
