package load

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// A scene is a publication that changes every kind of file in a store, so that a test can disturb it at any moment: a
// restated day, a new day with a refused row, a day with few changed rows, their replies, versions of settings, limits,
// the flat marts, the ledger, quarantine.

// quickDir returns a new folder for the test, in memory if possible, because these tests create thousands of stores.
func quickDir(t testing.TB) string {
	t.Helper()
	if !roomInMemory() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(inMemory, "spendsync-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

const inMemory = "/dev/shm"

// roomInMemory reports whether there is a file system in memory with room for the stores of all tests. Containers often
// have only a small file system in memory.
func roomInMemory() bool {
	var st syscall.Statfs_t
	return syscall.Statfs(inMemory, &st) == nil && uint64(st.Bavail)*uint64(st.Bsize) > 1<<30
}

// lazyFiles are real files that are never synced. Without a power loss, no process can notice the difference.
type lazyFiles struct{ durable.System }

func (lazyFiles) OpenFile(path string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := durable.System{}.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return lazyFile{f}, nil
}

type lazyFile struct{ durable.File }

func (lazyFile) Sync() error { return nil }

// errCrash ends a run as if its process had died.
var errCrash = errors.New("crash")

// sceneRun is a run of the scene's account.
type sceneRun struct {
	id        string
	at        time.Time
	days      map[schema.Date][]schema.Spend
	refused   schema.Date // a day with a row that could not be stored
	campaigns []history.Seen[schema.Campaign]
	used      int64 // used part of a change budget
}

// sceneFirst is the run before [sceneSecond].
func sceneFirst() sceneRun {
	days := twoDays()
	days[day-3] = schematest.SpendOfSources(day-3, 20)
	return sceneRun{id: "run1", at: now, used: 1, days: days, refused: day - 1,
		campaigns: []history.Seen[schema.Campaign]{sceneCampaign("C1234567", "Winter", 1),
			sceneCampaign("C2", "Gone soon", 2)}}
}

// sceneSecond is the run that tests disturb.
func sceneSecond() sceneRun {
	few := schematest.SpendOfSources(day-3, 20)[1:]
	few[0].Spend++
	return sceneRun{
		id: "run2", at: now.Add(24 * time.Hour), used: 2, refused: day - 2,
		days: map[schema.Date][]schema.Spend{
			day - 3: few,
			day - 1: twoDays()[day-1], // now without the refused row
			day:     {schematest.SpendRow(day, "S1", 13_000_000), schematest.SpendRow(day, "S4", 4_000_000)},
			day - 2: {schematest.SpendRow(day-2, "S1", 1)},
		},
		campaigns: []history.Seen[schema.Campaign]{sceneCampaign("C1234567", "Winter", 3),
			sceneCampaign("C2", "Gone soon", 2)},
	}
}

func sceneCampaign(id, name string, bid schema.Money) history.Seen[schema.Campaign] {
	return history.Seen[schema.Campaign]{Row: schema.Campaign{AccountID: "acme", CampaignID: id,
		Name: schema.Some(name), DefaultBid: schema.Some(bid * schema.Dollar)}}
}

func sceneOptions(d durable.Disk) Options {
	return Options{disk: d,
		DuckDB: duck.Options{Threads: 1, Memory: "256MiB", Views: martViews()}}
}

// begin opens the store for the run.
func (r sceneRun) begin(ctx context.Context, dir string, o Options) (*Store, *staging, error) {
	o.Now = r.now
	s, err := Open(ctx, dir, "acme", o)
	if err != nil {
		return nil, nil, err
	}
	g, err := stagingOf(s, r.id)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, g, nil
}

// do performs the run in the same way as the command, and records a failure in the ledger.
func (r sceneRun) do(ctx context.Context, dir string, o Options) error {
	s, g, err := r.begin(ctx, dir, o)
	if err != nil {
		return err
	}
	if err = r.stage(ctx, s, g); err == nil {
		_, err = r.publish(ctx, g)
	}
	if err != nil && !errors.Is(err, errCrash) {
		failed := schema.Run{AccountID: "acme", Command: "sync", FinishedAt: schema.InstantOf(r.at), ExitCode: 7,
			RunID: r.id}
		_ = s.AppendRun(failed, nil) // the command only logs this error
	}
	if errors.Is(err, errCrash) {
		g.close()
		return errors.Join(err, s.Close())
	}
	return errors.Join(err, g.Discard(), s.Close())
}

// staging is the set of changes that a run has staged.
type staging struct {
	*Area
	store    *Store
	settings StagedChange
	days     []StagedChange
}

func stagingOf(s *Store, id string) (*staging, error) {
	a, err := s.Begin(id)
	return &staging{Area: a, store: s, settings: NewStagedChange()}, err
}

// putDay stages a day with one reply.
func (g *staging) putDay(ctx context.Context, d schema.Date, p DayRead, rows *history.Day) error {
	replies := g.store.Replies(g.Area, d)
	err := replies.Put(1, fmt.Appendf(nil, "reply %s", rows.Hash()), rows.Sums().Rows)
	if err != nil {
		return err
	}
	return g.stage(ctx, replies, p, rows)
}

func (g *staging) stage(ctx context.Context, replies *Replies, p DayRead, rows *history.Day) error {
	day, err := replies.Stage(ctx, p, rows)
	g.days = append(g.days, day.StagedChange)
	return err
}

// record returns the record of the run, without the generation, which the function publish adds.
func (r sceneRun) record() RunRecord {
	at := schema.InstantOf(r.at)
	return RunRecord{
		Run: schema.Run{AccountID: "acme", Command: "sync", StartedAt: at, FinishedAt: at, Published: true,
			RunID: r.id},
		Steps: []schema.Step{{AccountID: "acme", Stream: "spend_report", Unit: "x", StartedAt: at, FinishedAt: at,
			Outcome: "stored", RunID: r.id}},
	}
}

func (r sceneRun) publish(ctx context.Context, g *staging) (*manifest.Manifest, error) {
	p := g.publication(r.at)
	p.Changes = append(p.Changes, StagedChange{Change: manifest.Change{Refused: &manifest.Sightings[schema.RefusedRow]{
		Rows: []schema.RefusedRow{{AccountID: "acme", Stream: "spend_report", ReportDate: r.refused, Page: 1,
			RowNumber: 7, Reason: "no campaign", Field: "campaign_id"}}}}})
	m, _, err := publish(ctx, g, p, r.record())
	return m, err
}

// publication returns the publication of everything that is staged.
func (g *staging) publication(at time.Time) Publication {
	reach := StagedChange{Change: manifest.Change{Since: schema.DateOf(at) - schema.ReachDays}}
	return Publication{Area: g.Area, Changes: append(slices.Clone(g.days), g.settings, reach)}
}

// publish publishes the staged changes with the record of a run.
func publish(ctx context.Context, g *staging, p Publication, record RunRecord) (m *manifest.Manifest, is Preview,
	err error) {
	p.Record = func(shows Preview) RunRecord {
		is, record.Run.Generation = shows, shows.Generation
		return record
	}
	m, err = g.store.Publish(ctx, p)
	return m, is, err
}

func (r sceneRun) stage(ctx context.Context, s *Store, g *staging) error {
	seen := schema.InstantOf(r.at)
	for _, d := range slices.Sorted(maps.Keys(r.days)) {
		rows := slices.Clone(r.days[d])
		for i := range rows {
			rows[i].FirstSeenAt, rows[i].ChangedAt, rows[i].RunID = seen, seen, r.id
		}
		sealed, err := history.NewDay(schematest.Packed(rows))
		if err != nil {
			return err
		}
		p := DayRead{ReadAt: seen, ReadOutcome: manifest.ReadOutcome{Control: schema.ControlMatched}}
		if d == r.refused {
			p.Refused = 1
		}
		if err := g.putDay(ctx, d, p, sealed); err != nil {
			return err
		}
	}
	h, err := StoredHistory(s, schema.CampaignHistory)
	if err != nil {
		return err
	}
	if h, _, err = history.Advance[schema.Campaign](schema.CampaignHistory, schema.CampaignHistory.Tracked(), h,
		history.Observation[schema.Campaign]{
			At: seen, RunID: r.id, Seen: r.campaigns, Absence: func(*schema.Campaign) history.Absence {
				return history.Gone
			}, Patience: 2,
		}); err != nil {
		return err
	}
	if err := PutHistory(s, g.Area, &g.settings, schema.CampaignHistory, h); err != nil {
		return err
	}
	limit := schema.AccountLimit{AccountID: "acme", SeenAt: seen, LimitKind: "changes", Used: schema.Some(r.used),
		RunID: r.id}
	limits, err := StoredTable(s, schema.AccountLimits)
	if err != nil {
		return err
	}
	if n := len(limits); n == 0 || limits[n-1].Used != limit.Used {
		limits = append(limits, limit)
	}
	if err := PutTable(s, g.Area, &g.settings, schema.AccountLimits, limits); err != nil {
		return err
	}
	// A failure of the quarantine does not stop the run.
	unproven := s.Replies(g.Area, day-5)
	if r.days[unproven.day] != nil {
		return nil // unreachable in a real run, which does not refuse a proven day
	}
	_, err = unproven.Quarantine(quarantine.Day{ReadAt: seen, Reason: "a column is missing"}, []byte("refused "+r.id))
	if err != nil && !errors.Is(err, durable.ErrStorage) {
		return err
	}
	return nil
}

// sceneStores are the scene's stores before and after the second run, created once.
type sceneStores struct {
	before, after string
	was, is       *manifest.Manifest
	want          string // the result of contentOf for the store after the second run
	tried         sync.Map
}

var sceneOnce struct {
	sync.Mutex
	stores *sceneStores
}

// scene returns the stores with which disturbed stores are compared. TestMain removes them.
func scene(t *testing.T) *sceneStores {
	t.Helper()
	sceneOnce.Lock()
	defer sceneOnce.Unlock()
	if sceneOnce.stores != nil {
		return sceneOnce.stores
	}
	in := ""
	if roomInMemory() {
		in = inMemory
	}
	root, err := os.MkdirTemp(in, "spendsync-scene-")
	if err != nil {
		t.Fatal(err)
	}
	sceneRoot = root
	st := &sceneStores{before: filepath.Join(root, "before"), after: filepath.Join(root, "after")}
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	if err := sceneFirst().do(t.Context(), st.before, o); err != nil {
		t.Fatal(err)
	}
	copyStore(t, st.before, st.after)
	if err := sceneSecond().do(t.Context(), st.after, o); err != nil {
		t.Fatal(err)
	}
	for dir, m := range map[string]**manifest.Manifest{st.before: &st.was, st.after: &st.is} {
		checkScene(t, dir)
		if *m, err = manifest.Read(dir); err != nil {
			t.Fatal(err)
		}
	}
	st.want = contentOf(t, st.is)
	was, is := st.was.Accounts["acme"].Days, st.is.Accounts["acme"].Days
	if was[day-1].Refused != 1 || is[day-1].Refused != 0 || is[day-2].Refused != 1 {
		t.Fatal("no day becomes partial, or ceases to be")
	}
	if st.is.Warehouse.BuiltRows != st.was.Warehouse.BuiltRows {
		t.Fatal("the DuckDB file is built from nothing")
	}
	if contentOf(t, st.was) == st.want || len(st.is.Accounts["acme"].Files) < 12 {
		t.Fatalf("the scene does not change enough:\n%s", st.want)
	}
	sceneOnce.stores = st
	return st
}

var sceneRoot string

// sceneKinds matches the published and staged names of the files that a run of the scene writes, by kind.
var sceneKinds = map[string]*regexp.Regexp{
	"manifest":          regexp.MustCompile(`manifest\.json`),
	"an account's file": regexp.MustCompile(`manifest[/~]account=acme`),
	"commit record":     regexp.MustCompile(`commit\.json`),
	"ledger":            regexp.MustCompile(`ledger[/~]account=acme`),
	"partial day":       regexp.MustCompile(`spend_daily.*day=` + (day - 2).String()),
	"restatements":      regexp.MustCompile(`spend_change`),
	"reply":             regexp.MustCompile(`spend_report.*day=` + (day - 2).String()),
	"quarantined reply": regexp.MustCompile(`quarantine/.*\.zst`),
	"quarantined day":   regexp.MustCompile(`quarantine/.*about\.json`),
	"DuckDB file":       regexp.MustCompile(`warehouse\.duckdb`),
}

// kindOf returns the kind of a file, as in sceneKinds, or an empty text.
func kindOf(path string) string {
	for kind, is := range sceneKinds {
		if is.MatchString(path) {
			return kind
		}
	}
	return ""
}

// TestMain removes the shared stores of the scenes. It also runs the test binary as a reader process.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_PROCESS") == "reader" {
		readUntilTold(os.Args[1])
		return
	}
	debug.SetGCPercent(400) // the heaps of these tests are small
	code := m.Run()
	if sceneRoot != "" {
		os.RemoveAll(sceneRoot)
	}
	os.Exit(code)
}

// copyStore copies a store by linking its files, which is safe because nothing in a store is written in place.
func copyStore(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if strings.HasSuffix(rel, ".lock") {
			return nil // a linked lock file would share its lock
		}
		return os.Link(p, filepath.Join(to, rel))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkScene checks everything in a store of the scene.
func checkScene(t testing.TB, dir string) {
	t.Helper()
	report, err := Verify(context.Background(), dir, sceneOptions(durable.Disk{FS: lazyFiles{}}), nil)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	for _, d := range report.Damages {
		t.Errorf("verify: %v", d)
	}
	folder := quarantine.Folder{Disk: durable.Disk{FS: lazyFiles{}}, Dir: dir, Account: "acme"}
	days, err := folder.Days()
	if err != nil {
		t.Errorf("quarantine: %v", err)
	}
	for _, d := range days {
		for body, err := range folder.Replies(d) {
			if err != nil || string(body) != "refused "+d.RunID {
				t.Errorf("in quarantine of %s: %q, %v", d.Date, body, err)
			}
		}
	}
}

// contentOf returns the files and days of a generation as text, except values that differ from run to run.
func contentOf(t testing.TB, m *manifest.Manifest) string {
	t.Helper()
	var b strings.Builder
	a := m.Accounts["acme"]
	for _, d := range slices.Sorted(maps.Keys(a.Days)) {
		fmt.Fprintf(&b, "%s %s %+v, %d refused\n", d, a.Days[d].ContentHash, a.Days[d].Sums, a.Days[d].Refused)
	}
	for _, path := range slices.Sorted(maps.Keys(a.Files)) {
		if strings.HasPrefix(path, "parquet/ops_") {
			continue // depends on the runs, like the ledger
		}
		fmt.Fprintf(&b, "%s %d %s\n", path, a.Files[path].Rows, a.Files[path].SHA256)
	}
	return b.String()
}

// whole compares every published file on disk with the manifest, and returns the content of the generation. It leaves
// out the ledger, because failed runs add lines.
func whole(t testing.TB, dir string) string {
	t.Helper()
	m, err := manifest.Read(dir)
	if errors.Is(err, durable.ErrEmpty) {
		return "nothing"
	}
	if err != nil {
		t.Errorf("manifest: %v", err)
		return "no manifest"
	}
	for path, info := range m.Accounts["acme"].Files {
		if err := manifest.CheckBytes(durable.OS, dir, path, info); err != nil {
			t.Errorf("generation %d: %v", m.Generation, err)
		}
	}
	if sha, _, err := durable.OS.HashFile(filepath.Join(dir, duck.FileName)); err != nil || sha != m.Warehouse.SHA256 {
		t.Errorf("generation %d: warehouse.duckdb is not what the manifest says (%v)", m.Generation, err)
	}
	for path, n := range m.Accounts["acme"].Ledger {
		err := manifest.CheckLedger(durable.OS, dir, path, n, m.Accounts["acme"].LedgerSHA256[path])
		if err == nil {
			_, _, err = manifest.ReadLedger(durable.OS, dir, path, 0, manifest.ToEnd)
		}
		if err != nil {
			t.Errorf("generation %d: %v", m.Generation, err)
		}
	}
	return contentOf(t, m)
}

// readersSee checks a disturbed store before any recovery: the manifest, the DuckDB file, every Parquet file and every
// reply are complete, each from one of the possible generations.
func (st *sceneStores) readersSee(t testing.TB, dir string, generations []*manifest.Manifest) {
	t.Helper()
	m, err := manifest.Read(dir)
	known := func(g *manifest.Manifest) bool { return g.Generation == m.Generation }
	if err != nil || !slices.ContainsFunc(generations, known) {
		t.Errorf("a reader finds the manifest %+v, %v", m, err)
		return
	}
	is := func(path string) string {
		sha, _, err := durable.OS.HashFile(filepath.Join(dir, path))
		if errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		if err != nil {
			t.Error(err)
		}
		return sha
	}
	paths := map[string]bool{}
	found := is(duck.FileName)
	if !slices.ContainsFunc(generations, func(g *manifest.Manifest) bool { return g.Warehouse.SHA256 == found }) {
		t.Error("a reader finds a warehouse.duckdb that is neither the old nor the new one")
	}
	for _, g := range generations {
		for path := range g.Accounts["acme"].Files {
			paths[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		sha := is(path)
		if !slices.ContainsFunc(generations, func(g *manifest.Manifest) bool {
			info := g.Accounts["acme"].Files[path]
			return info == nil && sha == "" || info != nil && sha == info.SHA256
		}) {
			t.Errorf("a reader finds %s neither as it was nor as it is to be", path)
		}
	}
}

// settled opens a disturbed store. The store must be intact and of the old or the new generation, and one clean run
// must bring it into the state of a store that was never disturbed. The clean run is left out if an equal state was
// tested before.
func (st *sceneStores) settled(t testing.TB, dir string) (content string) {
	t.Helper()
	ctx := context.Background()
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	o.Now = func() time.Time { return sceneSecond().at }
	s, err := Open(ctx, dir, "acme", o)
	if err != nil {
		t.Errorf("the next start: %v", err)
		return ""
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if there := durable.Exists(filepath.Join(dir, manifest.CommitName)); there {
		t.Error("the commit record is still there")
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "staging")); len(left) > 0 {
		t.Errorf("%d leftovers in staging", len(left))
	}
	content = whole(t, dir)
	if content != contentOf(t, st.was) && content != st.want {
		t.Errorf("neither the old nor the new generation:\n%s", content)
	}
	if !st.first(content) {
		return content
	}
	checkScene(t, dir)
	if err := sceneSecond().do(ctx, dir, o); err != nil {
		t.Errorf("the next run: %v", err)
	}
	if got := whole(t, dir); got != st.want {
		t.Errorf("after the next run:\n%s\nwant\n%s", got, st.want)
	}
	checkScene(t, dir)
	return content
}

// first reports whether a state has not been tested before.
func (st *sceneStores) first(state string) bool {
	_, was := st.tried.LoadOrStore(sha256.Sum256([]byte(state)), true)
	return !was
}

func (r sceneRun) now() time.Time { return r.at }
