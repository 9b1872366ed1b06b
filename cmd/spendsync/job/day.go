package job

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// maxReads is how often a day is read before it counts as unproven, and mostReads how often a day that is over and
// lacks nothing but a second read that is alike: one that changed during the second read has three that differ.
// maxPasses is how often a day is read whose pages come without an order, for its rows to come together: of ten pages,
// a pass shows two rows of three.
const maxReads, mostReads, maxPasses = 3, 5, 12

// dayRead is one read of a day.
type dayRead struct {
	began       time.Duration  // since the run did
	at          schema.Instant // the same as a time
	rows        *schema.SpendRows
	seen        extract.Evidence
	combined    history.Combination // of rows of one key
	day         *history.Day        // nil where the replies are those that are stored
	sums        history.Sums
	hash        string
	hashes      []string // that the read has, in each way of combining its rows
	same        bool     // the rows of one key are the same row again
	almost      bool     // a second read that is alike would prove the day
	control     string
	total       manifest.ControlTotal // the service's own, if the day was over
	count       schema.Null[int64]    // rows that the service states
	counted     string                // whether as many came, see [schema.DayCoverage]
	askedBeyond schema.Null[bool]     // see [manifest.Day]; null: several reads prove the day together
	pages       int
	bytes       int64
	rounded     int
	unknown     []extract.UnknownKey
	refused     int64               // rows that cannot be stored; the others are
	first       error               // why the first of them is refused
	unread      int64               // rows that are stored without some of their measures
	forms       []string            // these measures, each with the form of its value
	noClick     bool                // clicks are, or may be, among those measures
	lacks       []string            // columns that the report does not give, or not on all pages
	noNames     bool                // campaign_name is one more of them, which nothing is unknown without
	kept        []string            // of these columns, those of which the stored rows have values
	aside       []schema.RefusedRow // rows of both kinds that are kept aside with their JSON
}

// proveDay reads a day until one read is proven, or all reads are proven together: [maxReads] times at most. An
// answer that would empty the day, or most of it, must come twice. An answer is read once more if it has values that
// cannot be read, and more of them than are known of the day, or for what [dayRead.doubt] returns: damage in transit
// does not come twice. Of an open day, whose rows may move while they are paged, the best read is kept, for it is
// better than none.
func (r *dayReader) proveDay(ctx context.Context, day schema.Date, work *lease, step *schema.Step) (*dayRead, error) {
	known := r.s.store.Account().Days[day]
	suspect, damaged := "", false
	var reads []*dayRead // that prove nothing alone
	for {
		step.Attempts++
		pages, doubted := pagesOf(reads), false
		read, err := r.readDay(ctx, day, work, pages, r.known(day, step.Attempts))
		if err == nil && read.rows != nil && read.rows.Len() == 0 && read.refused == 0 {
			work.isEmptied = known != nil && known.Sums.Rows > 0
		}
		if err == nil {
			err = r.weigh(ctx, day, read, reads, suspect != "")
		}
		doubt := ""
		if err == nil && read.hash != suspect {
			doubt = read.doubt(known, reads)
		}
		unproven, isUnproven := errors.AsType[*extract.UnprovenError](err)
		switch {
		case isUnproven:
			r.s.Log.Warn("the day is not proven", "day", day.String(), "attempt", step.Attempts, "of", read.limit(day),
				"error", unproven)
			if both, ok := r.together(ctx, day, read, reads); ok {
				return both, both.mayReplace(day, known)
			}
		case err != nil:
			return nil, err
		case read.hash != suspect && read.isSuspicious(known):
			suspect = read.hash
			stored := known.Sums
			err = &extract.UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf(
				"%d rows and %s US dollars, far less than the %d rows and %s that are stored, and no two reads in "+
					"a row agree",
				read.sums.Rows, read.sums.Spend, stored.Rows, stored.Spend)}
			r.s.Log.Warn("the answer is empty or much smaller than what is stored; it must come twice to be believed",
				"day", day.String(), "rows", read.sums.Rows, "stored_rows", stored.Rows)
		case read.isDamaged(known) && !damaged && step.Attempts < maxReads:
			r.s.Log.Warn("some values cannot be read; the day is read again", "day", day.String(),
				"rows_refused", read.refused, "rows_unread", read.unread)
		case doubt != "" && step.Attempts < maxReads:
			doubted, read.hashes = true, []string{read.hash}
			r.s.Log.Warn(doubt+"; the day is read again", "day", day.String(), "rows", read.sums.Rows,
				"rows_total", read.count.V)
		default:
			if err := read.mayReplace(day, known); err != nil {
				return nil, err
			}
			return read, r.s.staged.DropPages(day, 1, pages+1)
		}
		damaged = damaged || read != nil && read.isDamaged(known)
		isLast := step.Attempts >= maxReads && (!isUnproven || step.Attempts >= read.limit(day))
		if step.Attempts >= maxReads && !isLast && !read.isUnordered() {
			for _, one := range reads { // they need not stay in memory: only whether a read is alike counts now
				one.rows = nil
			}
		}
		switch {
		case isLast && isUnproven:
			came := pages
			if read != nil {
				came += read.pages
			}
			if best := r.bestOf(day, append(reads, read), known); best != nil {
				return best, r.s.staged.DropPages(day, 1, came-best.pages+1)
			}
			fallthrough
		case isLast:
			return nil, errors.Join(err, r.s.staged.DropPages(day, 1, pages+1))
		case read == nil: // it broke off
			err = r.s.staged.DropPages(day, pages+1, math.MaxInt)
		case isUnproven && read.isUnordered():
			reads = []*dayRead{merged(append(reads, read))}
		case isUnproven || doubted:
			reads = append(reads, read)
		default:
			reads, err = nil, r.s.staged.DropRaw(day)
		}
		if isStorage := errors.Is(err, durable.ErrStorage); isStorage {
			return nil, err
		}
	}
}

// limit returns how often the day is read.
func (read *dayRead) limit(day schema.Date) int64 {
	if read != nil && read.almost && !read.at.Time().Before(day.End()) {
		return mostReads
	}
	if read.isUnordered() {
		return maxPasses
	}
	return maxReads
}

// isUnordered reports whether rows came twice on pages whose stated total stayed the same: others did not come.
func (read *dayRead) isUnordered() bool {
	return read != nil && read.rows != nil && read.seen.Repeats != "" && read.seen.Moved == "" && read.pages > 1 &&
		read.seen.Total > read.seen.Distinct && len(idsIn(read.lacks)) == 0 && !history.Renamed(read.rows)
}

// pagesOf is how many pages reads have together.
func pagesOf(reads []*dayRead) (n int) {
	for _, read := range reads {
		n += read.pages
	}
	return n
}

// weigh decides whether a read proves its day, together with earlier reads, and fills in the resulting day. Rows with
// the same key are either one row, whose last version is stored, or parts of one row, which are added up: the
// witnesses decide.
func (r *dayReader) weigh(ctx context.Context, day schema.Date, read *dayRead, before []*dayRead, confirm bool) error {
	if err := r.s.checkClock(r.s.Report); err != nil {
		return err
	}
	read.at = schema.InstantOf(r.s.clock.conservative(r.s.clock.at(read.began)))
	if read.rows == nil { // the replies are the stored ones
		if err := r.checkControlTotal(ctx, day, read, confirm); err != nil {
			return err
		}
		w := dayWitnesses{Evidence: extract.Evidence{Total: -1, Ended: true}, rows: read.sums.Rows,
			control: read.control, alike: true}
		if read.count.Valid {
			w.Total = read.count.V
		}
		return w.prove(day)
	}
	ways, same := combinations(read.rows, read.lacks)
	if ways[0] != history.Apart {
		if read.same = same; read.seen.Repeats == "" {
			read.seen.Repeats = "a row is there twice"
		}
	}
	var failed error
	var hashes []string
	almost := false
	for _, how := range ways {
		is := *read
		is.combined = how
		err := r.weighAs(ctx, day, &is, before, confirm)
		hashes = append(hashes, is.hash)
		if _, unproven := errors.AsType[*extract.UnprovenError](err); err == nil || !unproven {
			*read = is
			return err
		}
		almost = almost || is.almost
		if failed == nil {
			failed, *read = err, is
		}
	}
	read.hashes, read.almost = hashes, almost
	return failed
}

// combinations returns the ways to combine rows with the same key, and whether they are repetitions of one row. If
// the report lacks an ID that told the rows apart, each is a part of the row, even if they are alike. Rows with
// different names are most likely parts, too: the campaign was renamed that day, and on an open day no other witness
// can show that.
func combinations(rows *schema.SpendRows, lacks []string) (ways []history.Combination, same bool) {
	repeats, alike := history.Repeats(rows)
	switch {
	case !repeats:
		return []history.Combination{history.Apart}, false
	case len(idsIn(lacks)) > 0:
		return []history.Combination{history.Added}, false
	case history.Renamed(rows):
		return []history.Combination{history.Added, history.Newest}, false
	}
	return []history.Combination{history.Newest, history.Added}, alike
}

// weighAs decides about a read whose rows of one key are combined in its way.
func (r *dayReader) weighAs(
	ctx context.Context, day schema.Date, read *dayRead, before []*dayRead, confirm bool,
) error {
	came := int64(read.rows.Len()) + read.refused
	rows, err := history.Combine(read.rows, read.combined)
	if err == nil {
		rows, read.kept, err = history.Keep(rows, r.s.store.StoredDay(day), read.keeps())
	}
	if err == nil {
		read.day, err = history.NewDay(rows)
	}
	switch {
	case errors.Is(err, durable.ErrDamaged), errors.Is(err, durable.ErrStorage): // of the stored rows
		return err
	case errors.Is(err, schema.ErrRange):
		return fmt.Errorf("spend %s: %w: %w", day, err, extract.ErrContract)
	case err != nil:
		return &extract.UnprovenError{What: "spend " + day.String(), Reason: err.Error()}
	}
	read.sums, read.hash = read.day.Sums(), read.day.Hash()
	w := dayWitnesses{Evidence: read.seen, combined: read.combined, rows: came, same: read.same}
	if read.combined == history.Newest {
		w.rows = read.sums.Rows + read.refused
	}
	read.count, read.counted = w.rowsTotal(), w.totalState()
	w.alike = read.isAlike(before)
	if known := r.s.store.Account().Days[day]; known != nil && known.Refused == 0 {
		w.alike = w.alike || known.ContentHash == read.hash
	}
	if err := r.checkControlTotal(ctx, day, read, confirm); err != nil {
		return err
	}
	w.control = read.control
	if err = w.prove(day); err != nil {
		w.alike = true
		read.almost = w.prove(day) == nil
	}
	if unproven, ok := errors.AsType[*extract.UnprovenError](err); ok && read.first != nil {
		unproven.Reason += fmt.Sprintf("; %s cannot be stored; the first: %v",
			phrase.Count(int(read.refused), "row"), read.first)
	}
	return err
}

// readDay reads all pages of a day once. They are staged after those of earlier reads.
func (r *dayReader) readDay(
	ctx context.Context, day schema.Date, work *lease, pagesBefore int, known *extract.Known,
) (*dayRead, error) {
	read := &dayRead{began: r.s.clock.elapsed()}
	read.at = schema.InstantOf(r.s.clock.at(read.began))
	c := transform.SpendContext{Account: r.s.Account, RunID: r.s.RunID, Day: day, SeenAt: read.at, Service: r.s.Service}
	for page, err := range r.s.Report.Spend(ctx, day, r.s.Plan.PageSize, known, &read.seen) {
		if err != nil {
			return nil, err
		}
		read.bytes += page.Bytes
		if page.Unchanged {
			return r.readSame(read, day, page.Pages), nil
		}
		if read.rows == nil {
			if err := work.acquire(ctx, page.Total); err != nil {
				return nil, err
			}
			read.rows = &schema.SpendRows{}
			if pagesBefore == 0 {
				read.rows = &work.workspace.rows
				read.rows.Reset()
			}
			// A total is only a claim so far: it reserves a page or two, no more.
			read.rows.Grow(int(min(page.Total, 1<<17)))
		}
		before := read.rows.Len()
		became := transform.AppendSpend(read.rows, page, c, work.intern)
		read.refused += int64(len(became.Refused))
		read.unread += int64(len(became.Unread))
		read.forms = joined(read.forms, became.UnreadForms)
		for _, column := range page.Lacks {
			isUnknown := column != "date" && column != "campaign_name" // which nothing is unknown without
			if isUnknown && !slices.Contains(read.lacks, column) {
				read.lacks = append(read.lacks, column)
			}
		}
		read.noNames = read.noNames || slices.Contains(page.Lacks, "campaign_name")
		read.noClick = read.noClick || became.UnreadClicks || slices.Contains(page.Lacks, "clicks")
		work.oddIDs = append(work.oddIDs, became.OddIDs...)
		if len(became.Refused) > 0 && read.first == nil {
			read.first = &became.Refused[0].RowError
		}
		read.putAside(became.Refused, c)
		read.putAside(became.Unread, c)
		for _, text := range became.Texts {
			r.s.Log.Info("a text of the report is not stored as it was sent; its numbers are",
				"day", day.String(), "column", text.Column, "value", text.Value, "why", text.Reason)
		}
		added := read.rows.Len() - before
		err := r.s.staged.PutRaw(day, pagesBefore+page.Number, page.Raw, int64(added), page.Fingerprint)
		if err != nil {
			return nil, err
		}
		read.pages++
		read.rounded += became.Rounded
		read.unknown = append(read.unknown, page.Unknown...)
		r.bar.Rows(added)
	}
	read.askedBeyond = schema.Some(read.seen.Beyond)
	return read, nil
}

// keeps returns the columns of which the stored values stay.
func (read *dayRead) keeps() []string {
	if read.noNames {
		return append(slices.Clone(read.lacks), "campaign_name")
	}
	return read.lacks
}

// joined returns the texts of both lists, sorted, each once.
func joined(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// longestRaw is how many bytes of a refused row are kept with its reason, and mostAside how many rows of a day; the
// day's replies have them all.
const longestRaw, mostAside = 2000, 1000

// putAside keeps rows of a page that cannot be stored unchanged.
func (read *dayRead) putAside(rows []transform.RefusedRow, c transform.SpendContext) {
	for i := range rows[:min(len(rows), mostAside-len(read.aside))] {
		row := &rows[i]
		read.aside = append(read.aside, schema.RefusedRow{
			AccountID: c.Account, Stream: "spend_report", ReportDate: c.Day,
			Page: int64(row.Page), RowNumber: int64(row.Row), Reason: row.Err.Error(), Field: row.Column,
			Raw: row.JSON[:min(len(row.JSON), longestRaw)], SeenAt: c.SeenAt, RunID: c.RunID,
		})
	}
}

// clicks returns the sum of the rows' clicks; unknown if those of a row could not be read.
func (read *dayRead) clicks() schema.Null[int64] {
	if read.noClick {
		return schema.Null[int64]{}
	}
	return read.sums.Clicks
}

// incomplete returns an error that names the missing parts of a stored day; nil: none is missing.
func (read *dayRead) incomplete() error {
	if read.refused == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be stored, see ops.refused_row; the others are; the first: %w",
		phrase.Count(int(read.refused), "row"), read.first)
}

// checkControlTotal compares a read of a day that is over with the service's own total.
func (r *dayReader) checkControlTotal(ctx context.Context, day schema.Date, read *dayRead, confirm bool) (err error) {
	if read.refused > 0 {
		read.control = schema.ControlUnknown // it counts rows that are not stored
		return nil
	}
	read.control, err = r.totals.compare(ctx, day, read, confirm)
	return err
}

// known returns the stored replies of a day: as long as the service answers with the same bytes, nothing has changed,
// and nothing needs to be decoded. From the second attempt on no replies count as known, nor do they if the columns
// of the replies show whether the service still rejects some, nor if the last page did not show the end: rows that
// the total does not count may have been added after it.
func (r *dayReader) known(day schema.Date, attempt int64) *extract.Known {
	k := r.s.store.Account().Days[day]
	if attempt > 1 || k == nil || k.Refused > 0 || r.s.triesAll || k.Unread > 0 && len(k.UnreadForms) == 0 ||
		!k.AskedBeyond.Valid || k.AskedBeyond.V {
		return nil
	}
	return &extract.Known{
		Fingerprints: r.s.store.Fingerprints(day),
		Body:         func(page int) ([]byte, error) { return r.s.store.RawPage(day, page) },
	}
}

// readSame is a read of a day whose replies are the stored ones, so that the rows are, too. Only the service's own
// total is compared again.
func (r *dayReader) readSame(read *dayRead, day schema.Date, pages int) *dayRead {
	known := r.s.store.Account().Days[day]
	read.sums, read.hash, read.rounded, read.pages = known.Sums, known.ContentHash, known.Rounded, pages
	read.count, read.counted, read.combined = known.RowsTotal, known.RowsTotalState, known.Combined
	read.lacks, read.askedBeyond = known.Without, known.AskedBeyond
	// Which measures could not be read is not stored.
	read.unread, read.forms, read.noClick = known.Unread, known.UnreadForms, known.Unread > 0
	r.bar.Rows(int(known.Sums.Rows))
	return read
}
