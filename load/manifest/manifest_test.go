package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/schema"
)

// unreadable is a disk on which everything at some paths fails.
type unreadable struct {
	durable.FS
	fails func(path string) error
}

func (u unreadable) OpenFile(path string, flag int, perm fs.FileMode) (durable.File, error) {
	if err := u.fails(path); err != nil {
		return nil, err
	}
	return u.FS.OpenFile(path, flag, perm)
}

func (u unreadable) ReadDir(path string) ([]fs.DirEntry, error) {
	if err := u.fails(path); err != nil {
		return nil, err
	}
	return u.FS.ReadDir(path)
}

func (u unreadable) Lstat(path string) (fs.FileInfo, error) {
	if err := u.fails(path); err != nil {
		return nil, err
	}
	return u.FS.Lstat(path)
}

// failingAt is a disk that cannot read what lies at a path below a folder.
func failingAt(dir, path string) durable.Disk {
	return durable.Disk{FS: unreadable{durable.OS.FS, func(at string) error {
		if at == filepath.Join(dir, path) {
			return &fs.PathError{Op: "open", Path: path, Err: syscall.EIO}
		}
		return nil
	}}}
}

// TestFile_Repair: what a damaged file can be made from again, by its kind and table.
func TestFile_Repair(t *testing.T) {
	for _, c := range []struct {
		file File
		want string
		mart bool
	}{
		{File{Kind: KindRaw}, RepairLost, false},
		{File{Kind: KindParquet, Table: "spend_daily"}, durable.RepairReplay, false},
		{File{Kind: KindParquet, Table: "spend_change"}, RepairLost, false},
		{File{Kind: KindParquet, Table: "campaign_history"}, RepairLost, false},
		{File{Kind: KindParquet, Table: "mart_campaign_day"}, durable.RepairRebuild, true},
		{File{Kind: KindParquet, Table: "ops_run"}, durable.RepairRebuild, true},
		{File{Kind: KindParquet, Table: "of a newer version"}, RepairLost, false},
	} {
		if got := c.file.Repair(); got != c.want || c.file.IsMart() != c.mart {
			t.Errorf("%+v: %q, want %q; a mart %t", c.file, got, c.want, c.file.IsMart())
		}
	}
}

// TestLeadsOut: a path in a record stays in the store.
func TestLeadsOut(t *testing.T) {
	for path, out := range map[string]bool{"a/b": false, ".": true, "../a": true, "/a": true, "a/../../b": true} {
		if LeadsOut(path) != out {
			t.Errorf("%s leads out of the store: %t", path, !out)
		}
	}
}

// full is an account with something in everything that a generation can change.
func full() *Account {
	a := NewAccount(20000)
	a.Days[20000] = &Day{RunID: "R1"}
	a.Files["raw/x"], a.Ledger["ledger/x"], a.LedgerSHA256["ledger/x"] = &File{Kind: KindRaw}, 7, "b"
	a.Confirmations["t"] = history.Confirmations{ObservedAt: 1}
	a.SettledUnclear = map[string]string{"C1": "v1"}
	a.ExtraKeys["t"] = map[string]KeyChanges{"k": {Compared: 1}}
	a.Unknown, a.Settled = []schema.UnknownField{{Path: "p"}}, []string{"C1"}
	a.ReportedLost = []schema.Date{1}
	a.Notes = []Note{{Name: "n"}}
	return a
}

// TestClone_LeavesTheOriginal: whatever the next generation changes in its copy, the published one stays.
func TestClone_LeavesTheOriginal(t *testing.T) {
	published, taken := New(), New()
	published.Accounts["acme"], published.Parts["acme"] = full(), &Part{}
	taken.Take("acme", published)
	for name, m := range map[string]*Manifest{"cloned": published.Clone(), "taken": taken} {
		if !reflect.DeepEqual(m.Accounts, published.Accounts) {
			t.Errorf("%s: another account: %+v", name, m.Accounts["acme"])
		}
		a := m.Of("acme")
		a.Days[20000].RunID, a.Days[20001] = "R2", &Day{}
		a.Files["new"], a.Ledger["new"], a.LedgerSHA256["new"] = &File{}, 1, "c"
		a.Confirmations["new"], a.SettledUnclear["C2"], a.ExtraKeys["new"] = history.Confirmations{}, "v2", nil
		a.Unknown[0].Path, a.Settled[0], a.ReportedLost[0] = "q", "C2", 2
		a.Notes[0].Name = "m"
		if !reflect.DeepEqual(published.Accounts["acme"], full()) {
			t.Fatalf("%s: the published account is another: %+v", name, published.Accounts["acme"])
		}
		m.Drop("acme")
		if len(m.AccountNames()) > 0 || len(published.AccountNames()) != 1 {
			t.Errorf("%s: dropped, %q are left of %q", name, m.AccountNames(), published.AccountNames())
		}
	}
}

// TestRowsOf counts the rows of Parquet files by table: a table without rows is not named, and the rows of replies
// count nowhere.
func TestRowsOf(t *testing.T) {
	m := New()
	a := m.Of("acme")
	for path, f := range map[string]*File{"a": {Kind: KindParquet, Table: "t", Rows: 2}, "b": {Kind: KindParquet,
		Table: "t", Rows: 3}, "c": {Kind: KindParquet, Table: "empty"}, "d": {Kind: KindRaw, Rows: 50}} {
		a.Files[path] = f
	}
	m.Parts["other"] = &Part{Rows: map[string]int64{"t": 7}}
	if got := m.RowsOf("acme"); !maps.Equal(got, map[string]int64{"t": 5}) {
		t.Errorf("%v", got)
	}
	if got := m.Rows(); got != 12 {
		t.Errorf("%d rows of all accounts", got)
	}
}

// TestRawPages are the replies of a day in the order of their numbers, and whether all became rows by today's rules.
func TestRawPages(t *testing.T) {
	a := NewAccount(1)
	const pages = 12
	for page := range pages {
		a.Files[RawPath("acme", 5, page+1)] = &File{Kind: KindRaw, Day: 5, Fingerprint: schema.ReplyRules + ":x"}
	}
	a.Files[RawPath("acme", 6, 1)] = &File{Kind: KindRaw, Day: 6, Fingerprint: "x"}
	a.Files[PartPath(schema.SpendDaily.Table, "acme", 5)] = &File{Kind: KindParquet, Day: 5}
	got := a.RawPages(5)
	if len(got) != pages || !slices.IsSorted(got) || got[0] != RawPath("acme", 5, 1) {
		t.Errorf("%q", got)
	}
	if a.ByOlderRules(5) || !a.ByOlderRules(6) || a.ByOlderRules(7) {
		t.Error("of other rules: day 5, or not day 6, or day 7")
	}
}

// TestSettledFor: archived campaigns are read again by a version that may understand more of them, and all are when
// a table has gained a column.
func TestSettledFor(t *testing.T) {
	m := Next(nil, Head{}, "acme", Change{Settled: []string{"C1", "C2"}, SettledUnclear: map[string]string{"C2": "v1"}})
	a := m.Accounts["acme"]
	for version, want := range map[string][]string{"v1": {"C1", "C2"}, "v2": {"C1"}} {
		if got := a.SettledFor(version); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
	newest := 0
	for _, table := range schema.Tables {
		if slices.Contains(table.ColumnNames(), "version_no") {
			newest = max(newest, table.FilesVersion())
		}
	}
	if a.SettledTables != newest || newest == 0 {
		t.Errorf("read for version %d of the tables, want %d", a.SettledTables, newest)
	}
	a.SettledTables--
	if got := a.SettledFor("v1"); len(got) > 0 {
		t.Errorf("%q are not read for the new column", got)
	}
}

// TestNext_KeepsWhatIsKnown: a change of one table's keys leaves those of the others, and a field of the same name in
// another list is another field.
func TestNext_KeepsWhatIsKnown(t *testing.T) {
	base := New()
	base.Accounts["acme"] = full()
	next := Next(base, Head{Generation: 2}, "acme", Change{
		ExtraKeys: map[string]map[string]KeyChanges{"b": {"k": {Compared: 1}}},
		Unknown:   []schema.UnknownField{{Path: "p", RunID: "again"}, {Stream: "s", Path: "p"}, {Path: "q"}},
	}).Accounts["acme"]
	if len(next.ExtraKeys) != 2 || next.ExtraKeys["t"]["k"].Compared != 1 {
		t.Errorf("keys: %+v", next.ExtraKeys)
	}
	if want := []schema.UnknownField{{Path: "p"}, {Stream: "s", Path: "p"}, {Path: "q"}}; !slices.Equal(next.Unknown,
		want) {
		t.Errorf("fields: %+v", next.Unknown)
	}
}

// TestHolds: rows are the proven ones if both their sums and their content are.
func TestHolds(t *testing.T) {
	sealed := func(source string, spend schema.Money) *history.Day {
		rows := &schema.SpendRows{}
		rows.Append(&schema.Spend{AccountID: "acme", ReportDate: 5, CampaignID: "C1", SourceID: source, Spend: spend})
		d, err := history.NewDay(rows)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	proven := sealed("S1", 5)
	known := &Day{Sums: proven.Sums(), ContentHash: proven.Hash()}
	for want, day := range map[string]*history.Day{"": proven, "add up": sealed("S1", 6), "content": sealed("S2", 5)} {
		if err := known.Holds(day); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestEncode_NamesTheNewestLedger: the root has the published length of the newest ledger file, by which a run of
// another account sees that the ledger has grown; older ones do not grow.
func TestEncode_NamesTheNewestLedger(t *testing.T) {
	m := New()
	m.Of("acme").Ledger = map[string]int64{"ledger/account=acme/2026-09.jsonl": 9, octoberLedger: 5}
	m.Of("new")
	if _, err := m.Encode(); err != nil {
		t.Fatal(err)
	}
	if got := m.Parts["acme"].Ledger; !maps.Equal(got, map[string]int64{octoberLedger: 5}) {
		t.Errorf("%v", got)
	}
	if got := m.Parts["new"].Ledger; len(got) > 0 {
		t.Errorf("of an account without a ledger: %v", got)
	}
}

// TestReplaced are the files of the accounts that were written, in a fixed order, and nothing of a probe.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	e := &Encoded{Parts: map[string][]byte{}}
	var want []string
	for account := 'a'; account <= 'z'; account++ {
		folder := "manifest/account=" + string(account)
		e.Parts[folder+"/new.json"] = nil
		for _, name := range []string{"new.json", "old.json", "older.json", OwnPrefix + "x"} {
			write(t, filepath.Join(dir, folder, name), nil)
		}
		want = append(want, folder+"/old.json", folder+"/older.json")
	}
	e.Parts["manifest/account=first/new.json"] = nil // written by the commit, not yet there
	if got, err := e.Replaced(durable.OS, dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if _, err := e.Replaced(failingAt(dir, "manifest/account=b"), dir); !errors.Is(err, durable.ErrStorage) {
		t.Errorf("an unreadable folder: %v", err)
	}
}

// TestReadRoot_OfAKnownOne: the known manifest is returned for its own bytes only. One changed byte that leaves the
// checksum's digits as they were is damage.
func TestReadRoot_OfAKnownOne(t *testing.T) {
	dir := t.TempDir()
	e := put(t, dir, large())
	known, err := ReadRoot(durable.OS, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ReadRoot(durable.OS, dir, known); again != known || err != nil {
		t.Errorf("read again: %v", err)
	}
	e.Root[len(e.Root)-3] ^= 1
	write(t, filepath.Join(dir, FileName), e.Root)
	if _, err := ReadRoot(durable.OS, dir, known); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("a changed byte: %v", err)
	}
}

// TestRead_WithoutAManifest: a folder in which a store has lain is damage, any other is empty, and a disk that
// fails is neither.
func TestRead_WithoutAManifest(t *testing.T) {
	run := func(published bool) string {
		b, err := EncodeLedger(LedgerRows{Runs: []schema.Run{{RunID: "R1", Generation: 1, Published: published}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const ledger = "ledger/account=acme/2026-11.jsonl"
	for name, c := range map[string]struct {
		files map[string]string
		left  string // what lies there of a store; empty: nothing does
	}{
		"nothing":                       {nil, ""},
		"other files":                   {map[string]string{"notes.txt": "x"}, ""},
		"a new volume":                  {map[string]string{"parquet/lost+found/x": ""}, ""},
		"runs that published nothing":   {map[string]string{ledger: run(false)}, ""},
		"a run that published":          {map[string]string{ledger: run(true)}, ledger},
		"DuckDB file":                   {map[string]string{"warehouse.duckdb": ""}, "warehouse.duckdb"},
		"parquet":                       {map[string]string{"parquet/spend_daily/x": ""}, "parquet"},
		"raw":                           {map[string]string{"raw/x": ""}, "raw"},
		"account files":                 {map[string]string{"manifest/account=acme/x": ""}, "manifest"},
		"the first commit is under way": {map[string]string{"parquet/x": "", CommitName: "{}"}, ""},
	} {
		dir := t.TempDir()
		for path, content := range c.files {
			write(t, filepath.Join(dir, path), []byte(content))
		}
		_, err := Read(dir)
		if c.left == "" && !errors.Is(err, durable.ErrEmpty) || c.left != "" && (!errors.Is(err, durable.ErrDamaged) ||
			!strings.HasSuffix(err.Error(), ": "+c.left)) {
			t.Errorf("%s: %v, want %q", name, err, c.left)
		}
	}
	for _, path := range []string{FileName, "warehouse.duckdb", "parquet", "raw", "manifest", "ledger", CommitName,
		ledger} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, ledger), []byte(run(false)))
		_, err := ReadFrom(failingAt(dir, path), dir)
		if !errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrEmpty) ||
			errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%s cannot be read: %v", path, err)
		}
	}
}

// TestRead_OfAnEmptyAccount: members that the text leaves out are empty, and can be filled.
func TestRead_OfAnEmptyAccount(t *testing.T) {
	dir := t.TempDir()
	m := New()
	m.Generation = 1
	sha := HashLedger([]byte("{}"))
	m.Parts["acme"] = &Part{Path: accountPath("acme", sha), SHA256: sha, Bytes: 2}
	write(t, filepath.Join(dir, m.Parts["acme"].Path), []byte("{}"))
	put(t, dir, m)
	read, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	next := Next(read, Head{Generation: 2}, "acme", Change{
		Days: map[schema.Date]*Day{1: {}}, Files: map[string]*File{"a": {}},
		Confirmations: map[string]history.Confirmations{"t": {}},
		ExtraKeys:     map[string]map[string]KeyChanges{"t": {}},
	})
	next.Of("acme").Ledger["l"], next.Of("acme").LedgerSHA256["l"] = 1, "x"
	if len(next.Accounts["acme"].Days) != 1 {
		t.Errorf("%+v", next.Accounts["acme"])
	}
}

// TestDecode_RefusesWhatCannotBe: each text is sealed, so only its content speaks against it.
func TestDecode_RefusesWhatCannotBe(t *testing.T) {
	sha := strings.Repeat("a", 64)
	part := func(p *Part) func(*Manifest) { return func(m *Manifest) { m.Parts["acme"] = p } }
	for name, c := range map[string]struct {
		edit func(*Manifest)
		want string // empty: it is read
	}{
		"as it is":      {func(*Manifest) {}, ""},
		"oldest schema": {func(m *Manifest) { m.SchemaVersion = schema.Oldest }, ""},
		"an account":    {part(&Part{Path: accountPath("acme", sha), SHA256: sha}), ""},
		"no generation": {func(m *Manifest) { m.Generation = 0 }, "lacks"},
		"no schema":     {func(m *Manifest) { m.SchemaVersion = 0 }, "lacks"},
		"bad name": {func(m *Manifest) { m.Parts["../x"] = &Part{Path: accountPath("../x", sha), SHA256: sha} },
			"not a valid name"},
		"null":         {part(nil), "not named by its content"},
		"another path": {part(&Part{Path: "manifest/x.json", SHA256: sha}), "not named by its content"},
		"another hash": {part(&Part{Path: accountPath("acme", sha), SHA256: strings.Repeat("b", 64)}),
			"not named by its content"},
		"no hash": {part(&Part{Path: accountPath("acme", "../../x"), SHA256: "../../x"}), "not named by its content"},
	} {
		m := New()
		m.Generation = 1
		c.edit(m)
		e, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		_, err = Decode(e.Root)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, durable.ErrDamaged) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, edit := range [][2]string{
		{fmt.Sprintf(`"schema_version": %d`, schema.Version), fmt.Sprintf(`"schema_version": %d`, schema.Oldest-1)},
		{fmt.Sprintf(`"format": %d`, Format), fmt.Sprintf(`"format": %d`, Format-1)},
	} {
		m := New()
		m.Generation = 1
		e, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		root := []byte(strings.Replace(string(e.Root), edit[0], edit[1], 1))
		if _, err := Decode(root); !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%s, and another seal: %v", edit[1], err)
		}
		copy(durable.FindSeal(root), durable.Unsealed)
		durable.Seal(root)
		_, err = Decode(root)
		if !errors.Is(err, durable.ErrOlder) || !strings.Contains(err.Error(), schema.OldestCommit) {
			t.Errorf("%s: %v", edit[1], err)
		}
	}
}

// TestLedger_IsReadable: the ledger has the texts of the service as they came, for who reads it with grep.
func TestLedger_IsReadable(t *testing.T) {
	const text = `reply: <html>&`
	b, err := EncodeLedger(LedgerRows{Steps: []schema.Step{{Unit: text}}})
	if err != nil || !strings.Contains(string(b), text) {
		t.Errorf("%s, %v", b, err)
	}
}

// TestGrownLedgers are the accounts whose newest ledger file differs from the published one, in order. A loaded
// account is not among them: its ledger is read.
func TestGrownLedgers(t *testing.T) {
	dir, m := t.TempDir(), New()
	file := func(account, month string) string { return "ledger/account=" + account + "/" + month + ".jsonl" }
	for account, files := range map[string]map[string]int{
		"z-grown": {"2026-10": 9}, "b-new-month": {"2026-10": 5, "2026-11": 1}, "no-ledger": {},
		"as-published": {"2026-09": 3, "2026-10": 5}, "loaded": {"2026-10": 9}, "a-cut": {"2026-10": 2},
	} {
		m.Parts[account] = &Part{Ledger: map[string]int64{file(account, "2026-10"): 5}}
		for month, size := range files {
			write(t, filepath.Join(dir, file(account, month)), make([]byte, size))
		}
	}
	m.Of("loaded")
	want := []string{"a-cut", "b-new-month", "z-grown"}
	if got, err := m.GrownLedgers(durable.OS, dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for _, path := range []string{"ledger/account=as-published", file("as-published", "2026-10")} {
		if got, err := m.GrownLedgers(failingAt(dir, path), dir); !errors.Is(err, durable.ErrStorage) {
			t.Errorf("%s cannot be read: %q, %v", path, got, err)
		}
	}
	gone := durable.Disk{FS: unreadable{durable.OS.FS, func(path string) error {
		if strings.HasSuffix(path, file("as-published", "2026-10")) {
			return &fs.PathError{Op: "lstat", Path: path, Err: os.ErrNotExist}
		}
		return nil
	}}}
	if got, err := m.GrownLedgers(gone, dir); err != nil || !slices.Contains(got, "as-published") {
		t.Errorf("a file that was removed meanwhile: %q, %v", got, err)
	}
}
