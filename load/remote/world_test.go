package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/history"
	"spendsync/load/loadtest"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// store is a small store for tests.
type store struct {
	testing.TB
	dir    string
	now    time.Time
	pinned string
	past   string // all publications of the store, as a key of made; empty: unknown
}

func newStore(t testing.TB) *store {
	return &store{TB: t, dir: t.TempDir(), now: time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC), pinned: "A1",
		past: "new"}
}

func storeOptions(now time.Time) load.Options {
	return load.Options{Now: func() time.Time { return now }, LockWait: time.Minute,
		DuckDB: duck.Options{Threads: 1}}
}

// publish publishes a generation, one hour after the last. Each of the given amounts in cents is the spend of a day
// with one row and one reply; the first amount is that of yesterday. Stores with the same past are created once and
// copied.
func (s *store) publish(cents ...int64) {
	s.Helper()
	s.now = s.now.Add(time.Hour)
	isMade := true
	publish := func() {
		isMade = false
		if err := s.tryPublish(s.Context(), cents); err != nil {
			s.Fatal(err)
		}
	}
	if s.past == "" {
		publish()
		return
	}
	s.past += fmt.Sprint("; ", s.now, s.pinned, cents)
	next := &store{TB: s.TB, dir: filepath.Join(s.TempDir(), "next")}
	made.Copy(s, s.past, next.dir, func() {
		publish()
		if err := os.CopyFS(next.dir, os.DirFS(s.dir)); err != nil {
			s.Fatal(err)
		}
	})
	if isMade {
		if err := errors.Join(os.RemoveAll(s.dir), os.Rename(next.dir, s.dir)); err != nil {
			s.Fatal(err)
		}
	}
}

// made has the stores that exist already, by the field past.
var made loadtest.Stores

func (s *store) tryPublish(ctx context.Context, cents []int64) (err error) {
	seen := schema.InstantOf(s.now)
	run := fmt.Sprintf("run%d%s", s.now.Unix(), s.pinned) // different stores have different run IDs
	st, err := load.Open(ctx, s.dir, "acme", storeOptions(s.now))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	area, err := st.Begin(run)
	if err != nil {
		return err
	}
	defer area.Discard()
	parts := []load.StagedChange{{Change: manifest.Change{Since: schema.DateOf(s.now) - 30, Pinned: s.pinned}}}
	for i, c := range cents {
		day := schema.DateOf(s.now) - 1 - schema.Date(i)
		rows := &schema.SpendRows{}
		rows.Append(&schema.Spend{AccountID: "acme", ReportDate: day, CampaignID: "C1", SourceID: "S1",
			Spend: schema.Money(c * 10_000), FirstSeenAt: seen, ChangedAt: seen, RunID: run})
		sealed, err := history.NewDay(rows)
		if err != nil {
			return err
		}
		replies := st.Replies(area, day)
		if err := replies.Put(1, fmt.Appendf(nil, `{"reply":%d}`, c), 1); err != nil {
			return err
		}
		staged, err := replies.Stage(ctx, load.DayRead{ReadAt: seen,
			ReadOutcome: manifest.ReadOutcome{Control: schema.ControlMatched}}, sealed)
		if err != nil {
			return err
		}
		parts = append(parts, staged.StagedChange)
	}
	_, err = st.Publish(ctx, load.Publication{Area: area, Changes: parts, Record: func(is load.Preview) load.RunRecord {
		return load.RunRecord{Run: schema.Run{AccountID: "acme", Command: "sync", StartedAt: seen, FinishedAt: seen,
			Generation: is.Generation, Published: true, RunID: run}}
	}})
	return err
}

// at returns a store like this one in another folder.
func (s *store) at(dir string) *store {
	return &store{TB: s.TB, dir: dir, now: s.now, pinned: s.pinned}
}

// copied returns a copy of the store, like a backup.
func (s *store) copied() *store {
	dir := filepath.Join(s.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(s.dir)); err != nil {
		s.Fatal(err)
	}
	return s.at(dir)
}

// published returns the contents of the generation's files, by path.
func (s *store) published() map[string]string {
	s.Helper()
	snap, err := load.ReadSnapshot(s.dir)
	if err != nil {
		s.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range snap.Files {
		r, err := snap.Open(f)
		if err != nil {
			s.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			s.Fatal(err)
		}
		files[f.Path] = string(b)
	}
	return files
}

// checkStore verifies a folder, and compares its files with the wanted contents.
func checkStore(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	r, err := load.Verify(t.Context(), dir, storeOptions(time.Now()), nil)
	if err != nil || len(r.Damages) > 0 {
		t.Fatalf("%v, %v", err, r)
	}
	got := (&store{TB: t, dir: dir}).published()
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for path, content := range want {
		if got[path] != content {
			t.Errorf("%s differs", path)
		}
	}
}

// place is the destination of a test's pushes.
type place struct {
	testing.TB
	url     string
	dir     string                // the folder; empty for an S3
	fault   atomic.Pointer[fault] // answers instead of the storage
	counted atomic.Int64
}

// eachPlace runs a test against a folder and against an S3.
func eachPlace(t *testing.T, test func(*testing.T, *place)) {
	t.Run("file", func(t *testing.T) { test(t, newFolder(t)) })
	t.Run("s3", func(t *testing.T) { test(t, newS3(t)) })
}

// proxyTo returns a handler that forwards requests to another server, with the same paths.
func proxyTo(t testing.TB, address string) http.Handler {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: u.Scheme, Host: u.Host})
	proxy.ErrorLog = log.New(io.Discard, "", 0) // unfinished requests fail when the test ends
	return proxy
}

func newFolder(t testing.TB) *place {
	dir := filepath.Join(t.TempDir(), "bucket")
	return &place{TB: t, url: "file://" + dir, dir: dir}
}

// fault answers a request, or returns false to pass it on to the storage.
type fault func(w http.ResponseWriter, r *http.Request) bool

func (p *place) fail(f fault) { p.fault.Store(&f) }

// canary is the secret key, which must not appear anywhere.
const canary = "secret-canary-0123456789"

func newS3(t testing.TB) *place {
	p := &place{TB: t}
	address := p.serve(storageBehind(t))
	if t, ok := t.(*testing.T); ok {
		t.Setenv("AWS_ACCESS_KEY_ID", "key")
		t.Setenv("AWS_SECRET_ACCESS_KEY", canary)
		t.Setenv("AWS_REGION", "us-east-1")
		t.Setenv("AWS_ENDPOINT_URL", address)
		t.Setenv("AWS_CONFIG_FILE", "/dev/null")
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	}
	p.url = "s3://" + bucketName + "/store/" + rand.Text()
	return p
}

// serve starts a proxy in front of a storage, which can simulate faults, and returns its address.
func (p *place) serve(storage http.Handler) (address string) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.counted.Add(1)
		if f := p.fault.Load(); f == nil || !(*f)(w, r) {
			storage.ServeHTTP(w, r)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // gofakes3 writes some headers twice
	server.Start()
	p.Cleanup(server.Close)
	return server.URL
}

// bucketName is the bucket of all tests; each test has its own prefix.
const bucketName = "spend"

// storageBehind returns an S3 in memory. With SPENDSYNC_TEST=long it returns the server at AWS_ENDPOINT_URL instead,
// which must have the bucket and accept any key.
func storageBehind(t testing.TB) http.Handler {
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint != "" && schematest.Times(0, 0, 1) == 1 {
		return proxyTo(t, endpoint)
	}
	memory := s3mem.New()
	if err := memory.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	return gofakes3.New(memory, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
}

func (p *place) open() *Bucket {
	p.Helper()
	b, err := Open(p.url, Options{Pause: time.Millisecond})
	if err != nil {
		p.Fatal(err)
	}
	return b
}

// page returns a report page for tests.
func page(context.Context) ([]byte, error) {
	return []byte("<!doctype html><title>report</title>"), nil
}

func (s *store) pushOptions() PushOptions {
	return PushOptions{Dir: s.dir, Page: page, LockWait: time.Minute,
		Pause: func(ctx context.Context) error { return ctx.Err() }}
}

func (p *place) push(s *store) (*Pushed, error) { return p.open().Push(p.Context(), s.pushOptions()) }

func (p *place) mustPush(s *store) *Pushed {
	p.Helper()
	done, err := p.push(s)
	if err != nil {
		p.Fatal(err)
	}
	return done
}

func (p *place) pull(o PullOptions) (*Pulled, error) {
	o.Store = storeOptions(time.Now())
	return p.open().Pull(p.Context(), o)
}

// check pulls the complete store and compares its files with the wanted contents.
func (p *place) check(want map[string]string) {
	p.Helper()
	dir := filepath.Join(p.TempDir(), "all")
	if _, err := p.pull(PullOptions{Dir: dir, All: true}); err != nil {
		p.Fatal(err)
	}
	checkStore(p, dir, want)
	p.checkGlob(want)
}

// checkGlob compares the files below parquet/ in the bucket with the files of the generation.
func (p *place) checkGlob(want map[string]string) {
	p.Helper()
	got := p.objects()
	for name, content := range want {
		if isParquet(name) && got[name] != content {
			p.Errorf("%s is not that of the generation", name)
		}
	}
	for name := range got {
		if isParquet(name) && want[name] == "" {
			p.Errorf("%s is shown, and not of the generation", name)
		}
	}
}

// objects returns the contents of all objects, by the names below the prefix.
func (p *place) objects() map[string]string {
	p.Helper()
	all := map[string]string{}
	if p.dir != "" {
		err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			rel, _ := filepath.Rel(p.dir, path)
			all[rel] = string(b)
			return err
		})
		if err != nil {
			p.Fatal(err)
		}
		delete(all, lockName)
		return all
	}
	for _, name := range p.names() {
		b, _, err := p.open().read(context.Background(), name, maxSmall)
		if err != nil {
			p.Fatal(err)
		}
		all[name] = string(b)
	}
	return all
}

// names returns the sorted names of all objects.
func (p *place) names() (names []string) {
	p.Helper()
	b := p.open()
	for o, err := range b.list(context.Background(), "") {
		if err != nil {
			p.Fatal(err)
		}
		names = append(names, o.name)
	}
	return names
}

// put writes an object directly.
func (p *place) put(name, content string) {
	p.Helper()
	var err error
	if p.dir != "" {
		path := filepath.Join(p.dir, name)
		_ = os.Chmod(path, 0o644)
		err = os.WriteFile(path, []byte(content), 0o644)
	} else {
		err = p.open().put(context.Background(), name, textOf("text/plain", []byte(content)))
	}
	if err != nil {
		p.Fatal(err)
	}
}

// unnamed returns the objects that no readable generation names.
func (p *place) unnamed() (names []string) {
	p.Helper()
	b := p.open()
	is, err := b.readPointer(context.Background())
	if err != nil {
		p.Fatal(err)
	}
	named := map[string]bool{pointerName: true, pushedName: true, indexName: true, lockName: true}
	for i, e := range is.Generations {
		l, err := b.readList(context.Background(), e)
		if err != nil {
			p.Fatal(err)
		}
		for _, name := range e.names() {
			named[name] = true
		}
		for _, f := range l.Files {
			named[f.Object] = true
			if i == 0 && isParquet(f.Path) {
				named[f.Path] = true
			}
		}
	}
	for _, name := range p.names() {
		if !named[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
