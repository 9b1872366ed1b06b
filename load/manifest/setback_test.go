package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/load/durable"
	"spendsync/schema"
)

// TestSetBack names both generations and the time between them, as far as the newer part shows them.
func TestSetBack(t *testing.T) {
	m := New()
	m.Generation, m.PublishedAt = 5, schema.InstantOf(schema.NewDate(2026, 3, 8).Start())
	at := schema.InstantOf(schema.NewDate(2026, 3, 9).Start())
	for name, c := range map[string]struct {
		part NewerPart
		says []string
	}{
		"known": {NewerPart{"ledger/x", 7, "R7", at}, []string{"from generation 7 to 5", "ledger/x", "run R7",
			"of generation 7 or later", "between " + m.PublishedAt.String() + " and " + at.String()}},
		"not known": {NewerPart{Path: "manifest/x"}, []string{"from a later generation to 5: manifest/x is newer",
			"of a generation later than 5", "since " + m.PublishedAt.String()}},
	} {
		d := m.SetBack(c.part)
		for _, says := range c.says {
			if text := d.What + "; " + d.Repair; !strings.Contains(text, says) || d.Path != FileName {
				t.Errorf("%s: %q lacks %q", name, text, says)
			}
		}
	}
}

// older returns a store of generation 5.
type older struct {
	dir string
	m   *Manifest
}

const (
	octoberLedger  = "ledger/account=acme/2026-10.jsonl"
	novemberLedger = "ledger/account=acme/2026-11.jsonl"
)

func ledger(t testing.TB, runs ...schema.Run) []byte {
	t.Helper()
	b, err := EncodeLedger(LedgerRows{Runs: runs})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func published(generation int64, id string) schema.Run {
	return schema.Run{RunID: id, Generation: generation, Published: true, FinishedAt: schema.Instant(generation)}
}

func newOlder(t *testing.T) *older {
	t.Helper()
	o := &older{dir: t.TempDir(), m: New()}
	o.m.Generation, o.m.RunID = 5, "R5"
	a := o.m.Of("acme")
	for path, text := range map[string][]byte{
		octoberLedger:  ledger(t, published(3, "of the ledger"), schema.Run{RunID: "failed", Generation: 6}),
		novemberLedger: ledger(t, published(5, "R5")),
	} {
		write(t, filepath.Join(o.dir, path), text)
		a.Ledger[path], a.LedgerSHA256[path] = int64(len(text)), durable.HashBytes(text)
	}
	o.m.AccountFiles["acme"] = &AccountFile{Path: "manifest/account=acme/named.json"}
	write(t, filepath.Join(o.dir, o.m.AccountFiles["acme"].Path), []byte("not read: it is loaded"))
	return o
}

// add appends lines to a file.
func (o *older) add(t *testing.T, path string, lines []byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(o.dir, path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	write(t, filepath.Join(o.dir, path), append(b, lines...))
}

func (o *older) newest(t *testing.T, d durable.Disk) (NewerPart, error) {
	t.Helper()
	files, err := FilesIn(durable.OS, o.dir)
	if err != nil {
		t.Fatal(err)
	}
	return o.m.Newest(d, o.dir, files)
}

// TestNewest: a part that is newer than the manifest is found. An unreadable part is not found, because it is another
// kind of damage, with another repair.
func TestNewest(t *testing.T) {
	const other = "manifest/account=acme/other.json"
	knows := func(path string, more int64) func(*testing.T, *older) {
		return func(t *testing.T, o *older) {
			write(t, filepath.Join(o.dir, other), fmt.Appendf(nil, `{"ledger":{%q:%d}}`, path,
				o.m.Accounts["acme"].Ledger[path]+more))
		}
	}
	for name, c := range map[string]struct {
		change func(*testing.T, *older)
		want   NewerPart
	}{
		"as published": {func(*testing.T, *older) {}, NewerPart{}},
		"the ledger/a later run published": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, ledger(t, published(6, "R6")))
		}, NewerPart{novemberLedger, 6, "R6", 6}},
		"the ledger/a later file": {func(t *testing.T, o *older) {
			o.add(t, "ledger/account=acme/2026-12.jsonl", ledger(t, published(6, "R6")))
		}, NewerPart{"ledger/account=acme/2026-12.jsonl", 6, "R6", 6}},
		"the ledger/three later runs": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, ledger(t, published(7, "R7"), published(8, "R8"), published(6, "R6")))
		}, NewerPart{novemberLedger, 8, "R8", 8}},
		"the ledger/two runs of one generation": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, ledger(t, published(6, "R6"), published(6, "R6b")))
		}, NewerPart{novemberLedger, 6, "R6", 6}},
		"the ledger/a later run failed": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, ledger(t, schema.Run{RunID: "R6", Generation: 6}))
		}, NewerPart{}},
		"the ledger/a line is cut": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, ledger(t, published(6, "R6"))[:20])
		}, NewerPart{}},
		"the ledger/a line after one that is cut": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, append([]byte("{\n{}\n"), ledger(t, published(6, "R6"))...))
		}, NewerPart{novemberLedger, 6, "R6", 6}},
		"the ledger/cut below what is published": {func(t *testing.T, o *older) {
			write(t, filepath.Join(o.dir, novemberLedger), nil)
		}, NewerPart{}},
		"the ledger/of another account, as old": {func(t *testing.T, o *older) {
			o.add(t, "ledger/account=other/2026-11.jsonl", ledger(t, published(4, "R4"), published(5, "R5")))
		}, NewerPart{}},
		"the ledger/of another account, later": {func(t *testing.T, o *older) {
			o.add(t, "ledger/account=other/2026-11.jsonl", ledger(t, published(6, "R6")))
		}, NewerPart{"ledger/account=other/2026-11.jsonl", 6, "R6", 6}},
		"not a ledger": {func(t *testing.T, o *older) {
			o.add(t, "ledger/account=acme/2026-11.jsonl.bak", ledger(t, published(6, "R6")))
		}, NewerPart{}},
		"an account/as old":               {knows(novemberLedger, 0), NewerPart{}},
		"an account/older":                {knows(octoberLedger, -1), NewerPart{}},
		"an account/with a longer ledger": {knows(novemberLedger, 1), NewerPart{Path: other}},
		"an account/with a later ledger":  {knows("ledger/account=acme/2026-12.jsonl", 1), NewerPart{Path: other}},
		"an account/damaged":              {func(t *testing.T, o *older) { o.add(t, other, []byte("{")) }, NewerPart{}},
		"an account/that has no part": {func(t *testing.T, o *older) {
			o.add(t, "manifest/account=gone/other.json", []byte(`{"ledger":{"x":1}}`))
		}, NewerPart{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOlder(t)
			c.change(t, o)
			if got, err := o.newest(t, durable.OS); got != c.want || err != nil {
				t.Errorf("%+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

// TestNewest_DiskFails: an error of the disk is returned, because the part may be newer.
func TestNewest_DiskFails(t *testing.T) {
	for path, change := range map[string]func(*older){
		novemberLedger: func(o *older) { o.add(t, novemberLedger, []byte("\n")) },
		"manifest/account=acme/other.json": func(o *older) {
			o.add(t, "manifest/account=acme/other.json", []byte("{}"))
		},
	} {
		o := newOlder(t)
		change(o)
		if got, err := o.newest(t, failingAt(o.dir, path)); !errors.Is(err, durable.ErrStorage) || got.Path != "" {
			t.Errorf("%s cannot be read: %+v, %v", path, got, err)
		}
	}
}
