package laketest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Store is a store that was made without a sync. It has only Parquet files, ledgers and a manifest; package lake reads
// nothing else.
type Store struct {
	testing.TB
	Dir   string
	M     *manifest.Manifest
	Now   time.Time     // of the next generation
	Every time.Duration // between generations
}

// NewStore returns a store with accounts but without a published generation.
func NewStore(t testing.TB, accounts ...string) *Store {
	s := &Store{TB: t, Dir: t.TempDir(), M: manifest.New(), Now: time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC),
		Every: time.Hour}
	for _, a := range accounts {
		s.M.Of(a).Since = Day("2026-09-01")
	}
	return s
}

// Sample returns a published store with two accounts, days in three months, and versions of a campaign.
func Sample(t testing.TB) *Store {
	s := NewStore(t, "acme", "beta-with-a-name-that-is-forty-long-0001")
	for account := range s.M.Accounts {
		for _, d := range []string{"2026-09-30", "2026-10-01", "2026-10-31", "2026-11-01", "2026-11-02"} {
			s.Spend(account, d, 3, 7)
		}
		s.Versions(account, 2)
	}
	s.Publish()
	return s
}

// Day parses a day in the form YYYY-MM-DD. It panics if the text is not a day.
func Day(text string) schema.Date {
	d, err := schema.ParseDate(text)
	if err != nil {
		panic(err)
	}
	return d
}

// Spend stores a day of the report. A different number of clicks makes a different file.
func (s *Store) Spend(account, date string, rows int, clicks int64) {
	d := Day(date)
	var all []schema.Spend
	for i := range rows {
		all = append(all, schema.Spend{AccountID: account, ReportDate: d, CampaignID: fmt.Sprintf("C%03d", i),
			Clicks: schema.Some(clicks)})
	}
	Put(s, schema.SpendDaily, account, d, all)
	s.M.Of(account).Days[d] = &manifest.Day{}
}

// Versions stores n versions of a campaign's delivery status. The columns of this table have ids from 101 on.
func (s *Store) Versions(account string, n int) {
	var all []schema.Delivery
	for i := range n {
		d := schema.Delivery{AccountID: account, CampaignID: "C1"}
		d.VersionNo = int64(i + 1)
		all = append(all, d)
	}
	Put(s, schema.DeliveryHistory, account, 0, all)
}

// Put stores the rows of a table. If the table has one file for each day, these are the rows of the day d.
func Put[R any](s *Store, t schema.TableOf[R], account string, d schema.Date, rows []R) {
	s.Helper()
	var b bytes.Buffer
	n, err := parquet.Write(&b, t.Table, parquet.Record(t, rows))
	if err != nil {
		s.Fatal(err)
	}
	path := manifest.TablePath(t.Table, account, d)
	s.Write(path, b.Bytes())
	sum := sha256.Sum256(b.Bytes())
	s.M.Of(account).Files[path] = &manifest.File{Kind: manifest.KindParquet, Table: t.FullName(), Day: d, Rows: n,
		Bytes: int64(b.Len()), SHA256: hex.EncodeToString(sum[:]), RunID: s.Run()}
}

// Run returns the ID of the run that publishes the next generation.
func (s *Store) Run() string {
	return ulid.MustNew(ulid.Timestamp(s.Now), bytes.NewReader(make([]byte, 10))).String()
}

// Write replaces a file as the store does, by a rename.
func (s *Store) Write(path string, b []byte) {
	s.Helper()
	path = filepath.Join(s.Dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		s.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.Fatal(err)
	}
}

// Publish makes the stored changes the next generation: it writes the ledgers and then the manifest.
func (s *Store) Publish() {
	s.Helper()
	s.M.Generation++
	s.M.RunID = s.Run()
	s.M.PublishedAt = schema.InstantOf(s.Now)
	for account, a := range s.M.Accounts {
		path := manifest.LedgerPath(account, s.Now)
		ledger, _ := os.ReadFile(filepath.Join(s.Dir, path))
		ledger = append(ledger, fmt.Sprintf("{\"_run_id\":%q}\n", s.M.RunID)...)
		a.Ledger[path], a.LedgerSHA256[path] = int64(len(ledger)), durable.HashBytes(ledger)
		s.Write(path, ledger)
	}
	b, err := s.M.Encode()
	if err != nil {
		s.Fatal(err)
	}
	for path, part := range b.AccountFiles {
		s.Write(path, part)
	}
	s.Write(manifest.FileName, b.Root)
	s.Now = s.Now.Add(s.Every)
}
