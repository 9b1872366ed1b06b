package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// doubtURLs warns the clients that have never stored anything that their URLs may be wrong.
func (s *session) doubtURLs() {
	known := s.known()
	if len(known.Days) == 0 {
		s.Report.Untried()
	}
	if known.Pinned == "" && len(known.Confirmations) == 0 {
		s.API.Untried()
	}
}

// askForLess starts with the request that the report answered before. The first run of a day requests everything
// again.
func (s *session) askForLess() {
	known := s.known().Ask
	if s.triesAll = known != nil && schema.DateOf(known.TriedAt.Time()) < s.plan.Today; known == nil || s.triesAll {
		s.Report.AskLess(extract.Ask{})
		return
	}
	s.Report.AskLess(extract.Ask{Without: known.Without, PageSize: known.PageSize})
}

// asked returns what the next run asks for, by what the report answered to this one. lacks are the columns that its
// replies lacked: those that it did not refuse by name are asked for again.
func (s *session) asked(lacks []string) *manifest.Ask {
	known, now := s.known().Ask, s.Report.Asked()
	next := &manifest.Ask{Without: now.Without, PageSize: now.PageSize, TriedAt: schema.InstantOf(s.start)}
	if known != nil && !s.triesAll {
		// Days as stored show which IDs they lack, and no other column.
		next.TriedAt, lacks = known.TriedAt, joined(lacks, slices.DeleteFunc(slices.Clone(known.Absent), isID))
	}
	next.Absent = slices.DeleteFunc(slices.Clone(lacks), func(column string) bool {
		return slices.Contains(next.Without, column)
	})
	if len(next.Without)+len(next.Absent) == 0 && next.PageSize == 0 {
		return nil
	}
	return next
}

// sumUpAsked adds to the findings which columns the report does not give. A run that proves no day learns nothing
// about that.
func (r *run) sumUpAsked() {
	known := r.s.known().Ask
	if r.ask = known; r.tally.proven+r.tally.partial > 0 {
		r.ask = r.s.asked(r.lacks)
	}
	r.lacks = joined(r.lacks, r.ask.Unknown())
	isIn := func(list []string) func(string) bool {
		return func(column string) bool { return slices.Contains(list, column) }
	}
	newly := slices.DeleteFunc(slices.Clone(r.lacks), isIn(known.Unknown()))
	again := slices.DeleteFunc(known.Unknown(), isIn(r.lacks))
	switch lacks := strings.Join(r.lacks, ", "); {
	case len(newly) > 0:
		ids := ""
		if len(idsIn(r.lacks)) > 0 {
			ids = "; '' stands for the IDs; finished days that have them keep them"
		}
		r.tally.found(differs, nil, "the report gives no %s; stored as unknown (NULL), and asked for again once a "+
			"day%s", lacks, ids)
	case lacks != "":
		r.tally.found(remark, nil, "the report still gives no %s", lacks)
	}
	if len(again) > 0 {
		r.tally.found(remark, nil, "the report gives %s again", strings.Join(again, ", "))
	}
}

// reachAfter returns [manifest.Account.Reach] after a run, by the days that the report answered or refused. A day that
// grew older during its read shows nothing.
func reachAfter(known int, days []*copiedDay) int {
	reach := cmp.Or(known, schema.ReachDays)
	for _, answered := range []bool{false, true} {
		for _, d := range days {
			began, ended := schema.DateOf(d.step.StartedAt.Time()), schema.DateOf(d.step.FinishedAt.Time())
			switch age := int(began - d.Day); {
			case began != ended:
			case answered && d.isStaged:
				reach = max(reach, age)
			case !answered && d.isUnreachable():
				reach = min(reach, age-1)
			}
		}
	}
	if reach >= schema.ReachDays {
		return 0
	}
	return reach
}

func isID(column string) bool { return len(idsIn([]string{column})) > 0 }

// idsIn returns the IDs among columns that a report may lack.
func idsIn(lacks []string) (ids []string) {
	for _, column := range []string{"creative_id", "source_id"} {
		if slices.Contains(lacks, column) {
			ids = append(ids, column)
		}
	}
	return ids
}

// keepIDs keeps the stored rows of a day if a read differs from them only by lacking an ID that they have. A day that
// is over and has its IDs stays in any case, and the error reports it.
func (r *dayReader) keepIDs(day schema.Date, read *dayRead) error {
	known := r.s.store.Account().Days[day]
	if read.day == nil || known == nil || known.ContentHash == read.hash || len(idsIn(read.lacks)) == 0 {
		return nil
	}
	if known.Refused == 0 && read.Refused == 0 && known.Sums.Spend == read.sums.Spend {
		hash, err := r.hashWithoutIDs(day, read)
		if err != nil {
			return err
		}
		if hash == read.hash { // the stored rows stand
			read.day, read.sums, read.hash = nil, known.Sums, known.ContentHash
			read.Unread, read.UnreadForms = known.Unread, known.UnreadForms
			return r.s.staged.DropRaw(day)
		}
	}
	return losesIDs(day, read.lacks, known)
}

// losesIDs returns an error if rows of a report that lacks columns would replace those of a day that is over and has
// these IDs.
func losesIDs(day schema.Date, lacks []string, known *manifest.Day) error {
	if known == nil || !known.WasOver(day) {
		return nil
	}
	for _, column := range idsIn(lacks) {
		if !slices.Contains(known.Without, column) {
			return fmt.Errorf("the report gives no %s, and the stored day, which has it, stands: %w", column,
				extract.ErrContract)
		}
	}
	return nil
}

// hashWithoutIDs returns the hash that the stored rows of a day have without the columns that a read lacks.
func (r *dayReader) hashWithoutIDs(day schema.Date, read *dayRead) (string, error) {
	table, rest := schema.SpendDaily, &schema.SpendRows{}
	columns, none := table.ColumnsNamed(read.keeps()...), new(schema.Spend)
	for rows, err := range r.s.store.StoredDay(day) {
		if err != nil {
			return "", err
		}
		for i := range rows {
			row := rows[i]
			for _, column := range columns {
				table.CopyColumn(&row, none, column)
			}
			rest.Append(&row)
		}
	}
	rest, err := history.Combine(rest, history.Added)
	if err != nil {
		return "", err
	}
	stored, err := history.NewDay(rest)
	if err != nil {
		return "", err
	}
	return stored.Hash(), nil
}
