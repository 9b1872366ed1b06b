package laketest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
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
	"github.com/apache/iceberg-go/catalog/rest"
	iceio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // tables in S3
	"github.com/apache/iceberg-go/table"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"spendsync/load/lake/resttest"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// The keys of the S3, and the namespace of the tables.
const (
	AccessKey = "key"
	SecretKey = "secret-canary"
	Namespace = "spendsync"
)

// World is a lake in this process: a catalog and an S3, which tests disturb.
type World struct {
	testing.TB
	Rest    *resttest.Catalog
	URL     string // of the catalog
	S3      string // address of the S3
	Objects atomic.Int64
	Backend *s3mem.Backend
	S3Fault func(r *http.Request) int // status to answer with; 0: none

	reader *rest.Catalog
}

// New is a world whose lake is empty. around wraps the catalog and the S3 for a test that watches every request.
func New(t testing.TB, around ...func(http.Handler) http.Handler) *World {
	w := &World{TB: t, Rest: &resttest.Catalog{Warehouse: "s3://lake/wh"}, Backend: s3mem.New()}
	if err := w.Backend.CreateBucket("lake"); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(w.Backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	serve := func(h http.Handler) string {
		for _, wrap := range around {
			h = wrap(h)
		}
		server := httptest.NewUnstartedServer(h)
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // gofakes3 writes some headers twice
		server.Start()
		t.Cleanup(server.Close)
		return server.URL
	}
	w.S3 = serve(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.Objects.Add(1)
		if w.S3Fault != nil {
			if code := w.S3Fault(r); code != 0 {
				rw.WriteHeader(code)
				return
			}
		}
		fake.ServeHTTP(rw, r)
	}))
	w.URL = serve(w.Rest)
	return w
}

// table loads a table as any reader would; nil: it is not there.
func (w *World) table(name string) (*table.Table, iceio.WriteFileIO) {
	w.Helper()
	if w.Rest.Metadata(Namespace, name) == nil {
		return nil, nil
	}
	var err error
	if w.reader == nil {
		w.reader, err = rest.NewCatalog(w.Context(), "reader", w.URL, rest.WithAdditionalProps(iceberg.Properties{
			iceio.S3EndpointURL: w.S3, iceio.S3Region: "us-east-1", iceio.S3AccessKeyID: AccessKey,
			iceio.S3SecretAccessKey: SecretKey}))
		if err != nil {
			w.Fatal(err)
		}
	}
	t, err := w.reader.LoadTable(w.Context(), table.Identifier{Namespace, name})
	if err != nil {
		w.Fatal(err)
	}
	// The file system keeps this context.
	fs, err := t.FS(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	return t, fs.(iceio.WriteFileIO)
}

// File is a data file of a table's current snapshot.
type File struct {
	iceberg.DataFile
	Table *schema.Table
	fs    iceio.WriteFileIO
	tb    testing.TB
}

// Account is the account of the file's partition.
func (f File) Account() string {
	for _, value := range f.Partition() {
		if account, ok := value.(string); ok {
			return account
		}
	}
	return ""
}

// Bytes are those of the object.
func (f File) Bytes() []byte {
	f.tb.Helper()
	object, err := f.fs.Open(f.FilePath())
	if err != nil {
		f.tb.Fatal(err)
	}
	defer object.Close()
	b, err := io.ReadAll(object)
	if err != nil {
		f.tb.Fatal(err)
	}
	return b
}

// IsMonth reports whether the file holds the days of a closed month.
func (f File) IsMonth() bool {
	return strings.Count(filepath.Base(f.FilePath()), "-") == 4 // that of a day has 5, that of an account 3
}

// Live are the data files of all tables, those of lake_generation left out.
func (w *World) Live() (all []File) {
	w.Helper()
	for _, of := range schema.Documented() {
		t, fs := w.table(of.Name)
		if t == nil || t.CurrentSnapshot() == nil {
			continue
		}
		manifests, err := t.CurrentSnapshot().Manifests(fs)
		if err != nil {
			w.Fatal(err)
		}
		for _, m := range manifests {
			for e, err := range m.Entries(fs, true) {
				if err != nil {
					w.Fatal(err)
				}
				d := e.DataFile()
				if order := d.SortOrderID(); order == nil || *order != t.SortOrder().OrderID() {
					w.Errorf("%s has no sort order", d.FilePath())
				}
				all = append(all, File{d, of, fs, w.TB})
			}
		}
	}
	return all
}

// Months is how many of the live files hold the days of a closed month.
func (w *World) Months() (n int) {
	w.Helper()
	for _, f := range w.Live() {
		if f.IsMonth() {
			n++
		}
	}
	return n
}

// Check compares the live files of the lake with those of the store: by name, and each object byte by byte.
func (w *World) Check(s *Store) {
	w.Helper()
	want, got := map[string]string{}, map[string]string{}
	for account, a := range s.M.Accounts {
		for _, f := range a.Files {
			if f.Rows > 0 {
				want[fmt.Sprintf("%s %s %d", account, f.SHA256, f.Rows)] = f.Table
			}
		}
	}
	for _, f := range w.Live() {
		if s.M.Accounts[f.Account()] == nil {
			continue
		}
		for _, id := range w.idsOf(s, f) {
			if got[id] != "" {
				w.Errorf("%s is in the lake twice", f.FilePath())
			}
			got[id] = f.Table.FullName()
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
}

// idsOf returns the files of the store that a file represents: itself, or the files of the days whose rows it has.
func (w *World) idsOf(s *Store, f File) (ids []string) {
	w.Helper()
	account, b := f.Account(), f.Bytes()
	if !f.IsMonth() {
		sum := sha256.Sum256(b)
		return []string{fmt.Sprintf("%s %s %d", account, hex.EncodeToString(sum[:]), f.Count())}
	}
	file := filepath.Join(w.TempDir(), "month.parquet")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		w.Fatal(err)
	}
	all, err := parquet.ReadRows(file, schema.SpendDaily)
	if err != nil || int64(len(all)) != f.Count() {
		w.Fatalf("%s: %d rows, %v", f.FilePath(), len(all), err)
	}
	days := map[schema.Date][]schema.Spend{}
	for i, r := range all {
		if i > 0 && r.ReportDate < all[i-1].ReportDate {
			w.Errorf("%s is not sorted", f.FilePath())
		}
		days[r.ReportDate] = append(days[r.ReportDate], r)
	}
	for day, rows := range days {
		path := manifest.PartPath(schema.SpendDaily.Table, account, day)
		info := s.M.Accounts[account].Files[path]
		want, err := parquet.ReadRows(filepath.Join(s.Dir, path), schema.SpendDaily)
		if err != nil || info == nil || !reflect.DeepEqual(rows, want) {
			w.Errorf("%s: %d rows of %s, not %d: %v", f.FilePath(), len(rows), day, len(want), err)
			continue
		}
		ids = append(ids, fmt.Sprintf("%s %s %d", account, info.SHA256, info.Rows))
	}
	return ids
}

// Read returns the bytes of an object.
func (w *World) Read(object string) []byte {
	w.Helper()
	_, key, _ := strings.Cut(object, "s3://lake/")
	o, err := w.Backend.GetObject("lake", key, nil)
	if err != nil {
		w.Fatal(err)
	}
	defer o.Contents.Close()
	b, err := io.ReadAll(o.Contents)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// Write writes an object, past the network: one that was there before leaves no checksum.
func (w *World) Write(object string, b []byte) {
	w.Helper()
	w.Remove(object)
	_, key, _ := strings.Cut(object, "s3://lake/")
	if _, err := w.Backend.PutObject("lake", key, map[string]string{}, bytes.NewReader(b), int64(len(b)),
		nil); err != nil {
		w.Fatal(err)
	}
}

// Remove removes an object, past the network.
func (w *World) Remove(object string) {
	w.Helper()
	_, key, _ := strings.Cut(object, "s3://lake/")
	if _, err := w.Backend.DeleteObject("lake", key); err != nil {
		w.Fatal(err)
	}
}

// Keys are the keys of all objects.
func (w *World) Keys() (all []string) {
	w.Helper()
	objects, err := w.Backend.ListBucket("lake", nil, gofakes3.ListBucketPage{})
	if err != nil {
		w.Fatal(err)
	}
	for _, o := range objects.Contents {
		all = append(all, o.Key)
	}
	return all
}

// Snapshots are those of a table.
func (w *World) Snapshots(name string) []table.Snapshot {
	return w.Rest.Metadata(Namespace, name).Snapshots()
}

// State is the current snapshot of each table, lake_generation included.
func (w *World) State() map[string]int64 {
	now := map[string]int64{}
	names := []string{"lake_generation"}
	for _, t := range schema.Documented() {
		names = append(names, t.Name)
	}
	for _, name := range names {
		if meta := w.Rest.Metadata(Namespace, name); meta != nil && meta.CurrentSnapshot() != nil {
			now[name] = meta.CurrentSnapshot().SnapshotID
		}
	}
	return now
}

// Delete deletes the rows of an account from a table, as another program would.
func (w *World) Delete(name, account string) {
	w.Helper()
	t, _ := w.table(name)
	tx := t.NewTransaction()
	if err := tx.Delete(w.Context(), iceberg.EqualTo(iceberg.Reference("account_id"), account), nil); err != nil {
		w.Fatal(err)
	}
	if _, err := tx.Commit(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// ErrDied is the error of a step at which a test ends a commit.
var ErrDied = errors.New("died")

// DiesAt has a commit end when it reaches a step for the nth time.
func DiesAt(step string, nth int) func(string) error {
	var mu sync.Mutex // files are uploaded a few at a time
	return func(s string) error {
		mu.Lock()
		defer mu.Unlock()
		if s == step {
			if nth--; nth == 0 {
				return ErrDied
			}
		}
		return nil
	}
}

// Chaos disturbs a world until it is quiet: steps end in deaths, commits conflict, answers are lost.
type Chaos struct {
	*World
	Quiet  bool
	Deaths int

	mu   sync.Mutex
	rand *rand.Rand
}

// Disturb starts the disturbances of a world, and logs the seed.
func (w *World) Disturb() *Chaos {
	seed := uint64(time.Now().UnixNano())
	w.Logf("seed %d", seed)
	c := &Chaos{World: w, rand: rand.New(rand.NewPCG(seed, 1))}
	w.Rest.Before = func([]string) error {
		if !c.Quiet && c.Chance(15) {
			return resttest.ErrConflict
		}
		return nil
	}
	w.Rest.After = func([]string) error {
		if !c.Quiet && c.Chance(15) {
			return errors.New("lost")
		}
		return nil
	}
	return c
}

// Chance returns true with a probability of percent.
func (c *Chaos) Chance(percent int) bool { return c.Below(100) < percent }

// Below is a random number from 0 on.
func (c *Chaos) Below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.IntN(n)
}

// Dies returns a function that fails with ErrDied, with a probability of percent.
func (c *Chaos) Dies(percent int) func(string) error {
	return func(string) error {
		if !c.Quiet && c.Chance(percent) {
			return ErrDied
		}
		return nil
	}
}

// Try does something that may die, and counts its deaths.
func (c *Chaos) Try(do func() error) {
	c.Helper()
	if err := do(); errors.Is(err, ErrDied) {
		c.Deaths++
	} else if err != nil {
		c.Fatal(err)
	}
}

// Rounds is how often a test disturbs.
func Rounds(few, most int) int { return min(schematest.Times(few, 100, 10_000), most) }
