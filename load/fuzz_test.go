package load

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"spendsync/load/commit"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// resealed returns a mutated text with a correct checksum. Without a correct checksum, fuzzing would test only the
// checksum.
func resealed(text []byte) []byte {
	text = bytes.Clone(text)
	if hash := durable.FindSeal(text); hash != nil {
		copy(hash, durable.Unsealed)
		durable.Seal(text)
	}
	return text
}

// FuzzManifest: an accepted manifest names no file outside the store, can be used, and is unchanged after it was
// encoded and decoded.
func FuzzManifest(f *testing.F) {
	whole := manifest.New()
	whole.Generation, whole.RunID, whole.Version = 7, "01M7ZQ7Q1CJQD27Z3YZZYE4RDW", "1.0.0"
	day := schema.NewDate(2026, time.March, 8)
	acme := whole.Of("acme")
	acme.Since, acme.Settled = day-32, []string{"C1"}
	acme.Days[day] = &manifest.Day{FirstReadAt: 1, LastReadAt: 2, Reads: 3, ContentHash: "ab",
		ReadOutcome: manifest.ReadOutcome{Control: schema.ControlMatched, Meaning: manifest.Meaning{Rounded: 1}},
		Sums:        history.Sums{Rows: 2, Spend: 12_340_000, Clicks: schema.Some[int64](5)}}
	acme.Files[manifest.RawPath("acme", day, 1)] = &manifest.File{Kind: manifest.KindRaw, Day: day, Rows: 2, Bytes: 10,
		SHA256: "cd", Rules: "1:ef"}
	acme.Ledger["ledger/account=acme/2026-03.jsonl"] = 100
	acme.Memory[schema.CampaignHistory.Name] = history.Memory{ObservedAt: 5}
	sealed, err := whole.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed.Root)
	for _, text := range []string{
		`{"format": 1, "schema_version": 1, "generation": 1, "accounts": {"acme": null}}`,
		`{"format": 1, "schema_version": 1, "generation": 1, "accounts": {"acme": {"days": {"2026-03-08": null}}}}`,
		`{"format": 1, "schema_version": 1, "generation": 1, "accounts": {"acme": {"files": {"a": null}}}}`,
		`{"format": 1, "schema_version": 1, "generation": 1, "accounts": {"acme": {"files": {"../../etc/passwd": ` +
			`{"kind": "raw"}}}}}`,
		`{"format": 1, "schema_version": 1, "generation": 1, "accounts": {"../acme": {}}}`,
	} {
		f.Add([]byte(text))
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := manifest.Decode(resealed(b))
		if err != nil {
			return
		}
		_ = m.Clone()
		_ = m.Rows()
		for name, a := range m.Accounts {
			if !schema.AccountName.MatchString(name) {
				t.Errorf("account %q", name)
			}
			for path := range a.Files {
				if !filepath.IsLocal(path) {
					t.Errorf("path %q", path)
				}
			}
			for d := range a.Days {
				_ = a.RawPages(d)
			}
			// Listing the days since a first day in the distant past is slow but correct.
			if a.Since > schema.DateOf(now)-10_000 {
				_ = a.Coverage(name, now)
			}
		}
		text, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := manifest.Decode(text.Root)
		if err != nil {
			t.Fatalf("it is not read again: %v\n%s", err, text.Root)
		}
		for path, b := range text.AccountFiles {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, path), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := again.Load(durable.OS, dir, m.LoadedNames()...); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, m) {
			t.Errorf("read again it is\n%+v\nand was\n%+v", again, m)
		}
	})
}

// FuzzCommitRecord: an accepted commit record moves and removes nothing outside of the store.
func FuzzCommitRecord(f *testing.F) {
	head := `{"format": 2, "checksum": "` + durable.Unsealed + `", "run_id": "R", "base_generation": 1, ` +
		`"generation": 2, "staging": `
	f.Add([]byte(head + `"staging/acme.R", "moves": [{"from": "staging/acme.R/m", "to": "manifest.json"}]}`))
	f.Add([]byte(head + `"staging/../..", "moves": [{"from": "staging/../../m", "to": "manifest.json"}]}`))
	f.Add([]byte(head + `"staging/a", "moves": [{"from": "staging/a/../../../m", "to": "manifest.json"}], ` +
		`"removes": ["/etc/passwd"]}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, manifest.CommitName), resealed(b), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := commit.Read(durable.OS, dir, nil)
		if err != nil {
			return
		}
		paths := append([]string{r.Staging}, r.Removes...)
		for _, m := range r.Moves {
			paths = append(paths, m.From, m.To)
		}
		for _, p := range paths {
			if full := filepath.Join(dir, p); !strings.HasPrefix(full, dir+"/") {
				t.Errorf("%q is %s", p, full)
			}
		}
	})
}

// FuzzLedger: an accepted ledger is unchanged after it was encoded and decoded.
func FuzzLedger(f *testing.F) {
	text, err := manifest.EncodeLedger(manifest.LedgerRows{
		Runs: []schema.Run{{AccountID: "acme", Command: "sync", ExitCode: 4,
			Message: schema.Some("spend 2026-03-08: \u2028"), RunID: "R"}},
		Steps: []schema.Step{{AccountID: "acme", Stream: "spend_report", Unit: "2026-03-08", Outcome: "stored",
			RunID: "R"}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-9])
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := manifest.DecodeLedger("ledger/x", bytes.NewReader(b))
		if err != nil {
			return
		}
		text, err := manifest.EncodeLedger(rows)
		if err != nil {
			return // instants after the year 9999 cannot be encoded
		}
		again, err := manifest.DecodeLedger("ledger/x", bytes.NewReader(text))
		if err != nil || !reflect.DeepEqual(again, rows) {
			t.Errorf("%v: read again it is\n%+v\nand was\n%+v", err, again, rows)
		}
	})
}

// partition matches the path of a Parquet file or a reply, with its partition.
var partition = regexp.MustCompile(`^(?:parquet/([a-z_0-9]+)|raw/spend_report)/account=([^/]+)/` +
	`(?:day|seen|month)=([0-9-]+)/[^/]+$`)

// FuzzPartition: the paths for any valid account name are inside the store, and are different for different accounts
// and days, in the flat staging area as well.
func FuzzPartition(f *testing.F) {
	f.Add("acme", int32(20_000), 1)
	f.Add("../acme", int32(0), 0)
	f.Add("a=b", int32(-1), 10_000)
	f.Add("a~b", int32(1), 1)
	f.Add("ACME", int32(1), 1)
	f.Fuzz(func(t *testing.T, account string, day int32, page int) {
		if !schema.AccountName.MatchString(account) {
			return
		}
		d := schema.Date(day)
		parsed, err := schema.ParseDate(d.String())
		if err != nil || parsed != d {
			return // not a possible report day
		}
		for _, path := range []string{
			manifest.TablePath(schema.SpendDaily.Table, account, d),
			manifest.TablePath(schema.SpendChanges.Table, account, d),
			manifest.TablePath(schema.CampaignDays.Table, account, d), manifest.RawPath(account, d, page),
		} {
			if !filepath.IsLocal(path) || filepath.Clean(path) != path || strings.Contains(path, "~") {
				t.Errorf("path %q", path)
			}
			m := partition.FindStringSubmatch(path)
			if m == nil || m[2] != account || m[3] != d.String() {
				t.Errorf("path %q of account %q and day %s reads %q", path, account, d, m)
			}
		}
	})
}
