package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"spendsync/load/duck/ducktest"
	"spendsync/load/durable"
	"spendsync/load/loadtest"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// The model computes the content that a warehouse should have after any sequence of changes at the service, runs,
// faults, kills and moves of the clock. It is naive: maps and lists, its own calendar, and none of the tested code
// except the row types.

type modelKey struct{ campaign, creative, source string }

type modelRow struct {
	spend          schema.Money
	clicks         int64
	first, changed schema.Instant // set only in the model of the warehouse, like lastRun
	lastRun        string
}

type modelChange struct {
	day      string
	key      modelKey
	seen     schema.Instant
	op       string
	was, now string
}

type modelVersion struct {
	id       string
	no       int64
	from, to schema.Instant
	bid      schema.Money
	deleted  bool
}

// modelWarehouse is the content that should be stored.
type modelWarehouse struct {
	since   int
	days    map[int]map[modelKey]modelRow
	read    map[int]time.Time // when a day was last read
	reads   map[int]int64
	changes []modelChange
	history []modelVersion
	missed  map[string]int
}

var chicago = func() *time.Location {
	l, err := time.LoadLocation("America/Chicago")
	if err != nil {
		panic(err)
	}
	return l
}()

// dayOf counts days from 1970-01-01, by Chicago's clock.
func dayOf(at time.Time) int {
	y, m, d := at.In(chicago).Date()
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

func dayText(d int) string { return time.Unix(int64(d)*86400, 0).UTC().Format("2006-01-02") }

// overAt returns when a day is over in Chicago.
func overAt(d int) time.Time {
	y, m, dd := time.Unix(int64(d)*86400, 0).UTC().Date()
	return time.Date(y, m, dd+1, 0, 0, 0, 0, chicago)
}

func (w *modelWarehouse) take(at time.Time, run string, days map[int]map[modelKey]modelRow,
	bids map[string]schema.Money) {
	seen := schema.InstantOf(at)
	for d, read := range days {
		stored, known := w.days[d]
		wasOver := known && !w.read[d].Before(overAt(d))
		next := map[modelKey]modelRow{}
		note := func(k modelKey, op string, was, now string) {
			if wasOver {
				w.changes = append(w.changes, modelChange{dayText(d), k, seen, op, was, now})
			}
		}
		for k, r := range read {
			old, had := stored[k]
			switch {
			case !had:
				r.first, r.changed, r.lastRun = seen, seen, run
				note(k, "insert", "", r.numbers())
			case old.numbers() == r.numbers():
				r = old
			default:
				r.first, r.changed, r.lastRun = old.first, seen, run
				note(k, "update", old.numbers(), r.numbers())
			}
			next[k] = r
		}
		for k, old := range stored {
			if _, has := read[k]; !has {
				note(k, "delete", old.numbers(), "")
			}
		}
		w.days[d], w.read[d] = next, at
		w.reads[d]++
	}
	w.takeBids(seen, bids)
}

func (w *modelWarehouse) takeBids(seen schema.Instant, bids map[string]schema.Money) {
	ids := map[string]bool{}
	for id := range bids {
		ids[id] = true
	}
	for _, v := range w.history {
		ids[v.id] = true
	}
	for id := range ids {
		var last *modelVersion
		for i := range w.history {
			if w.history[i].id == id {
				last = &w.history[i]
			}
		}
		bid, there := bids[id]
		open := func(bid schema.Money, deleted bool) {
			no := int64(1)
			if last != nil {
				no = last.no + 1
				last.to = seen
			}
			w.history = append(w.history, modelVersion{id, no, seen, schema.Forever, bid, deleted})
		}
		switch {
		case there && (last == nil || last.deleted || last.bid != bid):
			w.missed[id] = 0
			open(bid, false)
		case there:
			w.missed[id] = 0
		case !last.deleted:
			if w.missed[id]++; w.missed[id] == 2 {
				w.missed[id] = 0
				open(last.bid, true)
			}
		}
	}
}

func (r modelRow) numbers() string { return fmt.Sprintf("%d/%d", r.spend, r.clicks) }

// modelWorld is a service, a clock and a store with its model.
type modelWorld struct {
	t    testing.TB
	r    *rand.Rand
	dir  string
	at   time.Time
	days map[int]map[modelKey]modelRow // the service's rows
	bids map[string]schema.Money
	is   modelWarehouse
	runs int
	seen map[string]int // counts the events, by kind
	log  []string
}

func newModelWorld(t testing.TB, seed, sequence uint64) *modelWorld {
	w := &modelWorld{
		t: t, r: rand.New(rand.NewPCG(seed, sequence)), dir: filepath.Join(quickDir(t), "data"),
		days: map[int]map[modelKey]modelRow{}, bids: map[string]schema.Money{"C1": 1, "C2": 2},
		is: modelWarehouse{days: map[int]map[modelKey]modelRow{}, read: map[int]time.Time{}, reads: map[int]int64{},
			missed: map[string]int{}},
		seen: map[string]int{},
	}
	// Start near a change to or from daylight saving time.
	w.at = []time.Time{time.Date(2026, 10, 30, 17, 0, 0, 0, time.UTC), time.Date(2026, 3, 6, 4, 30, 0, 0,
		time.UTC)}[w.r.IntN(2)]
	for d := dayOf(w.at) - 3; d <= dayOf(w.at); d++ {
		w.change(d)
		w.change(d)
	}
	return w
}

func (w *modelWorld) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%s  ", w.at.Format(time.RFC3339))+fmt.Sprintf(format, args...))
}

// change changes the service's rows of a day.
func (w *modelWorld) change(d int) {
	if w.days[d] == nil {
		w.days[d] = map[modelKey]modelRow{}
	}
	k := modelKey{"C" + strconv.Itoa(w.r.IntN(3)), "C1-001", []string{"", "S1", "S'2", "S\"3\n"}[w.r.IntN(4)]}
	if _, has := w.days[d][k]; has && w.r.IntN(3) == 0 {
		delete(w.days[d], k)
		return
	}
	w.days[d][k] = modelRow{spend: schema.Money(w.r.IntN(9) - 2), clicks: int64(w.r.IntN(3))}
}

func (w *modelWorld) changeBids() {
	id := "C" + strconv.Itoa(1+w.r.IntN(3))
	if _, has := w.bids[id]; has && w.r.IntN(2) == 0 {
		delete(w.bids, id)
		return
	}
	w.bids[id] = schema.Money(1 + w.r.IntN(4))
}

// planned returns the days that a run reads: today, and random days within reach.
func (w *modelWorld) planned() map[int]map[modelKey]modelRow {
	today := dayOf(w.at)
	read := map[int]map[modelKey]modelRow{today: w.days[today]}
	for d := range w.days {
		if d >= today-32 && d < today && w.r.IntN(3) > 0 {
			read[d] = w.days[d]
		}
	}
	return read
}

// sync does one run, which may be disturbed. The next start shows whether it was published.
func (w *modelWorld) sync(disturbed bool) {
	w.runs++
	id := fmt.Sprintf("run%03d", w.runs)
	read := w.planned()
	run := sceneRun{id: id, at: w.at, used: int64(w.r.IntN(2)), days: map[schema.Date][]schema.Spend{}}
	copied := map[int]map[modelKey]modelRow{}
	for d, rows := range read {
		copied[d] = map[modelKey]modelRow{}
		run.days[schema.Date(d)] = []schema.Spend{}
		for k, r := range rows {
			copied[d][k] = r
			run.days[schema.Date(d)] = append(run.days[schema.Date(d)], schema.Spend{
				AccountID: "acme", ReportDate: schema.Date(d), CampaignID: k.campaign, CreativeID: k.creative,
				SourceID: k.source, CampaignName: "n",
				Spend: r.spend, Clicks: schema.Some(r.clicks), Impressions: schema.Some[int64](9),
				Conversions: schema.Some[int64](0),
			})
		}
	}
	for _, id := range slices.Sorted(func(yield func(string) bool) {
		for id := range w.bids {
			if !yield(id) {
				return
			}
		}
	}) {
		run.campaigns = append(run.campaigns, sceneCampaign(id, "n", w.bids[id]))
	}
	before := w.generation()
	d := &loadtest.Faults{}
	o := sceneOptions(durable.Disk{FS: d})
	how := "undisturbed"
	if disturbed {
		m := manners()[w.r.IntN(len(manners()))]
		d.After, d.Always, d.Errno = m.after, m.always, m.errno
		if d.At = 1 + w.r.IntN(500); w.r.IntN(3) == 0 {
			d.At, how = 0, "killed"
			steps := 1 + w.r.IntN(22)
			o.crash = func(string) error {
				if steps--; steps < 0 {
					return errCrash
				}
				return nil
			}
		} else {
			how = fmt.Sprintf("call %d fails %s", d.At, m)
		}
	}
	err := run.do(context.Background(), w.dir, o)
	d.Die()
	published := w.open() > before
	w.note("sync %s of %d days, %s: %v, published %v", id, len(read), how, err, published)
	switch {
	case err == nil && !published:
		w.t.Error("it was said to be published and is not")
	case err != nil && !errors.Is(err, durable.ErrStorage) && !errors.Is(err, errCrash):
		w.t.Errorf("sync: %v", err)
	case err != nil && published:
		w.seen["disturbed, and published"]++
	case err != nil:
		w.seen["disturbed, and not published"]++
	default:
		w.seen["published"]++
	}
	if published {
		if before == 0 {
			w.is.since = dayOf(w.at) - 32
		}
		w.is.take(w.at, id, copied, w.bids)
	}
}

func (w *modelWorld) generation() int64 {
	m, err := manifest.Read(w.dir)
	if err != nil {
		return 0
	}
	return m.Generation
}

// open opens the store as the next run does, and returns the number of the published generation.
func (w *modelWorld) open() int64 {
	s, err := Open(context.Background(), w.dir, "acme", sceneOptions(durable.Disk{FS: lazyFiles{}}))
	if err != nil {
		w.t.Errorf("open: %v", err)
		return 0
	}
	defer s.Close()
	if s.Manifest() == nil {
		return 0
	}
	return s.Manifest().Generation
}

// rebuild builds the DuckDB file from nothing, in some cases after damage. If a file that is not derived is damaged,
// the error must name the file, which is then restored from a backup.
func (w *modelWorld) rebuild() {
	if w.generation() == 0 {
		return
	}
	what, path, table, backup := "rebuild", "", "", []byte(nil)
	if w.r.IntN(2) == 0 {
		what = "damage and rebuild"
		m, err := manifest.Read(w.dir)
		if err != nil {
			w.t.Fatal(err)
		}
		files := m.Accounts["acme"].Files
		for _, path = range slices.Sorted(maps.Keys(files)) {
			if files[path].Kind == manifest.KindParquet && w.r.IntN(3) == 0 {
				break
			}
		}
		table = files[path].Table
		if backup, err = os.ReadFile(filepath.Join(w.dir, path)); err != nil {
			w.t.Fatal(err)
		}
		spoiled(w.t, filepath.Join(w.dir, path), []byte("no more"))
	}
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	w.runs++
	o.Now = func() time.Time { return w.at }
	s, err := Open(context.Background(), w.dir, "acme", o)
	if err != nil {
		w.t.Errorf("%s: %v", what, err)
		return
	}
	defer s.Close()
	id := fmt.Sprintf("run%03d", w.runs)
	g, err := stagingOf(s, id)
	if err == nil {
		r := sceneRun{id: id, at: w.at}
		c := g.publication(r.at)
		c.Repair = true
		_, _, err = publish(context.Background(), g, c, r.record())
		err = errors.Join(err, g.Discard())
	}
	if d, ok := errors.AsType[*durable.Damage](err); ok && d.Path == path &&
		(table == "" || schema.Named(table).MadeFrom != schema.OtherTables) {
		what, err = "damage is refused", nil
		spoiled(w.t, filepath.Join(w.dir, path), backup)
	}
	if err != nil {
		w.t.Errorf("%s of %s: %v", what, path, err)
	}
	w.note("%s %s", what, path)
	w.seen[what]++
}

// step does one random event.
func (w *modelWorld) step() {
	switch n := w.r.IntN(20); {
	case n < 5:
		w.change(dayOf(w.at) - w.r.IntN(5))
	case n < 7:
		w.changeBids()
	case n < 9:
		w.at = w.at.Add(time.Duration(1+w.r.IntN(300)) * time.Minute)
	case n < 12:
		w.at = w.at.Add(time.Duration(1+w.r.IntN(60)) * time.Hour)
		w.change(dayOf(w.at))
	case n < 13:
		w.at = w.at.AddDate(0, 0, w.r.IntN(40))
		w.change(dayOf(w.at))
	case n < 14:
		w.rebuild()
	default:
		w.at = w.at.Add(time.Minute)
		w.sync(n < 17)
		w.checkParquet()
	}
}

// checkParquet compares the Parquet files and the coverage with the model.
func (w *modelWorld) checkParquet() {
	m, err := manifest.Read(w.dir)
	if errors.Is(err, durable.ErrEmpty) && len(w.is.days) == 0 {
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	a := m.Accounts["acme"]
	var got []string
	for path, info := range a.Files {
		full := filepath.Join(w.dir, path)
		switch info.Table {
		case schema.SpendDaily.Name:
			got = append(got, spendLines(w.t, full)...)
		case schema.SpendChanges.Name:
			got = append(got, changeLines(w.t, full)...)
		case schema.CampaignHistory.Name:
			got = append(got, versionLines(w.t, full)...)
		}
	}
	for _, c := range a.Coverage("acme", w.at) {
		got = append(got, fmt.Sprintf("coverage %s %s %d %d", c.ReportDate, c.State, c.Reads, c.Rows))
	}
	w.compare("Parquet", got)
}

func spendLines(t testing.TB, path string) (lines []string) {
	rows, err := parquet.ReadRows(path, schema.SpendDaily)
	if err != nil {
		t.Error(err)
	}
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("spend %s %q %d/%d %d %d %s", r.ReportDate,
			[]string{r.CampaignID, r.CreativeID, r.SourceID}, r.Spend, r.Clicks.V, r.FirstSeenAt, r.ChangedAt, r.RunID))
	}
	return lines
}

func changeLines(t testing.TB, path string) (lines []string) {
	rows, err := parquet.ReadRows(path, schema.SpendChanges)
	if err != nil {
		t.Error(err)
	}
	numbers := func(spend schema.Null[schema.Money], clicks schema.Null[int64]) string {
		if !spend.Valid {
			return ""
		}
		return fmt.Sprintf("%d/%d", spend.V, clicks.V)
	}
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("change %s %q %d %s %s>%s", r.ReportDate, []string{r.CampaignID, r.CreativeID,
			r.SourceID}, r.SeenAt, r.Op,
			numbers(r.OldSpend, r.OldClicks), numbers(r.NewSpend, r.NewClicks)))
	}
	return lines
}

func versionLines(t testing.TB, path string) (lines []string) {
	rows, err := parquet.ReadRows(path, schema.CampaignHistory)
	if err != nil {
		t.Error(err)
	}
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("version %s %d %d %d %d %v", r.CampaignID, r.VersionNo, r.ValidFrom,
			r.ValidTo, r.DefaultBid.V/schema.Dollar, r.IsDeleted))
	}
	return lines
}

// lines returns the rows of the model as texts.
func (w *modelWorld) lines() (want []string) {
	for d, rows := range w.is.days {
		for k, r := range rows {
			want = append(want, fmt.Sprintf("spend %s %q %s %d %d %s", dayText(d), []string{k.campaign, k.creative,
				k.source}, r.numbers(), r.first, r.changed, r.lastRun))
		}
	}
	for _, c := range w.is.changes {
		want = append(want, fmt.Sprintf("change %s %q %d %s %s>%s", c.day, []string{c.key.campaign, c.key.creative,
			c.key.source}, c.seen, c.op, c.was, c.now))
	}
	for _, v := range w.is.history {
		want = append(want, fmt.Sprintf("version %s %d %d %d %d %v", v.id, v.no, v.from, v.to, v.bid, v.deleted))
	}
	for d := w.is.since; d <= dayOf(w.at); d++ {
		read, known := w.is.read[d]
		reachable := d >= dayOf(w.at)-32
		state := "missing"
		switch {
		case known && !read.Before(overAt(d)) && reachable:
			state = "complete"
		case known && !read.Before(overAt(d)):
			state = "final"
		case known && d == dayOf(w.at):
			state = "open"
		case known:
			state = "partial"
		case !reachable:
			state = "lost"
		}
		want = append(want, fmt.Sprintf("coverage %s %s %d %d", dayText(d), state, w.is.reads[d], len(w.is.days[d])))
	}
	return want
}

func (w *modelWorld) compare(where string, got []string) {
	w.t.Helper()
	want := w.lines()
	slices.Sort(got)
	slices.Sort(want)
	if slices.Equal(got, want) {
		return
	}
	var b strings.Builder
	for _, l := range got {
		if !slices.Contains(want, l) {
			fmt.Fprintf(&b, "+ %s\n", l)
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			fmt.Fprintf(&b, "- %s\n", l)
		}
	}
	w.t.Errorf("%s is not as the model says:\n%s", where, cmp.Or(b.String(), "a line occurs more than once"))
}

// checkDuckDB compares the DuckDB file with the model, after a publication as of now.
func (w *modelWorld) checkDuckDB() {
	a, err := ducktest.Query(context.Background(), w.dir, `
		SELECT 'spend' AS what, report_date, campaign_id, creative_id, source_id, (spend * 1000000)::BIGINT || '/' ||
		clicks AS x, epoch_us(_first_seen_at) AS y, epoch_us(_changed_at) AS z, _run_id AS v FROM spend_daily
		UNION ALL SELECT 'change', report_date, campaign_id, creative_id, source_id, epoch_us(seen_at)::VARCHAR,
		NULL, NULL,
			op || ' ' || coalesce((old_spend * 1000000)::BIGINT || '/' || old_clicks, '') || '>' ||
			coalesce((new_spend * 1000000)::BIGINT || '/' || new_clicks, '') FROM spend_change
		UNION ALL SELECT 'version', NULL, campaign_id, NULL, NULL, version_no::VARCHAR, epoch_us(valid_from),
		epoch_us(valid_to), default_bid::BIGINT || ' ' || is_deleted FROM campaign_history
		UNION ALL SELECT 'coverage', report_date, NULL, NULL, NULL, state, reads, rows, NULL FROM ops.day_coverage`)
	if err != nil {
		w.t.Error(err)
		return
	}
	var got []string
	for _, r := range a.Rows {
		v := func(i int) string { return r[i].V }
		key := fmt.Sprintf("%q", []string{v(2), v(3), v(4)})
		switch v(0) {
		case "spend":
			got = append(got, strings.Join([]string{"spend", v(1), key, v(5), v(6), v(7), v(8)}, " "))
		case "change":
			got = append(got, strings.Join([]string{"change", v(1), key, v(5), v(8)}, " "))
		case "version":
			got = append(got, strings.Join([]string{"version", v(2), v(5), v(6), v(7), v(8)}, " "))
		case "coverage":
			got = append(got, strings.Join([]string{"coverage", v(1), v(5), v(6), v(7)}, " "))
		}
	}
	w.compare("DuckDB", got)
}

// TestModel_AnySequence applies random sequences of all possible events to a store and a model, and compares them.
func TestModel_AnySequence(t *testing.T) {
	t.Parallel()
	sequences, seed := schematest.Times(1, 2, 500), schematest.Seed(t)
	seen := map[string]int{}
	for i := range sequences {
		w := newModelWorld(t, seed, uint64(i))
		for range 24 {
			if w.step(); t.Failed() {
				break
			}
		}
		if !t.Failed() {
			w.at = w.at.Add(time.Minute)
			w.sync(false)
			w.checkParquet()
			w.checkDuckDB()
			checkScene(t, w.dir)
		}
		for k, n := range w.seen {
			seen[k] += n
		}
		if t.Failed() {
			t.Fatalf("sequence %d of SPENDSYNC_SEED=%d:\n%s", i, seed, strings.Join(w.log, "\n"))
		}
		os.RemoveAll(filepath.Dir(w.dir))
	}
	t.Logf("seed %d, %d sequences: %v", seed, sequences, seen)
}
