package lake

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"spendsync/cmd/spendsync-lake/lake/laketest"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// fails calls Follow, which must return the error want and leave the lake unchanged.
func (w *world) fails(s *store, o Options, want error) error {
	w.Helper()
	before := w.State()
	l, err := Open(w.Context(), o)
	if err == nil {
		defer l.Close()
		_, err = l.Follow(w.Context(), FollowOptions{Dir: s.Dir})
	}
	if !errors.Is(err, want) {
		w.Errorf("got %v, want %v", err, want)
	}
	if err != nil && strings.Contains(err.Error(), "secret-canary") {
		w.Errorf("the error shows a secret: %v", err)
	}
	if after := w.State(); !maps.Equal(before, after) {
		w.Errorf("the lake was %v and is %v", before, after)
	}
	return err
}

func TestFollow_RefusesALakeAheadOfTheStore(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := sample(t)
	backup := t.TempDir()
	if err := os.CopyFS(backup, os.DirFS(s.Dir)); err != nil {
		t.Fatal(err)
	}
	old, err := manifest.Read(backup)
	if err != nil {
		t.Fatal(err)
	}
	s.Spend("acme", "2026-11-03", 2, 1)
	s.Publish()
	w.follow(s)
	set := &store{TB: t, Dir: backup, M: old, Now: s.Now.Add(time.Minute), Every: time.Hour}
	if err := w.fails(set, w.options(), ErrAhead); !strings.Contains(err.Error(), "generation 2") {
		t.Error(err)
	}
	set.Publish() // generation 2, of another run
	w.fails(set, w.options(), ErrAhead)
	set.Publish() // generation 3, without the day that the lake has
	w.fails(set, w.options(), ErrShrink)
}

func TestFollow_RefusesToShrink(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := sample(t)
	w.follow(s)
	path := manifest.TablePath(schema.SpendDaily.Table, "acme", day("2026-10-01"))
	info := s.M.Accounts["acme"].Files[path]
	delete(s.M.Accounts["acme"].Files, path)
	delete(s.M.Accounts["acme"].Days, day("2026-10-01"))
	s.Publish()
	if err := w.fails(s, w.options(), ErrShrink); !strings.Contains(err.Error(), "2026-10-01") {
		t.Error(err)
	}
	s.M.Accounts["acme"].Files[path] = info
	s.M.Accounts["acme"].Days[day("2026-10-01")] = &manifest.Day{}
	s.Versions("acme", 1) // one row fewer in a table that cannot be rebuilt
	s.Publish()
	w.fails(s, w.options(), ErrShrink)
	l := w.open()
	if _, err := l.Follow(t.Context(), FollowOptions{Dir: s.Dir, AllowShrink: true}); err != nil {
		t.Fatal(err)
	}
	w.check(l, s)
}

func TestFollow_RefusesTablesOfOthers(t *testing.T) {
	schematest.Long(t)
	spec := specOf(schema.DeliveryHistory.Table)
	for name, props := range map[string]iceberg.Properties{
		"made by others": {"format-version": "2"},
		"other ids":      spec.props, // the catalog assigns its own ids
		"format":         {"format-version": "1", versionProperty: "4"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := w.open()
			if err := l.ensureNamespace(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := l.catalog.CreateTable(t.Context(), l.identifier(spec.name), spec.schema,
				icebergcatalog.WithPartitionSpec(&spec.parts), icebergcatalog.WithProperties(props)); err != nil {
				t.Fatal(err)
			}
			w.fails(sample(t), w.options(), ErrForeign)
		})
	}
	t.Run("cut otherwise", func(t *testing.T) {
		w := newWorld(t)
		l := w.open()
		if err := l.ensureNamespace(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := *spec
		other.parts = *iceberg.UnpartitionedSpec
		if _, err := l.create(t.Context(), &other); err != nil {
			t.Fatal(err)
		}
		w.fails(sample(t), w.options(), ErrForeign)
	})
	t.Run("another table of the same name", func(t *testing.T) {
		w := newWorld(t)
		s, other := sample(t), newStore(t, "gamma")
		w.follow(s)
		w.Rest.Forget("spendsync", "spend_daily")
		other.Spend("gamma", "2026-11-01", 1, 1)
		other.Publish()
		w.follow(other)
		s.Publish()
		w.follow(s) // recreates the table
		w.check(w.open(), other)
	})
}

func TestFollow_RefusesNewerTables(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := sample(t)
	w.follow(s)
	l := w.open()
	set := func(version string) {
		if _, _, err := l.catalog.CommitTable(t.Context(), l.identifier("calendar"), nil, []table.Update{
			table.NewSetPropertiesUpdate(iceberg.Properties{versionProperty: version})}); err != nil {
			t.Fatal(err)
		}
	}
	set("99")
	s.Publish()
	w.fails(s, w.options(), ErrNewer)
	set("4")
	w.follow(s)
	row := Marker{AccountID: "acme", SchemaVersion: schema.Version + 1, RunID: s.M.RunID, Generation: s.M.Generation}
	if err := row.checkAhead(s.M); !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
}

func TestFollow_AddsColumnsBehindTheOthers(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := sample(t)
	old := w.open()
	for i, spec := range old.specs { // the specs of an older binary, without the last nullable column
		if spec.name == "spend_daily" {
			fields := spec.schema.Fields()
			short := *spec
			for at := len(fields) - 1; ; at-- {
				if !fields[at].Required {
					fields = append(fields[:at:at], fields[at+1:]...)
					break
				}
			}
			short.schema = iceberg.NewSchemaWithIdentifiers(0, spec.schema.IdentifierFieldIDs, fields...)
			short.props = maps.Clone(spec.props)
			short.props[versionProperty] = strconv.Itoa(schema.Version - 1)
			old.specs[i] = &short
		}
	}
	if err := old.ensureNamespace(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := old.ensureAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := len(w.Rest.Metadata("spendsync", "spend_daily").CurrentSchema().Fields())
	w.follow(s)
	after := w.Rest.Metadata("spendsync", "spend_daily").CurrentSchema()
	if len(after.Fields()) != before+1 || len(after.Fields()) != len(schema.SpendDaily.Columns) {
		t.Errorf("%d columns, then %d", before, len(after.Fields()))
	}
}

// TestFollow_PutsItsFilesBackAfterACompaction: another engine has merged two days into one file. The next generation
// changes neither day, but its commit replaces that file by the store's files.
func TestFollow_PutsItsFilesBackAfterACompaction(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := sample(t)
	w.follow(s)
	w.compact("acme", "2026-11-01", "2026-11-02")
	if files := len(w.Live()); files != 11 {
		t.Fatalf("%d files after the compaction, want 11", files)
	}
	s.Versions("acme", 3)
	s.Publish()
	if done := w.follow(s); done.Added != 3 || done.Removed != 2 ||
		!slices.Equal(done.Changed, []string{"spend_daily"}) {
		t.Errorf("%+v", done)
	}
}

// compact merges the files of days into one file, as another engine would.
func (w *world) compact(account string, days ...string) {
	w.Helper()
	l := w.open()
	ctx := l.storage(w.Context())
	t, err := l.load(ctx, specOf(schema.SpendDaily.Table))
	if err != nil {
		w.Fatal(err)
	}
	data, _, err := t.files()
	if err != nil {
		w.Fatal(err)
	}
	var removed []iceberg.DataFile
	var rows []schema.Spend
	for _, d := range data {
		if on, _ := dayOf(d.FilePath()); accountOf(d) == account && slices.Contains(days, on.String()) {
			removed = append(removed, d)
			for range d.Count() {
				rows = append(rows, schema.Spend{AccountID: account, ReportDate: on, CampaignID: "C"})
			}
		}
	}
	var b bytes.Buffer
	if _, err := parquet.Write(&b, schema.SpendDaily.Table, parquet.Record(schema.SpendDaily, rows)); err != nil {
		w.Fatal(err)
	}
	d, err := t.put(ctx, "data/account_id="+account+"/00000-1-of-another.parquet", b.Bytes())
	if err != nil {
		w.Fatal(err)
	}
	tx := t.tbl.NewTransaction()
	err = tx.ReplaceDataFilesWithDataFiles(ctx, removed, []iceberg.DataFile{d}, nil)
	if err == nil {
		_, err = tx.Commit(ctx)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// TestFollow_TwoWritersLoseNothing: two stores commit to the same tables at the same time.
func TestFollow_TwoWritersLoseNothing(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	stores := []*store{newStore(t, "acme"), newStore(t, "beta")}
	var g sync.WaitGroup
	commits := laketest.Rounds(10, 100)
	for _, s := range stores {
		account := s.M.AccountNames()[0]
		s.Spend(account, "2026-11-01", 2, 1)
		s.Publish()
		w.follow(s)
		l := w.open()
		g.Go(func() {
			for n := range commits {
				s.Spend(account, (day("2026-09-01") + schema.Date(n)).String(), 2, int64(n))
				s.Publish()
				if _, err := l.Follow(t.Context(), FollowOptions{Dir: s.Dir}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	g.Wait()
	for _, s := range stores {
		w.check(w.open(), s)
	}
	if got := len(w.Snapshots("spend_daily")); got != 2*commits+2 {
		t.Errorf("%d snapshots, want %d", got, 2*commits+2)
	}
}

func TestFollow_StandsWhatIsAway(t *testing.T) {
	schematest.Long(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	for name, one := range map[string]struct {
		disturb func(w *world, on *bool)
		want    error
	}{
		"catalog": {func(w *world, on *bool) { w.Rest.Away = func() bool { return *on } }, ErrUnreachable},
		"storage": {func(w *world, on *bool) {
			w.S3Fault = func(r *http.Request) int {
				if *on && r.Method == http.MethodPut {
					return http.StatusInternalServerError
				}
				return 0
			}
		}, ErrUnreachable},
		"one prefix": {func(w *world, on *bool) {
			w.S3Fault = func(r *http.Request) int {
				if *on && r.Method == http.MethodPut && strings.Contains(r.URL.Path,
					"/campaign_delivery_history/data/") {
					return http.StatusForbidden
				}
				return 0
			}
		}, ErrDenied},
		"credentials": {func(w *world, on *bool) {
			w.S3Fault = func(*http.Request) int {
				if *on {
					return http.StatusForbidden
				}
				return 0
			}
		}, ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := sample(t)
			w.follow(s)
			s.Spend("acme", "2026-11-02", 4, 8)
			s.Versions("acme", 3)
			s.Publish()
			on := true
			one.disturb(w, &on)
			w.fails(s, w.options(), one.want)
			on = false
			w.follow(s)
		})
	}
}

// TestFollow_BeginsAgainWhereTheStoreMovedOn: a newer generation replaces files while Follow uploads the first file.
func TestFollow_BeginsAgainWhereTheStoreMovedOn(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := sample(t)
	l := w.open()
	var first sync.Once
	w.S3Fault = func(r *http.Request) int {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/data/") {
			first.Do(func() {
				for _, d := range []string{"2026-09-30", "2026-10-01", "2026-10-31", "2026-11-01", "2026-11-02"} {
					s.Spend("acme", d, 5, 9)
				}
				s.Publish()
			})
		}
		return 0
	}
	done, err := l.Follow(t.Context(), FollowOptions{Dir: s.Dir})
	if err != nil || done.Generation != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	w.check(w.open(), s)
}

// TestFollow_WithoutTransactionsStandsLostAnswers: the commit of each table happens, but its reply is lost. If
// lake_generation were not the last table, the next try would find the new generation there and leave out the rest.
func TestFollow_WithoutTransactionsStandsLostAnswers(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	w.Rest.NoTransactions = true
	w.follow(s)
	for nth := 1; nth <= 3; nth++ {
		s.Spend("acme", "2026-11-02", 4, int64(10+nth))
		s.Versions("acme", 2+nth)
		s.Publish()
		commits := 0
		w.Rest.After = func([]string) error {
			if commits++; commits == nth {
				return errors.New("lost")
			}
			return nil
		}
		if done := w.follow(s); commits < 3 {
			t.Errorf("answer %d lost: %+v, %d commits", nth, done, commits)
		}
	}
}

func TestUpload_RefusesAFileOfAnotherAccount(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := sample(t)
	from := manifest.TablePath(schema.SpendDaily.Table, "acme", day("2026-11-02"))
	to := manifest.TablePath(schema.SpendDaily.Table, "beta-with-a-name-that-is-forty-long-0001", day("2026-11-02"))
	b, err := os.ReadFile(filepath.Join(s.Dir, from))
	if err != nil {
		t.Fatal(err)
	}
	s.Write(to, b)
	s.M.Accounts["beta-with-a-name-that-is-forty-long-0001"].Files[to] = s.M.Accounts["acme"].Files[from]
	s.Publish()
	w.fails(s, w.options(), durable.ErrDamaged)
}

// TestFollow_TwoFollowersOfOneStore: two followers run for the same store. Each generation is committed by one
// follower, and the other follower finds it committed.
func TestFollow_TwoFollowersOfOneStore(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	w.follow(s)
	generations := laketest.Rounds(10, 100)
	nothing := 0
	for n := range generations {
		s.Spend("acme", (day("2026-10-20") + schema.Date(n%15)).String(), 2, int64(n))
		s.Publish()
		var g sync.WaitGroup
		var all [2]*Followed
		for i := range all {
			l := w.open()
			g.Go(func() {
				var err error
				if all[i], err = l.Follow(t.Context(), FollowOptions{Dir: s.Dir}); err != nil {
					t.Errorf("generation %d: %v", s.M.Generation, err)
				}
			})
		}
		if g.Wait(); t.Failed() {
			return
		}
		for _, done := range all {
			if done.IsNothing() {
				nothing++
			}
		}
		w.check(w.open(), s)
	}
	if got := len(w.Snapshots("spend_daily")); got != generations+1 || nothing != generations {
		t.Errorf("%d snapshots and %d followers with nothing to do, want %d and %d", got, nothing, generations+1,
			generations)
	}
}

// TestFollow_StandsWhatGoesAwayInTheMiddle: at some request of the follower, the catalog or the storage fails, and
// stays unavailable. The lake then holds a single generation, and the next run brings the lake to the newest
// generation.
func TestFollow_StandsWhatGoesAwayInTheMiddle(t *testing.T) {
	schematest.Long(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	stride := int64(3)
	if laketest.Rounds(0, 1) > 0 {
		stride = 1
	}
	for what, isAway := range map[string]func(w *world, away func() bool){
		"catalog": func(w *world, away func() bool) { w.Rest.Away = away },
		"storage": func(w *world, away func() bool) {
			w.S3Fault = func(*http.Request) int {
				if away() {
					return http.StatusServiceUnavailable
				}
				return 0
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			w, s := newWorld(t), sample(t)
			w.follow(s)
			failed := 0
			for from := int64(1); ; from += stride {
				s.Spend("acme", "2026-11-02", 4, from)
				s.Versions("acme", 2+int(from))
				s.Publish()
				var sent atomic.Int64
				isAway(w, func() bool { return sent.Add(1) >= from })
				before := w.State()
				_, err := followWith(t, w.options(), s)
				isAway(w, func() bool { return false })
				if err == nil {
					break
				}
				if failed++; !errors.Is(err, ErrUnreachable) {
					t.Errorf("away from request %d on: %v", from, err)
				}
				if !maps.Equal(before, w.State()) {
					t.Errorf("away from request %d on, and the lake is another", from)
				}
				if w.follow(s); t.Failed() {
					return
				}
			}
			w.check(w.open(), s)
			t.Logf("it went away at %d requests", failed)
		})
	}
}
