package page

import "io"

// The lengths of the summary's lists: with them it fits on one sheet of A4.
const (
	summaryToDo   = 3
	summaryPayers = 7
)

// WriteSummary writes one sheet of A4 for each account: the tiles, what to do first, the spend, and the
// campaigns. The same report gives the same bytes.
func WriteSummary(w io.Writer, r Page) error { return execute(w, r, "summary", (*sheet).summary) }

// summary returns the view of an account's sheet.
func (s *sheet) summary(a Account, i int) view {
	v := newView(a, i)
	if len(a.Spend.Days) > 0 {
		v.SpendChart = s.spendChart(a.Spend, v.CPAs, size{w: 900, h: 170}, size{w: 360, h: 320})
	}
	return v
}

// Brief returns the first tasks of the list on top.
func (v view) Brief() []section { return v.ToDo[:min(summaryToDo, len(v.ToDo))] }

// Payers returns the first campaigns of the section on them.
func (v view) Payers() []Payer { return v.Campaigns.Rows[:min(summaryPayers, len(v.Campaigns.Rows))] }

// CampaignsNote returns what the days of the section on campaigns do not hold.
func (v view) CampaignsNote() string { return v.note("campaigns") }

// OtherPayers returns the number of campaigns that the summary does not list.
func (v view) OtherPayers() int { return v.Campaigns.More + len(v.Campaigns.Rows) - len(v.Payers()) }
