package job

import (
	"fmt"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// enough is by how much what speaks for a read must outweigh what speaks against it.
const enough = 2

// weigh decides whether a read is the day: if what speaks for it outweighs what speaks against it by two.
//
// One each speaks for it: its pages came to an end, which more than the stated number shows; as many rows came as the
// service states, unless that is none; they add up to the service's own sum; every other read with the same rows, the
// stored one included, unless no more than the stated number shows the end: all stop there. One each speaks against it:
// another number or sum, a few rows less than are stored, rows of one key that are added up. (A number that is that of
// the rows with spend speaks only beside another read with the same rows.) Two each: a loss, which is rows that did not
// come though every page states them, more than half of the stored day, or values that could be read; and whatever
// could make another one useless. An empty answer without proof, and a sum that is still that of the stored rows,
// outweigh everything.
func (read *dayRead) weigh(day schema.Date, known *manifest.Day, before []string) error {
	summed := read.Control == schema.ControlMatched
	differs, seen := read.Control == schema.ControlDiffers, read.seen
	twice, isAbove := read.twice(), read.RowsTotal.V > read.came()
	isMiscounted := read.RowsTotalState == schema.RowsDiffer
	isEmpty := read.sums.Rows+read.Refused == 0
	few, most := read.lost(known)
	read.likes += read.alike(known, before)
	counted := read.RowsTotalState == schema.RowsMatched && (read.RowsTotal.V == read.came() || read.likes > 0)
	weight, against := 0, []string(nil)
	for _, w := range []struct {
		is     bool
		weight int
		what   string
	}{
		{seen.Ended && !seen.Full, 1, ""},
		{counted && !isEmpty, 1, ""},
		{summed, 1, ""},
		{!seen.Full, read.likes, ""},

		{isEmpty && (differs || known != nil && known.Sums.Rows > 0 && !summed), -9,
			"the answer is empty, and no sum of the service's confirms it"},
		{read.isSumOfStored, -9, "the service's own sum is that of the stored rows"},
		{isMiscounted, -1, read.miscounted()},
		{isMiscounted && isAbove && seen.Moved == "", -1, seen.Short},
		{seen.Moved != "", -2, seen.Moved},
		{differs, -1, read.difference()},
		{differs && seen.Full, -2, "only the stated total shows the end"},
		{twice > 0, -twice, seen.Repeats},
		{few, -1, read.lessThan(known)},
		{most, -2, read.lessThan(known)},
		{read.isDamaged(known), -2, "some values cannot be read"},
		{!seen.Ended, -1, "no page is short or empty"},
	} {
		if !w.is {
			continue
		}
		if weight += w.weight; w.weight < 0 && w.what != "" {
			against = append(against, w.what)
		}
	}
	if weight >= enough {
		return nil
	}
	return &extract.UnprovenError{What: "spend " + day.String(), Reason: read.unproven(against)}
}

// twice returns what rows of one key in one read speak against it: one if they are added up, and two unless the stated
// number or the service's own sum shows how they count, or their names do: on one page no row has moved.
func (read *dayRead) twice() (weight int) {
	if read.Combined == history.Apart || len(read.reads) > 1 {
		return 0
	}
	if read.addsUp() {
		weight = 1
	}
	isNamed := read.Combined == history.Named && read.filled == 1 && read.count == int64(read.rows.Len())
	isShown := isNamed || read.RowsTotalState == schema.RowsMatched || read.Control == schema.ControlMatched
	if !isShown || read.Control == schema.ControlDiffers {
		weight += 2
	}
	return weight
}

// unproven returns why a read proves nothing.
func (read *dayRead) unproven(against []string) string {
	if len(against) == 0 {
		against = []string{phrase.Count(int(read.came()), "row") + " came, and too little says that they are all"}
	}
	if !read.RowsTotal.Valid {
		against = append(against, "the service states no total")
	}
	if read.noSum != "" {
		against = append(against, "it gives no sum of its own: "+read.noSum)
	}
	if read.first != nil {
		against = append(against, fmt.Sprintf("%s cannot be stored; the first: %v",
			phrase.Count(int(read.Refused), "row"), read.first))
	}
	return strings.Join(against, "; ")
}

// came returns how many rows came, as the service counts them: a row that came again is no other one.
func (read *dayRead) came() int64 {
	if read.rows == nil {
		return read.sums.Rows + read.Refused
	}
	return read.count + read.Refused
}

// countRows compares the stated number of rows with those that came. Some services state that of the rows with spend.
func (read *dayRead) countRows() {
	read.RowsTotal = schema.Null[int64]{V: max(0, read.seen.Total), Valid: read.seen.Total >= 0}
	spending := int64(0)
	read.count = int64(read.rows.Len())
	if read.Combined != history.Apart || read.RowsTotal.Valid && read.RowsTotal.V != read.came() {
		read.count, spending = history.Count(read.rows, read.Combined)
	}
	switch {
	case !read.RowsTotal.Valid:
		read.RowsTotalState = schema.RowsNone
	case read.RowsTotal.V == read.came(), read.RowsTotal.V == spending+read.Refused:
		read.RowsTotalState = schema.RowsMatched
	default:
		read.RowsTotalState = schema.RowsDiffer
	}
}

// alike returns how many other reads have the same rows.
func (read *dayRead) alike(known *manifest.Day, before []string) (n int) {
	for _, hash := range before {
		if hash == read.hash {
			n++
		}
	}
	if known != nil && known.Refused == 0 && known.ContentHash == read.hash {
		n++
	}
	return n
}

// lost reports whether a read has a few rows less than the stored day, or less than half of its rows or of its spend.
// Rows that lack an ID of the stored ones cannot be counted beside them.
func (read *dayRead) lost(known *manifest.Day) (few, most bool) {
	if known == nil || known.Sums.Rows == 0 {
		return false, false
	}
	was, rows := known.Sums, read.sums.Rows+read.Refused
	if rows > 0 && len(idsIn(read.lacks)) > len(known.Without) {
		rows = was.Rows
	}
	most = rows*2 < was.Rows || was.Spend > 0 && read.sums.Spend*2 < was.Spend
	return rows < was.Rows && !most, most
}

// isDamaged reports whether more rows of a read than of the stored day have values that cannot be read.
func (read *dayRead) isDamaged(known *manifest.Day) bool {
	was := int64(0)
	if known != nil {
		was = known.Refused + known.Unread
	}
	return read.Refused+read.Unread > was
}

func (read *dayRead) miscounted() string {
	return fmt.Sprintf("%s came, and the stated total is %d", phrase.Count(int(read.came()), "row"), read.RowsTotal.V)
}

func (read *dayRead) difference() string {
	return fmt.Sprintf("the rows add up to %s US dollars and %d clicks, the service's own sum is %s and %d",
		read.sums.Spend, read.sums.Clicks.V, read.ControlTotal.Spend.V, read.ControlTotal.Clicks.V)
}

func (read *dayRead) lessThan(known *manifest.Day) string {
	if known == nil {
		return ""
	}
	return fmt.Sprintf("%d rows and %s US dollars are less than the %d rows and %s that are stored",
		read.sums.Rows, read.sums.Spend, known.Sums.Rows, known.Sums.Spend)
}
