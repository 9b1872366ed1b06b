package laketest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	iceio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // tables in S3
	"github.com/apache/iceberg-go/table"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"spendsync/cmd/spendsync-lake/lake/restsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// The credentials of the S3 server, and the namespace of the tables.
const (
	AccessKey = "key"
	SecretKey = "secret-canary"
	Namespace = "spendsync"
)

// World is a lake in this process: a catalog and an S3 server, which tests can make fail.
type World struct {
	testing.TB
	Rest    *restsim.Catalog
	URL     string       // of the catalog
	S3      string       // URL of the S3 server
	Objects atomic.Int64 // requests to the S3 server
	Backend *s3mem.Backend
	S3Fault func(r *http.Request) int // returns an error status to reply with, or 0

	reader *rest.Catalog
}

// New returns a world with an empty lake. The given functions wrap the handlers of both servers, so that a test can
// watch every request.
func New(t testing.TB, around ...func(http.Handler) http.Handler) *World {
	w := &World{TB: t, Rest: &restsim.Catalog{Warehouse: "s3://lake/wh"}, Backend: s3mem.New()}
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

// table loads a table as any reader of Iceberg tables would. It returns nil if the table does not exist.
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
	// The file system keeps this context, so the context must never be canceled.
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

// Account returns the account in the file's partition.
func (f File) Account() string {
	for _, value := range f.Partition() {
		if account, ok := value.(string); ok {
			return account
		}
	}
	return ""
}

// Bytes returns the content of the object.
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

// Live returns the data files of all tables except lake_generation.
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

// Check compares the live files of the lake with the store's files: by account, table, number of rows, and the SHA-256
// of the bytes.
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
		sum := sha256.Sum256(f.Bytes())
		id := fmt.Sprintf("%s %s %d", f.Account(), hex.EncodeToString(sum[:]), f.Count())
		if got[id] != "" {
			w.Errorf("%s is in the lake twice", f.FilePath())
		}
		got[id] = f.Table.FullName()
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

// State returns the ID of the current snapshot of each table, lake_generation included.
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

// Rounds returns how many random failures a test makes. The first argument is the default. The long suites make more,
// up to the second argument.
func Rounds(few, most int) int { return min(schematest.Times(few, 100, 10_000), most) }
