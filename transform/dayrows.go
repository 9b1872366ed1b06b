package transform

import (
	"fmt"
	"iter"
	"slices"

	"spendsync/extract"
	"spendsync/schema"
)

// DayRows are the rows of one read of a day: all that its pages gave, made by [DayRows.Add] alone. Sync, quarantine,
// replay and verify read days by it.
type DayRows struct {
	c      SpendContext
	intern *Interner

	Rows    *schema.SpendRows // that can be stored, as they came
	Pages   int
	Bytes   int64
	Rounded int   // amounts that had more than six decimals
	Refused int64 // rows that cannot be stored
	Unread  int64 // rows that are stored without some of their measures
	First   error // why the first of the refused rows is; nil: none is
	// UnreadForms are the measures that cannot be read, each with the form of its value; sorted.
	UnreadForms []string
	// NoClicks: the sum of the clicks is not that of the service, because some cannot be read or none were asked for.
	NoClicks bool
	Aside    []schema.RefusedRow // rows that are refused or unread in part, with their JSON; at most mostAside
	Unknown  []extract.UnknownKey
	Pieces   []schema.Piece // of a day read campaign by campaign; empty: whole pages
}

// NewDayRows returns rows without any. Rows read with one interner share their IDs.
func NewDayRows(c SpendContext, intern *Interner) *DayRows {
	return &DayRows{c: c, intern: intern, Rows: &schema.SpendRows{},
		NoClicks: !slices.Contains(c.Service.ReportColumns(), "clicks")}
}

// longestRaw is how many bytes of a refused row are kept with its reason, and mostAside how many rows of a day; the
// day's replies have them all.
const longestRaw, mostAside = 2000, 1000

// Add adds the rows of a page, and returns how many can be stored. A row of another day, or in another currency than
// the one that is stored, is an error: the read is not this day's.
func (d *DayRows) Add(page extract.Page[extract.SpendLine]) (added int, err error) {
	before := d.Rows.Len()
	became := AppendSpend(d.Rows, page, d.c, d.intern)
	d.Pages++
	d.Bytes += int64(len(page.Raw))
	d.Rounded += became.Rounded
	d.Refused += int64(len(became.Refused))
	d.Unread += int64(len(became.Unread))
	d.UnreadForms = union(d.UnreadForms, became.UnreadForms)
	d.Unknown = append(d.Unknown, page.Unknown...)
	d.NoClicks = d.NoClicks || became.UnreadClicks
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

// AddPiece adds the rows of one campaign or creative, read by themselves: rows of others that the service gave beside
// them are dropped.
func (d *DayRows) AddPiece(p schema.Piece, of *DayRows) {
	for _, row := range of.Rows.All() {
		if p.Has(row) {
			d.Rows.Append(row)
		}
	}
	p.Pages = of.Pages
	d.Pieces = append(d.Pieces, p)
	d.Pages, d.Bytes, d.Rounded = d.Pages+of.Pages, d.Bytes+of.Bytes, d.Rounded+of.Rounded
	d.Refused, d.Unread = d.Refused+of.Refused, d.Unread+of.Unread
	d.UnreadForms = union(d.UnreadForms, of.UnreadForms)
	d.NoClicks = d.NoClicks || of.NoClicks
	d.Unknown = append(d.Unknown, of.Unknown...)
	d.Aside = append(d.Aside, of.Aside[:min(len(of.Aside), mostAside-len(d.Aside))]...)
	if d.First == nil {
		d.First = of.First
	}
}

// AddReplies adds the rows of stored replies, whatever they prove, by the pieces that they answered; without pieces
// they are the pages of the day. keep receives each page, and how many of its rows can be stored; nil: nothing does.
func (d *DayRows) AddReplies(pieces []schema.Piece, bodies iter.Seq2[[]byte, error],
	keep func(page extract.Page[extract.SpendLine], added int) error) error {
	n, of, rest := 0, d, pieces
	for body, err := range bodies {
		var page extract.Page[extract.SpendLine]
		if err == nil {
			page, err = extract.DecodeSpend(d.c.Service, body)
		}
		if n++; err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		if len(rest) > 0 && of == d {
			of = NewDayRows(d.c, d.intern)
		}
		page.Number = n
		added, err := of.Add(page)
		if err == nil && keep != nil {
			err = keep(page, added)
		}
		if err != nil {
			return err
		}
		if len(rest) > 0 && of.Pages == rest[0].Pages {
			d.AddPiece(rest[0], of)
			of, rest = d, rest[1:]
		}
	}
	return nil
}

// putAside keeps rows of a page that cannot be stored unchanged.
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

// union returns the texts of both lists, sorted, each once.
func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
