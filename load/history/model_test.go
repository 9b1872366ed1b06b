package history

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"spendsync/schema"
	"spendsync/schema/schematest"
)

var (
	historySequences = flag.Int("history.sequences", schematest.Times(1000, 6000, 60000),
		"random sequences to lay over a history")
	historySeed     = flag.Uint64("history.seed", 0, "seed of the random sequences; 0: the clock")
	historySequence = flag.Int("history.sequence", -1, "run this one sequence alone")
)

// The model below states the rules in another way. It keeps every observation of a key and no state. The known values
// at an event are looked up in that event and the events before it, and a version starts where the known values differ
// between two events. The model is slow, and shares nothing with Advance but the row type.

// modelEvent is one observation of one key.
type modelEvent struct {
	since, at schema.Instant
	run       string
	seen      bool
	row       schema.Campaign
	unread    map[string]bool
	stub      bool
	gone      bool // a complete listing lacked the key
}

// modelColumn is a tracked column, with access to its field.
type modelColumn struct {
	name string
	same func(a, b *schema.Campaign) bool
	copy func(to, from *schema.Campaign)
}

var modelTracked = []modelColumn{
	{"default_bid",
		func(a, b *schema.Campaign) bool { return a.DefaultBid == b.DefaultBid },
		func(to, from *schema.Campaign) { to.DefaultBid = from.DefaultBid }},
	{"min_age",
		func(a, b *schema.Campaign) bool { return a.MinAge == b.MinAge },
		func(to, from *schema.Campaign) { to.MinAge = from.MinAge }},
	{"name",
		func(a, b *schema.Campaign) bool { return a.Name == b.Name },
		func(to, from *schema.Campaign) { to.Name = from.Name }},
}

const modelPatience = 2

var modelRefreshed = slices.DeleteFunc(schema.CampaignHistory.Tracked(), func(c schema.Column) bool {
	return c.Name != "country"
})

// modelEntity are all the events of a key, oldest first.
type modelEntity []modelEvent

// lastRead returns the index of the last event up to i in which a column was read, or -1.
func (m modelEntity) lastRead(i int, column string) int {
	for ; i >= 0; i-- {
		if m[i].seen && !m[i].unread[column] {
			return i
		}
	}
	return -1
}

// absences returns how many complete listings lacked the key since it was last seen, and whether it was ever seen.
func (m modelEntity) absences(i int) (n int, seen bool) {
	for ; i >= 0; i-- {
		if m[i].seen {
			return n, true
		}
		if m[i].gone {
			n++
		}
	}
	return 0, false
}

func (m modelEntity) deleted(i int) bool {
	n, seen := m.absences(i)
	return seen && n >= modelPatience
}

// known returns the number of tracked columns that were read at least once up to event i.
func (m modelEntity) known(i int) (n int) {
	for _, c := range modelTracked {
		if m.lastRead(i, c.name) >= 0 {
			n++
		}
	}
	return n
}

func (m modelEntity) readState(i int) string {
	_, seen := m.absences(i)
	switch n := m.known(i); {
	case !seen:
		return schema.ReadStub
	case n == 0:
		return schema.ReadUnreadable
	case n < len(modelTracked):
		return schema.ReadPartial
	}
	return schema.ReadOK
}

// differing returns the columns whose known values at events i and j differ.
func (m modelEntity) differing(i, j int) (names []string) {
	for _, c := range modelTracked {
		a, b := m.lastRead(i, c.name), m.lastRead(j, c.name)
		if a >= 0 && b >= 0 && !c.same(&m[a].row, &m[b].row) {
			names = append(names, c.name)
		}
	}
	return names
}

// confirmed returns when the state at event i was last confirmed. A deletion is confirmed by a listing that lacked the
// key, any other state by a full read, by the first read, or by the event in which the key was first seen.
func (m modelEntity) confirmed(i int) schema.Instant {
	for gone := m.deleted(i); i > 0; i-- {
		e := m[i]
		full := e.seen && !slices.ContainsFunc(modelTracked, func(c modelColumn) bool { return e.unread[c.name] })
		firstRead := m.known(i) > 0 && m.known(i-1) == 0
		if (gone && e.gone) || (!gone && (full || firstRead)) {
			break
		}
	}
	return m[i].since
}

// row returns the row that event i writes: the row before, with the values that are known at i.
func (m modelEntity) row(i int, before schema.Campaign) schema.Campaign {
	r := before
	for _, c := range modelTracked {
		if j := m.lastRead(i, c.name); j >= 0 {
			c.copy(&r, &m[j].row)
		}
	}
	if j := m.lastRead(i, "country"); j >= 0 {
		r.Country = m[j].row.Country
	}
	if e := m[i]; e.seen && !e.unread["raw"] {
		r.Raw = e.row.Raw
	}
	r.RunID = m[i].run
	return r
}

// versions returns the rows of a key after all its events.
func (m modelEntity) versions(id string) (rows []schema.Campaign) {
	for i, e := range m {
		if i == 0 {
			r := m.row(i, schema.Campaign{AccountID: "acme", CampaignID: id})
			r.VersionNo, r.ValidFrom, r.ValidTo, r.IsCurrent = 1, e.at, schema.Forever, true
			r.ChangeType, r.ReadState, r.LastConfirmedAt = schema.FirstSeen, m.readState(i), e.since
			if !e.seen {
				r.ChangeType = schema.Stub
			}
			rows = append(rows, r)
			continue
		}
		last := &rows[len(rows)-1]
		is := m.row(i, *last)
		is.ReadState, is.LastConfirmedAt = m.readState(i), m.confirmed(i)
		var why string
		switch differing := m.differing(i, i-1); {
		case m.deleted(i) && !m.deleted(i-1):
			why, is.ChangedColumns = schema.Deleted, schema.Null[string]{}
		case m.deleted(i-1) && !m.deleted(i), len(differing) > 0:
			why, is.ChangedColumns = schema.Changed, schema.Null[string]{}
			if m.deleted(i - 1) {
				why = schema.Restored
			}
			if len(differing) > 0 {
				is.ChangedColumns = schema.Some(strings.Join(differing, ","))
			}
		case m.known(i) > m.known(i-1):
			if last.VersionNo == 1 {
				is.ChangeType = schema.FirstRead
			}
			*last = is
			continue
		case m.readState(i) != m.readState(i-1): // a stub that is now listed, and still unreadable
			*last = is
			continue
		case is.Country != last.Country:
			is.Raw = last.Raw
			*last = is
			continue
		default:
			continue
		}
		last.ValidTo, last.IsCurrent, last.LastConfirmedAt, last.RunID = e.at, false, m.confirmed(i-1), e.run
		is.VersionNo, is.ValidFrom, is.ValidTo, is.IsCurrent = last.VersionNo+1, e.at, schema.Forever, true
		is.ChangeType, is.IsDeleted, is.ChangedAfter = why, why == schema.Deleted, schema.Some(last.LastConfirmedAt)
		rows = append(rows, is)
	}
	return rows
}

// model are the events of all keys.
type model map[string]modelEntity

func (m model) observe(o Observation[schema.Campaign]) {
	seen := map[string]bool{}
	event := func(id string, e modelEvent) {
		e.since, e.at, e.run = cmp.Or(o.Since, o.At), o.At, o.RunID
		m[id] = append(m[id], e)
		seen[id] = true
	}
	known := slices.Collect(maps.Keys(m))
	for _, s := range o.Seen {
		unread := map[string]bool{}
		for _, name := range s.Unread {
			unread[name] = true
		}
		event(s.Row.CampaignID, modelEvent{seen: true, row: s.Row, unread: unread})
	}
	for _, s := range o.Stubs {
		if m[s.CampaignID] == nil {
			event(s.CampaignID, modelEvent{stub: true})
		}
	}
	for _, id := range known {
		row := schema.Campaign{CampaignID: id}
		if !seen[id] && o.Absence != nil && o.Absence(&row) == Gone {
			event(id, modelEvent{gone: true})
		}
	}
}

func (m model) check(h Versions[schema.Campaign], confirmed map[string]schema.Instant) error {
	var want []schema.Campaign
	for _, id := range slices.Sorted(maps.Keys(m)) {
		want = append(want, m[id].versions(id)...)
	}
	// A current row has the confirmation as of when it was written; the last confirmation is in the readings.
	got := slices.Clone(h.Rows)
	for i := range got {
		if got[i].IsCurrent {
			got[i].LastConfirmedAt = confirmed[escapeKey.Replace(got[i].CampaignID)]
		}
	}
	for i := range want {
		if e := m[want[i].CampaignID]; want[i].IsCurrent {
			want[i].LastConfirmedAt = e.confirmed(len(e) - 1)
		}
	}
	if !slices.Equal(want, got) {
		return fmt.Errorf("rows (-model +got):\n%s", gocmp.Diff(want, got))
	}
	return m.checkMemory(h.Memory)
}

func (m model) checkMemory(got Memory) error {
	missed, never := map[string]int{}, map[string][]string{}
	for id, e := range m {
		last := len(e) - 1
		text := escapeKey.Replace(id)
		if n, seen := e.absences(last); seen && n > 0 && n < modelPatience {
			missed[text] = n
		}
		if e.readState(last) != schema.ReadPartial {
			continue
		}
		for _, c := range modelTracked {
			if e.lastRead(last, c.name) < 0 {
				never[text] = append(never[text], c.name)
			}
		}
	}
	if !maps.Equal(missed, got.Missed) {
		return fmt.Errorf("absences %v, and the model has %v", got.Missed, missed)
	}
	if !maps.EqualFunc(never, got.Never, slices.Equal) {
		return fmt.Errorf("never readable %v, and the model has %v", got.Never, never)
	}
	return nil
}

// historyDice creates the observations of one random sequence.
type historyDice struct {
	*rand.Rand
	clock                  schema.Instant
	unread, absent, change float64 // probabilities
	values                 map[string]schema.Campaign
}

func newHistoryDice(seed uint64, sequence int) *historyDice {
	r := rand.New(rand.NewPCG(seed, uint64(sequence)))
	often := []float64{0, 0.1, 0.4, 0.8}
	pick := func() float64 { return often[r.IntN(len(often))] }
	return &historyDice{Rand: r, clock: hour(1), unread: pick(), absent: pick(), change: pick(),
		values: map[string]schema.Campaign{}}
}

func (d *historyDice) chance(p float64) bool { return d.Float64() < p }

// oneOf returns NULL or one of the values, at random.
func oneOf[T comparable](d *historyDice, values ...T) schema.Null[T] {
	if i := d.IntN(len(values) + 1); i > 0 {
		return schema.Some(values[i-1])
	}
	return schema.Null[T]{}
}

// seen returns a campaign's next observation, mostly with the same values.
func (d *historyDice) seen(id string) Seen[schema.Campaign] {
	row, known := d.values[id]
	if !known {
		row = schema.Campaign{AccountID: "acme", CampaignID: id}
	}
	if !known || d.chance(d.change) {
		switch d.IntN(4) {
		case 0:
			row.Name = oneOf(d, "A", "B")
		case 1:
			row.DefaultBid = oneOf[schema.Money](d, 0, 1_000000)
		case 2:
			row.MinAge = oneOf[int64](d, 0, 18)
		case 3:
			row.Country = oneOf(d, "US", "")
		}
	}
	row.Raw = schema.Some(fmt.Sprint("raw ", d.clock))
	d.values[id] = row
	s := Seen[schema.Campaign]{Row: row}
	columns := []string{"default_bid", "min_age", "name"}
	if d.chance(d.unread / 2) {
		s.Unread = columns // no column could be read
	} else {
		for _, name := range columns {
			if d.chance(d.unread) {
				s.Unread = append(s.Unread, name)
			}
		}
	}
	for _, name := range []string{"raw", "country"} {
		if d.chance(d.unread) {
			s.Unread = append(slices.Clip(s.Unread), name)
		}
	}
	// Unread columns are empty or have values that must not matter.
	if d.chance(0.5) && slices.Contains(s.Unread, "name") {
		s.Row.Name = schema.Some("means nothing")
	}
	return s
}

func (d *historyDice) observation(run int) Observation[schema.Campaign] {
	o := Observation[schema.Campaign]{RunID: fmt.Sprint("run-", run), Patience: modelPatience}
	began := d.clock + 1 + schema.Instant(d.IntN(3))
	d.clock = began + schema.Instant(d.IntN(3))
	o.At = d.clock
	if d.chance(0.5) {
		o.Since = began
	}
	gone := map[string]bool{}
	complete, mixed := d.chance(0.6), d.chance(0.2)
	nothing := d.chance(0.1)
	for _, id := range []string{"c/1", "c1", "c~1"} {
		gone[id] = complete || (mixed && d.chance(0.5))
		switch {
		case nothing:
		case d.chance(0.1):
			o.Stubs = append(o.Stubs, schema.Campaign{AccountID: "acme", CampaignID: id})
			if d.chance(0.3) {
				o.Seen = append(o.Seen, d.seen(id))
			}
		case !d.chance(d.absent):
			o.Seen = append(o.Seen, d.seen(id))
		}
	}
	d.Shuffle(len(o.Seen), func(i, j int) { o.Seen[i], o.Seen[j] = o.Seen[j], o.Seen[i] })
	if !d.chance(0.1) {
		o.Absence = func(r *schema.Campaign) Absence {
			if gone[r.CampaignID] {
				return Gone
			}
			return Unknown
		}
	}
	o.Refreshed = modelRefreshed
	return o
}

// historySequenceError applies one random sequence to a history and to the model, and compares them after each step.
func historySequenceError(seed uint64, sequence int, tracked []schema.Column, seen map[string]int) error {
	d, m := newHistoryDice(seed, sequence), model{}
	var h Versions[schema.Campaign]
	var was map[string]schema.Instant
	for run := range 3 + d.IntN(6) {
		before := d.clock
		o, confirmed := withReadings(schema.CampaignHistory, d.observation(run), was)
		next, st, err := Advance(schema.CampaignHistory, tracked, h, o)
		if err != nil {
			return fmt.Errorf("run %d: %w", run, err)
		}
		m.observe(o)
		if err := checkAdvance(schema.CampaignHistory, h, next, st); err != nil {
			return fmt.Errorf("run %d: %w", run, err)
		}
		if err := m.check(next, confirmed); err != nil {
			return fmt.Errorf("run %d: %w", run, err)
		}
		h, was = next, confirmed
		if d.chance(0.3) {
			o, _ := withReadings(schema.CampaignHistory, o, was)
			if err := replayError(h, o, before, tracked); err != nil {
				return fmt.Errorf("run %d: %w", run, err)
			}
		}
	}
	for _, r := range h.Rows {
		seen[r.ChangeType+" "+r.ReadState]++
	}
	return nil
}

// replayError applies an observation a second time, which must change nothing, and then with an earlier time, which
// must be refused.
func replayError(h Versions[schema.Campaign], o Observation[schema.Campaign], before schema.Instant,
	tracked []schema.Column) error {
	again, st, err := Advance(schema.CampaignHistory, tracked, h, o)
	if err != nil || st.Changed || !slices.Equal(again.Rows, h.Rows) ||
		!reflect.DeepEqual(again.Memory, h.Memory) {
		return fmt.Errorf("replayed: %+v %+v, before %+v: %w", st, again.Memory, h.Memory, err)
	}
	o.At, o.Since = before, 0
	if _, _, err := Advance(schema.CampaignHistory, tracked, h, o); err == nil {
		return fmt.Errorf("accepted at %s, from before it", before)
	}
	return nil
}

// TestHistory_IsAsTheModelSays runs many short random histories with unreadable fields, NULLs, complete and incomplete
// listings, entities that are deleted and restored, stubs, replays, and empty observations.
func TestHistory_IsAsTheModelSays(t *testing.T) {
	seed := *historySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test ./load -run %s -history.seed=%d -history.sequences=%d", t.Name(), seed, *historySequences)
	tracked := slices.DeleteFunc(schema.CampaignHistory.Tracked(), func(c schema.Column) bool {
		return !slices.ContainsFunc(modelTracked, func(m modelColumn) bool { return m.name == c.Name })
	})
	from, to := 0, *historySequences
	if testing.Short() {
		to = min(to, 2000)
	}
	if *historySequence >= 0 {
		from, to = *historySequence, *historySequence+1
	}
	began, kinds := time.Now(), map[string]int{}
	var mu sync.Mutex
	var g errgroup.Group
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		g.Go(func() error {
			mine := map[string]int{}
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				for kind, n := range mine {
					kinds[kind] += n
				}
			}()
			for i := from + w; i < to; i += workers {
				if err := historySequenceError(seed, i, tracked, mine); err != nil {
					return fmt.Errorf("-history.sequence=%d: %w", i, err)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sequences, %.0f a second; rows: %v", to-from, float64(to-from)/time.Since(began).Seconds(), kinds)
	// Every kind of change must have occurred, or the test proves nothing about it.
	for _, kind := range []string{
		"first_seen ok", "first_seen partial", "first_seen unreadable", "first_read ok", "first_read partial",
		"stub stub", "stub unreadable", "changed ok", "changed partial", "deleted ok", "deleted partial",
		"deleted unreadable", "restored ok", "restored partial", "restored unreadable",
	} {
		if kinds[kind] == 0 && to-from >= 1000 {
			t.Errorf("no row became %s", kind)
		}
	}
}
