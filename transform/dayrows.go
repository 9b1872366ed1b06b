package transform

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/schema"
)

// DayRows collects the rows of one read of a day, page by page. Sync, quarantine, replay and verify all use it.
type DayRows struct {
	c      SpendContext
	intern *Interner

	Rows    *schema.SpendRows // the rows that can be stored, in the order received
	Pages   int
	Bytes   int64
	Rounded int   // amounts that had more than six decimals
	Refused int64 // rows that cannot be stored
	Unread  int64 // rows that are stored without some of their counts
	First   error // why the first refused row was refused; nil: no row was refused
	// UnreadForms has the number of unreadable values for each count column and form, for example "clicks.string". The
	// form is a JSON type, "huge" or "fraction".
	UnreadForms map[string]int64
	// NoClicks means that the sum of the clicks is unknown: some clicks cannot be read, or clicks were not requested.
	NoClicks bool
	Aside    []schema.RefusedRow // refused and partly unread rows, with their JSON; at most mostAside
	Unknown  []extract.UnknownKey
	Pieces   []schema.Piece // campaigns or creatives that were read one by one; empty: the pages are of the whole day
}

// NewDayRows returns empty DayRows. Rows read with the same interner share the memory of their IDs.
func NewDayRows(c SpendContext, intern *Interner) *DayRows {
	return &DayRows{c: c, intern: intern, Rows: &schema.SpendRows{}, UnreadForms: map[string]int64{},
		NoClicks: !slices.Contains(c.Service.ReportColumns(), "clicks")}
}

// DayRows.Aside has at most mostAside rows, each with at most longestRaw bytes of its JSON. The stored replies have all
// rows in full.
const longestRaw, mostAside = 2000, 1000

// Add adds the rows of a page, and returns how many of them can be stored. It returns an error if a row is of another
// day, or in another currency than the stored one: the entire read is then refused.
func (d *DayRows) Add(page extract.Page[extract.SpendLine]) (added int, err error) {
	before := d.Rows.Len()
	became := AppendSpend(d.Rows, page, d.c, d.intern)
	d.Pages++
	d.Bytes += int64(len(page.Raw))
	d.Rounded += became.Rounded
	d.Refused += int64(len(became.Refused))
	d.Unread += int64(len(became.Unread))
	d.addForms(became.UnreadForms)
	d.Unknown = append(d.Unknown, page.Unknown...)
	if len(became.Refused) > 0 && d.First == nil {
		d.First = &became.Refused[0].RowError
	}
	d.putAside(became.Refused)
	d.putAside(became.Unread)
	if became.Stray != nil {
		return 0, fmt.Errorf("%w; the day is not stored", became.Stray)
	}
	return d.Rows.Len() - before, nil
}

// AddPiece adds the rows of one campaign or creative that was read by itself. It drops rows of other campaigns and
// creatives.
func (d *DayRows) AddPiece(p schema.Piece, rows *DayRows) {
	for _, row := range rows.Rows.All() {
		if p.Has(row) {
			d.Rows.Append(row)
		}
	}
	p.Pages = rows.Pages
	d.Pieces = append(d.Pieces, p)
	d.Pages, d.Bytes, d.Rounded = d.Pages+rows.Pages, d.Bytes+rows.Bytes, d.Rounded+rows.Rounded
	d.Refused, d.Unread = d.Refused+rows.Refused, d.Unread+rows.Unread
	d.addForms(rows.UnreadForms)
	d.Unknown = append(d.Unknown, rows.Unknown...)
	d.Aside = append(d.Aside, rows.Aside[:min(len(rows.Aside), mostAside-len(d.Aside))]...)
	if d.First == nil {
		d.First = rows.First
	}
}

// AddReplies adds the rows of stored replies; it does not check that the replies are complete. The first parameter has
// the campaigns or creatives that were requested one by one, in the order of the replies. If it is empty, the replies
// are the pages of the whole day. The last parameter is called with each page and the number of its rows that can be
// stored. It may be nil.
func (d *DayRows) AddReplies(pieces []schema.Piece, bodies iter.Seq2[[]byte, error],
	keep func(page extract.Page[extract.SpendLine], added int) error) error {
	n, to, rest := 0, d, pieces
	for body, err := range bodies {
		var page extract.Page[extract.SpendLine]
		if err == nil {
			page, err = extract.DecodeSpend(d.c.Service, body)
		}
		if n++; err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		if len(rest) > 0 && to == d {
			to = NewDayRows(d.c, d.intern)
		}
		page.Number = n
		added, err := to.Add(page)
		if err == nil && keep != nil {
			err = keep(page, added)
		}
		if err != nil {
			return err
		}
		if len(rest) > 0 && to.Pages == rest[0].Pages {
			d.AddPiece(rest[0], to)
			to, rest = d, rest[1:]
		}
	}
	return nil
}

// putAside adds rows to Aside.
func (d *DayRows) putAside(rows []RefusedRow) {
	for i := range rows[:min(len(rows), mostAside-len(d.Aside))] {
		row := &rows[i]
		d.Aside = append(d.Aside, schema.RefusedRow{
			AccountID: d.c.Account, Stream: "spend_report", ReportDate: d.c.Day,
			Page: int64(row.Page), RowNumber: int64(row.Row), Reason: row.Err.Error(), Field: row.Column,
			Raw: row.JSON[:min(len(row.JSON), longestRaw)],
		})
	}
}

// addForms adds the numbers of another UnreadForms. If any of these are about clicks, it sets NoClicks.
func (d *DayRows) addForms(forms map[string]int64) {
	for form, rows := range forms {
		d.UnreadForms[form] += rows
		d.NoClicks = d.NoClicks || strings.HasPrefix(form, "clicks.")
	}
}
