package manifest

import (
	"errors"
	"path/filepath"
	"testing"

	"spendsync/load/durable"
)

// FuzzAccount: an account file with any content and a correct hash is either loaded or refused with an error that names
// the file. A loaded account names no path outside of the store, and can be encoded again.
func FuzzAccount(f *testing.F) {
	good, err := large().Encode()
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range good.AccountFiles {
		if len(b) < 10_000 {
			f.Add(b)
		}
	}
	for _, text := range []string{`{}`, `null`, `{"days": {"2026-03-08": null}}`, `{"files": {"a": null}}`,
		`{"files": {"../../etc/passwd": {"kind": "raw"}}}`, `{"ledger": {"/x": 1}}`, `{"since": "2026-02-30"}`,
		`{"files": {}, "files": {}}`, `{"more": 1}`, `{"days": {"2026-03-08": {}}} {}`,
		`{"files": {"parquet/a/account=x/day=2026-03-08/data.parquet": {}, "b": {}, "parquet/a/account=x/c": {}}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		sha := durable.HashBytes(b)
		m := New()
		m.Generation = 1
		m.AccountFiles["acme"] = &AccountFile{Path: accountPath("acme", sha), SHA256: sha, Bytes: int64(len(b))}
		write(t, filepath.Join(dir, m.AccountFiles["acme"].Path), b)
		put(t, dir, m)
		read, err := Read(dir)
		var d *durable.Damage
		if err != nil {
			if !errors.As(err, &d) || d.Path != m.AccountFiles["acme"].Path && d.Path != FileName {
				t.Fatalf("refused without its name: %v", err)
			}
			return
		}
		a := read.Accounts["acme"]
		for path := range a.Files {
			if !filepath.IsLocal(path) {
				t.Errorf("path %q", path)
			}
		}
		again := New()
		again.Generation, again.Accounts["acme"] = 1, a
		put(t, t.TempDir(), again)
	})
}
