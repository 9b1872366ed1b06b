package lake

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/oklog/ulid/v2"

	"spendsync/load/lake/resttest"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// world is a lake in this process: a catalog and an S3, which tests disturb.
type world struct {
	testing.TB
	rest    *resttest.Catalog
	url     string // of the catalog
	s3      string // address of the S3
	objects atomic.Int64
	backend *s3mem.Backend
	s3fault func(r *http.Request) int // status to answer with; 0: none
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, rest: &resttest.Catalog{Warehouse: "s3://lake/wh"}}
	backend := s3mem.New()
	w.backend = backend
	if err := backend.CreateBucket("lake"); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	s3 := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.objects.Add(1)
		if w.s3fault != nil {
			if code := w.s3fault(r); code != 0 {
				rw.WriteHeader(code)
				return
			}
		}
		fake.ServeHTTP(rw, r)
	}))
	t.Cleanup(s3.Close)
	rest := httptest.NewServer(w.rest)
	t.Cleanup(rest.Close)
	w.url, w.s3 = rest.URL, s3.URL
	return w
}

func (w *world) options() Options { return optionsOf(w.url, w.s3) }

func optionsOf(catalog, s3 string) Options {
	return Options{Catalog: catalog, Warehouse: "wh", Namespace: "spendsync", S3Endpoint: s3, Region: "us-east-1",
		AccessKey: "key", SecretKey: "secret-canary", Version: "test"}
}

func (w *world) open() *Lake {
	w.Helper()
	l, err := Open(w.Context(), w.options())
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { l.Close() })
	return l
}

// follow follows a store and checks that the lake then holds just what the store does.
func (w *world) follow(s *store) *Followed {
	w.Helper()
	l := w.open()
	done, err := l.Follow(w.Context(), FollowOptions{Dir: s.dir})
	if err != nil {
		w.Fatal(err)
	}
	w.check(l, s)
	return done
}

// check compares the live files of the lake with those of the store: by name, and each object
// byte by byte.
func (w *world) check(l *Lake, s *store) {
	w.Helper()
	want, got := map[string]string{}, map[string]string{}
	for account, a := range s.m.Accounts {
		for _, f := range a.Files {
			if f.Rows > 0 {
				want[fmt.Sprintf("%s %s %d", account, f.SHA256, f.Rows)] = f.Table
			}
		}
	}
	for _, e := range w.live(l) {
		d := e.entry.DataFile()
		account := partitionOfFile(d).account
		if s.m.Accounts[account] == nil {
			continue
		}
		b, err := readObject(e.t, d.FilePath())
		if err != nil {
			w.Fatal(err)
		}
		for _, id := range w.idsOf(s, account, d, b) {
			if got[id] != "" {
				w.Errorf("%s is in the lake twice", d.FilePath())
			}
			got[id] = e.t.spec.table.FullName()
		}
		if order := d.SortOrderID(); order == nil ||
			*order != e.t.tbl.SortOrder().OrderID() {
			w.Errorf("%s has no sort order", d.FilePath())
		}
	}
	for id, table := range want {
		if got[id] != table {
			w.Errorf("%s of %s is not in the lake", id, table)
		}
	}
	for id, table := range got {
		if want[id] != table {
			w.Errorf("%s of %s is in the lake and not in the store", id, table)
		}
	}
	status, err := l.Status(w.Context(), s.dir)
	if err != nil || status.Behind != 0 {
		w.Errorf("status: %+v, %v", status, err)
	}
}

// idsOf say which files of the store an object is: itself, or the days whose rows it has.
func (w *world) idsOf(s *store, account string, d iceberg.DataFile, b []byte) (ids []string) {
	w.Helper()
	if !isMonth(d) {
		sum := sha256.Sum256(b)
		return []string{fmt.Sprintf("%s %s %d", account, hex.EncodeToString(sum[:]), d.Count())}
	}
	file := filepath.Join(w.TempDir(), "month.parquet")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		w.Fatal(err)
	}
	all, err := parquet.ReadRows(file, schema.SpendDaily)
	if err != nil || int64(len(all)) != d.Count() {
		w.Fatalf("%s: %d rows, %v", d.FilePath(), len(all), err)
	}
	days := map[schema.Date][]schema.Spend{}
	for i, r := range all {
		if i > 0 && r.ReportDate < all[i-1].ReportDate {
			w.Errorf("%s is not sorted", d.FilePath())
		}
		days[r.ReportDate] = append(days[r.ReportDate], r)
	}
	for day, rows := range days {
		path := manifest.PartPath(schema.SpendDaily.Table, account, day)
		info := s.m.Accounts[account].Files[path]
		want, err := parquet.ReadRows(filepath.Join(s.dir, path), schema.SpendDaily)
		if err != nil || info == nil || !reflect.DeepEqual(rows, want) {
			w.Errorf("%s: %d rows of %s, not %d: %v", d.FilePath(), len(rows), day, len(want), err)
			continue
		}
		ids = append(ids, fmt.Sprintf("%s %s %d", account, info.SHA256, info.Rows))
	}
	return ids
}

// isMonth reports whether an object holds the days of a closed month.
func isMonth(d iceberg.DataFile) bool {
	day, _, _ := strings.Cut(filepath.Base(d.FilePath()), "m")
	return len(day) == len("2026-09")
}

type liveFile struct {
	t     *lakeTable
	entry iceberg.ManifestEntry
}

// live are the files of the current snapshots, those of the marker left out.
func (w *world) live(l *Lake) (all []liveFile) {
	w.Helper()
	tables, err := l.tables(w.Context(), false)
	if err != nil {
		w.Fatal(err)
	}
	for _, t := range tables {
		if t.spec.table == nil || t.tbl.CurrentSnapshot() == nil {
			continue
		}
		manifests, err := t.tbl.CurrentSnapshot().Manifests(t.fs)
		if err != nil {
			w.Fatal(err)
		}
		for _, m := range manifests {
			entries, err := entriesOf(m, t.fs)
			if err != nil {
				w.Fatal(err)
			}
			for _, e := range entries {
				all = append(all, liveFile{t, e})
			}
		}
	}
	return all
}

func readObject(t *lakeTable, path string) ([]byte, error) {
	f, err := t.fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// store is a store of files and a manifest, made without a sync: a lake reads no more of it.
type store struct {
	t   testing.TB
	dir string
	m   *manifest.Manifest
	now time.Time
}

// want is what the lake shall have of a manifest.
func want(t testing.TB, m *manifest.Manifest, specs []*tableSpec) *wanted {
	t.Helper()
	l, err := manifest.ListingOf(m)
	if err != nil {
		t.Fatal(err)
	}
	w, err := wantOf(l, specs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newStore(t testing.TB, accounts ...string) *store {
	// September is closed by the twelfth generation.
	s := &store{t: t, dir: t.TempDir(), m: manifest.New(), now: time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)}
	for _, a := range accounts {
		s.m.Of(a).Since = day("2026-09-01")
	}
	return s
}

func day(text string) schema.Date {
	d, err := schema.ParseDate(text)
	if err != nil {
		panic(err)
	}
	return d
}

// spend stores a day of the report with some rows; other clicks make it another file.
func (s *store) spend(account, date string, rows int, clicks int64) {
	d := day(date)
	var all []schema.Spend
	for i := range rows {
		all = append(all, schema.Spend{AccountID: account, ReportDate: d, CampaignID: fmt.Sprintf("C%03d", i),
			Clicks: schema.Some(clicks)})
	}
	putRows(s, schema.SpendDaily, account, d, all)
	s.m.Accounts[account].Days[d] = &manifest.Day{}
}

// versions stores versions of a campaign's delivery, whose columns have ids from 101 on.
func (s *store) versions(account string, n int) {
	var all []schema.Delivery
	for i := range n {
		d := schema.Delivery{AccountID: account, CampaignID: "C1"}
		d.VersionNo = int64(i + 1)
		all = append(all, d)
	}
	putRows(s, schema.DeliveryHistory, account, 0, all)
}

func putRows[R any](s *store, t schema.TableOf[R], account string, d schema.Date, rows []R) {
	s.t.Helper()
	var b bytes.Buffer
	n, err := parquet.Write(&b, t.Table, parquet.Record(t, rows))
	if err != nil {
		s.t.Fatal(err)
	}
	path := manifest.PartPath(t.Table, account, d)
	s.write(path, b.Bytes())
	sum := sha256.Sum256(b.Bytes())
	s.m.Accounts[account].Files[path] = &manifest.File{Kind: manifest.KindParquet, Table: t.FullName(), Day: d,
		Rows:  n,
		Bytes: int64(b.Len()), SHA256: hex.EncodeToString(sum[:]), RunID: s.run()}
}

func (s *store) run() string {
	return ulid.MustNew(ulid.Timestamp(s.now), bytes.NewReader(make([]byte, 10))).String()
}

func (s *store) write(path string, b []byte) {
	s.t.Helper()
	path = filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// publish makes what was stored a generation.
func (s *store) publish() {
	s.t.Helper()
	s.m.Generation++
	s.m.RunID = s.run()
	s.m.PublishedAt = schema.InstantOf(s.now)
	b, err := s.m.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	for path, part := range b.Parts {
		s.write(path, part)
	}
	s.write(manifest.FileName, b.Root)
	for account := range s.m.Accounts {
		path := filepath.Join(s.dir, manifest.LedgerPath(account, s.now))
		old, _ := os.ReadFile(path)
		s.write(manifest.LedgerPath(account, s.now), append(old, fmt.Sprintf("{\"_run_id\":%q}\n", s.m.RunID)...))
	}
	s.now = s.now.Add(time.Hour)
}

// sample is a published store with two accounts, three months, and a table of versions.
func sample(t testing.TB) *store {
	s := newStore(t, "acme", "beta-with-a-name-that-is-forty-long-0001")
	for account := range s.m.Accounts {
		for _, d := range []string{"2026-09-30", "2026-10-01", "2026-10-31", "2026-11-01", "2026-11-02"} {
			s.spend(account, d, 3, 7)
		}
		s.versions(account, 2)
	}
	s.publish()
	return s
}

var errDied = errors.New("died")

// diesAt has a lake end its commit when it reaches a step for the nth time.
func diesAt(step string, nth int) func(string) error {
	var mu sync.Mutex // files are uploaded a few at a time
	return func(s string) error {
		mu.Lock()
		defer mu.Unlock()
		if s == step {
			if nth--; nth == 0 {
				return errDied
			}
		}
		return nil
	}
}
