package answer

import (
	"cmp"
	"slices"
)

// inOrder returns the columns in the order in which a terminal shows them: the question's own first, or else
// the verdict, what the row is about, and the money. Columns of one rank keep their order. SQL of the user's
// own keeps the order that it was written in.
func (t *tableLayout) inOrder(q Question) []int {
	order := make([]int, len(t.columns))
	for i := range order {
		order[i] = i
	}
	if !q.Reorders {
		return order
	}
	rank := func(i int) int {
		c := t.columns[i]
		if len(q.Shown) > 0 {
			if at := slices.Index(q.Shown, c.name); at >= 0 {
				return at
			}
			return len(q.Shown)
		}
		switch {
		case c.isVerdict():
			return 0
		case c.isAbout():
			return 1
		case c.unit != unitNone:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return order
}

// wanted returns the columns of a question that a terminal shows, in their order: those that it names, but for empty
// ones, and the account if there are several. Without names all are wanted.
func (t *tableLayout) wanted(rows [][]cell, names []string) (wanted []int) {
	for i, c := range t.columns {
		differs, filled := false, len(rows) == 0
		for _, r := range rows {
			differs, filled = differs || r[i] != rows[0][i], filled || !r[i].isNull
		}
		switch {
		case len(names) == 0, slices.Contains(names, c.name) && filled:
			wanted = append(wanted, i)
		case c.name == "account_id" && differs:
			wanted = append([]int{i}, wanted...)
		}
	}
	return wanted
}

// choose returns the columns that fit beside each other, in their order, and how many are left out. The first
// verdict is always among them, then the columns from the left until one does not fit.
func (t *tableLayout) choose(rows [][]cell) (chosen []int, left int) {
	verdict := slices.IndexFunc(t.columns, tableColumn.isVerdict)
	for i := range t.columns {
		next := append(slices.Clone(chosen), i)
		if i < verdict {
			next = append(next, verdict)
		}
		if len(chosen) > 0 && t.part(next, rows).records {
			break
		}
		chosen = append(chosen, i)
	}
	if verdict >= 0 && !slices.Contains(chosen, verdict) {
		chosen = append(chosen, verdict)
	}
	return chosen, len(t.columns) - len(chosen)
}
