package lake

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/johannesboyne/gofakes3"

	"spendsync/cmd/spendsync-lake/lake/laketest"
	"spendsync/load/loadtest"
)

// world is a lake in this process, with the options to connect to it.
type world struct{ *laketest.World }

type store = laketest.Store

var newStore, sample, day = laketest.NewStore, laketest.Sample, laketest.Day

func TestMain(m *testing.M) { os.Exit(loadtest.InMemory(m)) }

func newWorld(t testing.TB) *world { return &world{laketest.New(t)} }

func (w *world) options() Options { return optionsOf(w.URL, w.S3) }

func optionsOf(catalog, s3 string) Options {
	return Options{Catalog: catalog, Warehouse: "wh", Namespace: laketest.Namespace, S3Endpoint: s3,
		Region: "us-east-1", AccessKey: laketest.AccessKey, SecretKey: laketest.SecretKey, Version: "test"}
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

// follow calls Follow for a store, and checks that the lake is then equal to the store.
func (w *world) follow(s *store) *Followed {
	w.Helper()
	l := w.open()
	done, err := l.Follow(w.Context(), FollowOptions{Dir: s.Dir})
	if err != nil {
		w.Fatal(err)
	}
	w.check(l, s)
	return done
}

// check compares the files and lake_generation with a store.
func (w *world) check(l *Lake, s *store) {
	w.Helper()
	w.Check(s)
	stored, err := l.stored(l.storage(w.Context()), s.M)
	if err != nil {
		w.Error(err)
	}
	files, rows := map[string]int64{}, map[string]int64{}
	for _, f := range w.Live() {
		files[f.Account()]++
		rows[f.Account()] += f.Count()
	}
	for _, m := range stored {
		if m.Generation != s.M.Generation || m.Files != files[m.AccountID] || m.Rows != rows[m.AccountID] {
			w.Errorf("%s says %+v, and there are %d files and %d rows", MarkerTable, m, files[m.AccountID],
				rows[m.AccountID])
		}
	}
}

// Read returns the bytes of an object.
func (w *world) Read(object string) []byte {
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

// Write writes an object directly to the storage. It also removes the checksum of an object that it replaces.
func (w *world) Write(object string, b []byte) {
	w.Helper()
	w.Remove(object)
	_, key, _ := strings.Cut(object, "s3://lake/")
	if _, err := w.Backend.PutObject("lake", key, map[string]string{}, bytes.NewReader(b), int64(len(b)),
		nil); err != nil {
		w.Fatal(err)
	}
}

// Remove removes an object directly from the storage.
func (w *world) Remove(object string) {
	w.Helper()
	_, key, _ := strings.Cut(object, "s3://lake/")
	if _, err := w.Backend.DeleteObject("lake", key); err != nil {
		w.Fatal(err)
	}
}

// Keys returns the keys of all objects.
func (w *world) Keys() (all []string) {
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

// Snapshots returns the snapshots of a table.
func (w *world) Snapshots(name string) []table.Snapshot {
	return w.Rest.Metadata(laketest.Namespace, name).Snapshots()
}
