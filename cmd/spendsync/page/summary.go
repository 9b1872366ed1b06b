package page

import "io"

// How much the summary lists, so that it fits on one sheet of A4.
const (
	summaryToDo   = 3
	summaryPayers = 8
)

// WriteSummary writes one sheet of A4 for each account: the tiles, what to do first, the spend, and the
// campaigns. The same report gives the same bytes.
func WriteSummary(w io.Writer, r Report) error { return execute(w, r, "summary") }

// Brief are the first tasks of the list on top.
func (v view) Brief() []section { return v.ToDo[:min(summaryToDo, len(v.ToDo))] }

// Payers are the first campaigns of the section on them.
func (v view) Payers() []Payer {
	return v.Campaigns.Rows[:min(summaryPayers, len(v.Campaigns.Rows))]
}

// OtherPayers is how many campaigns the summary does not list.
func (v view) OtherPayers() int { return v.Campaigns.More + len(v.Campaigns.Rows) - len(v.Payers()) }
