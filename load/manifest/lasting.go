package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spendsync/schema"
)

// LastingFacts are facts about an account, each of which holds until a run observes that it has ended.
type LastingFacts struct {
	// Unread are settings that could not be read, Refused are rows of the report that could not be stored unchanged,
	// and Unknown are JSON keys that the service's description does not name. MoreFacts counts, by table, the facts
	// that exceed maxFacts.
	Unread    []schema.EntityRead   `json:"unread_settings,omitempty"`
	Refused   []schema.RefusedRow   `json:"refused_rows,omitempty"`
	Unknown   []schema.UnknownField `json:"unknown_fields,omitempty"`
	MoreFacts map[string]int64      `json:"more_facts,omitempty"`
}

// maxFacts is the number of lasting facts of one kind that an account lists. Further facts are only counted.
const maxFacts = 1000

// Sightings are the facts of one kind that a run observed.
type Sightings[R any] struct {
	Rows []R // [Next] sets their schema.Sighting
	// Looked reports whether the run looked at the subject of a stored fact. If the run looked and did not observe the
	// fact again, the fact has ended. Nil means that facts of this kind never end.
	Looked func(*R) bool
}

// sighted is a pointer to a row that embeds a [schema.Sighting].
type sighted[R any] interface {
	*R
	SightingPtr() *schema.Sighting
}

// factsAfter returns the facts after a run, oldest first and at most maxFacts, and the number of further facts.
func factsAfter[R any, P sighted[R]](stored []R, sightings *Sightings[R], run Head, key func(*R) string) (
	facts []R, more int64) {
	storedByKey := map[string]*R{}
	for i := range stored {
		storedByKey[key(&stored[i])] = &stored[i]
	}
	seen := map[string]bool{}
	for _, row := range sightings.Rows {
		if seen[key(&row)] {
			continue
		}
		seen[key(&row)] = true
		s := P(&row).SightingPtr()
		*s = schema.Sighting{FirstSeenAt: run.PublishedAt, LastSeenAt: run.PublishedAt, Runs: 1, RunID: run.RunID}
		if before := storedByKey[key(&row)]; before != nil {
			f := P(before).SightingPtr()
			s.FirstSeenAt, s.Runs = f.FirstSeenAt, f.Runs+1
		}
		facts = append(facts, row)
	}
	for i := range stored {
		if !seen[key(&stored[i])] && (sightings.Looked == nil || !sightings.Looked(&stored[i])) {
			facts = append(facts, stored[i])
		}
	}
	slices.SortFunc(facts, func(a, b R) int {
		return cmp.Or(cmp.Compare(P(&a).SightingPtr().FirstSeenAt, P(&b).SightingPtr().FirstSeenAt),
			strings.Compare(key(&a), key(&b)))
	})
	more = int64(max(0, len(facts)-maxFacts))
	return facts[:min(len(facts), maxFacts)], more
}

func unreadKey(r *schema.EntityRead) string {
	return strings.Join([]string{r.EntityType, r.EntityID, r.Field}, "\x00")
}

func refusedKey(r *schema.RefusedRow) string {
	return fmt.Sprintf("%s\x00%s\x00%06d\x00%06d", r.Stream, r.ReportDate, r.Page, r.RowNumber)
}

func unknownKey(r *schema.UnknownField) string { return r.Stream + "\x00" + r.Path }

// applyFacts updates each list of lasting facts for which the change has sightings.
func (a *LastingFacts) applyFacts(c Change, run Head) {
	count := func(table string, more int64) {
		if more > 0 || a.MoreFacts[table] > 0 {
			a.MoreFacts[table] = more
		}
	}
	var more int64
	if c.Unread != nil {
		a.Unread, more = factsAfter(a.Unread, c.Unread, run, unreadKey)
		count(schema.EntityReads.Name, more)
	}
	if c.Refused != nil {
		a.Refused, more = factsAfter(a.Refused, c.Refused, run, refusedKey)
		count(schema.RefusedRows.Name, more)
	}
	if len(c.Unknown) > 0 {
		a.Unknown, more = factsAfter(a.Unknown, &Sightings[schema.UnknownField]{Rows: c.Unknown}, run, unknownKey)
		count(schema.UnknownFields.Name, more)
	}
}

// AddRefused adds refused rows from the ledgers of version 11 of the tables, until Refused has maxFacts rows.
func (a *LastingFacts) AddRefused(rows []schema.RefusedRow) {
	for i := range rows {
		at := rows[i].FirstSeenAt
		rows[i].Sighting = schema.Sighting{FirstSeenAt: at, LastSeenAt: at, Runs: 1, RunID: rows[i].RunID}
	}
	slices.SortFunc(rows, func(x, y schema.RefusedRow) int { return strings.Compare(refusedKey(&x), refusedKey(&y)) })
	a.Refused = append(a.Refused, rows[:min(len(rows), max(0, maxFacts-len(a.Refused)))]...)
}

// UnreadRows returns the rows of ops.entity_read. If there are more facts than maxFacts, the last row has the number of
// facts that are not listed.
func (a *LastingFacts) UnreadRows(account string) []schema.EntityRead {
	rows := slices.Clone(a.Unread)
	if n := a.MoreFacts[schema.EntityReads.Name]; n > 0 {
		rows = append(rows, schema.EntityRead{AccountID: account, ReadState: "more",
			Message:  schema.Some(fmt.Sprintf("%d more lines, which are not listed", n)),
			Sighting: rows[len(rows)-1].Sighting})
	}
	return rows
}

// RefusedRows returns the rows of ops.refused_row. If there are more facts than maxFacts, the last row has the number
// of facts that are not listed.
func (a *LastingFacts) RefusedRows(account string) []schema.RefusedRow {
	rows := slices.Clone(a.Refused)
	if n := a.MoreFacts[schema.RefusedRows.Name]; n > 0 {
		rows = append(rows, schema.RefusedRow{AccountID: account, Stream: "more", ReportDate: rows[0].ReportDate,
			Reason: fmt.Sprintf("%d more rows, which are not listed", n), Sighting: rows[len(rows)-1].Sighting})
	}
	return rows
}
