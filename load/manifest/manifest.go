package manifest

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/schema"
)

// Format is the version of manifest.json itself.
const Format = 3

// Manifest is the published generation: everything that a reader may rely on, and everything that
// the next run starts from. Its root is manifest.json, which names one file for each account.
type Manifest struct {
	Head
	// Parts are the files of all accounts, by the accounts' names.
	Parts map[string]*AccountFile `json:"accounts"`
	// Accounts is the content of those files, if they are loaded: see [Manifest.Load].
	Accounts map[string]*Account `json:"-"`
}

// Head describes a generation as a whole.
type Head struct {
	Format        int            `json:"format"`
	Checksum      string         `json:"checksum"` // of the root, see [durable.CheckSeal]
	SchemaVersion int            `json:"schema_version"`
	Generation    int64          `json:"generation"`
	PublishedAt   schema.Instant `json:"published_at"`
	RunID         string         `json:"run_id"`
	Version       string         `json:"version"`
	Warehouse     Warehouse      `json:"warehouse"`
	// Views is the hash of the views that the DuckDB file has and the marts were written
	// with; empty if one failed.
	Views string `json:"views,omitempty"`
}

// AccountFile names the file that holds an account's part of the generation. Its name is the hash of its
// content, so it is never replaced: another content is another file.
type AccountFile struct {
	Path       string `json:"path"` // below the data directory
	Bytes      int64  `json:"bytes"`
	SHA256     string `json:"sha256"`
	Generation int64  `json:"generation"` // that wrote the file
	// Days is the number of proven days, and Rows the number of rows of the account's Parquet files
	// by table.
	Days int64            `json:"days"`
	Rows map[string]int64 `json:"rows"`
	// Ledger is how many bytes of the newest ledger file are published, by its path.
	Ledger map[string]int64 `json:"ledger"`
}

// Warehouse is the DuckDB file of the generation.
type Warehouse struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// BuiltBytes and BuiltRows are its size and its rows when it was last built
	// from nothing: by them a later run knows when replaced days have left too much dead space.
	BuiltBytes int64 `json:"built_bytes"`
	BuiltRows  int64 `json:"built_rows"`
}

// Account is one account's part of the generation.
type Account struct {
	// Since is the first day that could ever be asked for: earlier days do not count as gaps.
	Since schema.Date          `json:"since"`
	Days  map[schema.Date]*Day `json:"days"`
	Files map[string]*File     `json:"files"` // by path below the data directory
	// Ledger is how many bytes of each ledger file this generation holds, and
	// LedgerSHA256 the hash of these.
	Ledger       map[string]int64  `json:"ledger"`
	LedgerSHA256 map[string]string `json:"ledger_sha256,omitempty"`

	// Waiting are the keys and the spend ([history.Day.KeyHash]) of the last proven reads that have less than half of
	// what is stored of their days: a second one alike takes its place.
	Waiting map[schema.Date]string `json:"waiting_reads,omitempty"`
	// Ask is what version 11 of the tables asked for of the report. It is read and dropped.
	Ask any `json:"report_ask,omitzero"`

	// Reach is how many days before today the report was last answered for, if it refuses what the description
	// allows; 0: it does not.
	Reach int `json:"reach,omitzero"`

	// Notes are the differences that runs have seen lately, by name.
	Notes Notes `json:"notes,omitempty"`

	// Own is what the last reading of the operator's own files found wrong.
	Own OwnFiles `json:"own_files,omitzero"`

	LastingFacts
	// EventsOnly reports that the ledger files hold runs and steps alone. Those of version 11 of the tables also hold
	// the lasting facts, again for each run.
	EventsOnly bool `json:"ledger_events_only,omitempty"`
	// Memory has what the rows of the tables of versions do not show, by table.
	Memory map[string]history.Memory `json:"memory,omitempty"`
	// Pinned is the advertiser account that the API key acted on in the first run.
	Pinned string `json:"pinned_account,omitempty"`
	// Settled are the campaigns that are archived, which is for ever, and have
	// been read whole since: they need not be read again.
	Settled []string `json:"settled_campaigns,omitempty"`
	// SettledTables is the version of the tables of settings that they were read for: a later one has columns that
	// were never read for them.
	SettledTables int `json:"settled_tables,omitzero"`
	// UndescribedKeys and SettledUnclear are of earlier versions of the tables, and are not kept.
	UndescribedKeys map[string]any `json:"undescribed_keys,omitempty"`
	SettledUnclear  map[string]any `json:"settled_unclear,omitempty"`
	// ReportedLost are the lost days that a run has ended with the exit code for. Until
	// then every run reports them.
	ReportedLost []schema.Date `json:"mourned_days,omitempty"`
}

// ControlTotal is the service's own total of a day.
type ControlTotal struct {
	Spend  schema.Null[schema.Money] `json:"spend"`
	Clicks schema.Null[int64]        `json:"clicks"`
}

// Day describes a proven day.
type Day struct {
	FirstReadAt schema.Instant `json:"first_read_at"` // when the first proven read began
	LastReadAt  schema.Instant `json:"last_read_at"`  // when the last proven read started
	Reads       int64          `json:"reads"`
	RunID       string         `json:"run_id"` // of the last proven read
	ReadOutcome
	ContentHash string       `json:"content_hash"`
	Sums        history.Sums `json:"sums"`
}

// ReadOutcome describes a read of a day, without its rows: how it was proven, and how its values were understood.
type ReadOutcome struct {
	Control string `json:"control_total_state"`
	// ControlTotal is the service's own total of the day, as far as it gave one.
	ControlTotal ControlTotal `json:"control_total,omitzero"`
	// RowsTotal is the number of rows that the service states, and RowsTotalState whether as many
	// came; empty: a version read the day that kept neither.
	RowsTotal      schema.Null[int64] `json:"rows_total,omitzero"`
	RowsTotalState string             `json:"rows_total_state,omitempty"`
	Meaning
}

// Meaning is how the replies of a read became its rows. It is stored with the replies.
type Meaning struct {
	Rounded int `json:"rounded,omitzero"` // amounts that had more than six decimals
	// Refused is how many rows of the replies could not be stored; the others are. Such
	// a day is partial until all rows of the replies can be stored.
	Refused int64 `json:"refused_rows,omitzero"`
	// Unread is how many rows are stored without some of their measures, which cannot be read.
	// Its name is from when only conversions could lack.
	Unread int64 `json:"unread_conversions,omitzero"`
	// UnreadForms are the measures that cannot be read, each with the form that it came in.
	UnreadForms []string `json:"unread_forms,omitempty"`
	// Pieces are what the replies answered, if the day was read campaign by campaign.
	Pieces []schema.Piece `json:"pieces,omitempty"`

	retired
}

// retired are members of a day that version 11 of the tables had. They are read and dropped.
type retired struct {
	AskedBeyond any `json:"asked_beyond,omitzero"`
	Combined    any `json:"combined,omitzero"`
	Without     any `json:"without,omitzero"`
	Kept        any `json:"kept,omitzero"`
}

// Equal reports whether two reads mean the same.
func (m Meaning) Equal(other Meaning) bool {
	return m.Rounded == other.Rounded && m.Refused == other.Refused && m.Unread == other.Unread &&
		slices.Equal(m.UnreadForms, other.UnreadForms) && slices.Equal(m.Pieces, other.Pieces)
}

// The kinds of File.
const (
	KindParquet = "parquet"
	KindRaw     = "raw"
	// KindDuckDB is of the DuckDB file of one account, in a store that has several.
	KindDuckDB = "duckdb"
	// KindSettings is of replies of the settings, which version 11 of the tables does not keep.
	KindSettings = "settings"
)

// File is one published file.
type File struct {
	Kind  string `json:"kind"`
	Table string `json:"table,omitempty"`
	// of spend_daily and raw: the report day; of spend_change and settings: the day of seeing
	Day    schema.Date `json:"day,omitzero"`
	Rows   int64       `json:"rows"`
	Bytes  int64       `json:"bytes"`
	SHA256 string      `json:"sha256"`
	RunID  string      `json:"run_id"`
	// Fingerprint identifies the unmodified reply; empty: not known.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Unpacked is the size of a compressed file of replies once it is decompressed; 0: not known.
	Unpacked int64 `json:"unpacked,omitzero"`
}

// IsMart reports whether the file is the answer of a view: the DuckDB file has no table with its rows.
func (f *File) IsMart() bool {
	t := schema.Named(f.Table)
	return t != nil && t.View != ""
}

// Repair returns what repairs a damaged file: the replies contain the report and nothing else.
func (f *File) Repair() string {
	switch t := schema.Named(f.Table); {
	case t != nil && t.MadeFrom == schema.Replies:
		return durable.RepairReplay
	case f.Kind == KindDuckDB, t != nil && t.MadeFrom == schema.OtherTables:
		return durable.RepairRebuild
	}
	return RepairLost
}

// check refuses an account that names files outside of the store: the rest of the package relies on this.
func (a *Account) check(name string) error {
	if !schema.AccountName.MatchString(name) {
		return damaged("account %q is not a valid name", name)
	}
	for d, day := range a.Days {
		if day == nil {
			return damaged("day %s of account %s is null", d, name)
		}
	}
	for path, f := range a.Files {
		if f == nil {
			return damaged("file %q of account %s is null", path, name)
		}
	}
	for _, path := range slices.Concat(slices.Collect(maps.Keys(a.Files)), slices.Collect(maps.Keys(a.Ledger))) {
		if LeadsOut(path) || filepath.Clean(path) != path {
			return damaged("%q of account %s leads out of the store",
				path, name)
		}
	}
	return nil
}

// New returns a manifest of no accounts.
func New() *Manifest {
	return &Manifest{Head: Head{Format: Format, SchemaVersion: schema.Version}, Parts: map[string]*AccountFile{},
		Accounts: map[string]*Account{}}
}

// fill makes the maps that the text of an account leaves out.
func (a *Account) fill() {
	a.Ask = nil
	for _, day := range a.Days {
		if day != nil {
			day.retired = retired{}
		}
	}
	for i := range a.Notes {
		a.Notes[i].ByHand = nil
	}
	if a.Days == nil {
		a.Days = map[schema.Date]*Day{}
	}
	if a.Files == nil {
		a.Files = map[string]*File{}
	}
	if a.Memory == nil {
		a.Memory = map[string]history.Memory{}
	}
	if a.Ledger == nil {
		a.Ledger = map[string]int64{}
	}
	if a.LedgerSHA256 == nil {
		a.LedgerSHA256 = map[string]string{}
	}
	if a.Waiting == nil {
		a.Waiting = map[schema.Date]string{}
	}
	a.UndescribedKeys, a.SettledUnclear = nil, nil
	if a.MoreFacts == nil {
		a.MoreFacts = map[string]int64{}
	}
	for i := range a.Unknown { // of version 11 of the tables
		if u := &a.Unknown[i]; u.Runs == 0 {
			u.LastSeenAt, u.Runs = u.FirstSeenAt, 1
		}
	}
}

// Of returns the loaded part of an account. It adds one if the manifest does not know the account.
func (m *Manifest) Of(name string) *Account {
	a := m.Accounts[name]
	if a == nil {
		a = NewAccount(0)
		m.Accounts[name] = a
	}
	return a
}

// Clone returns a copy to build the next generation on: changes to the copy leave the original
// unchanged. Files and memories are never changed, only replaced.
func (m *Manifest) Clone() *Manifest {
	next := &Manifest{Head: m.Head, Parts: maps.Clone(m.Parts), Accounts: map[string]*Account{}}
	for name, a := range m.Accounts {
		next.Accounts[name] = a.clone()
	}
	return next
}

// Take copies a loaded account of another manifest.
func (m *Manifest) Take(name string, from *Manifest) { m.Accounts[name] = from.Accounts[name].clone() }

func (a *Account) clone() *Account {
	c := *a
	c.Days = map[schema.Date]*Day{}
	for d, day := range a.Days {
		copied := *day
		c.Days[d] = &copied
	}
	c.Files, c.Ledger, c.LedgerSHA256, c.Memory = maps.Clone(a.Files), maps.Clone(a.Ledger),
		maps.Clone(a.LedgerSHA256), maps.Clone(a.Memory)
	c.Unknown, c.Settled, c.ReportedLost = slices.Clone(a.Unknown), slices.Clone(a.Settled),
		slices.Clone(a.ReportedLost)
	c.Notes, c.Waiting = slices.Clone(a.Notes), maps.Clone(a.Waiting)
	c.Unread, c.Refused, c.MoreFacts = slices.Clone(a.Unread), slices.Clone(a.Refused), maps.Clone(a.MoreFacts)
	return &c
}

// AccountNames returns the names of all accounts in the store, loaded or not, sorted.
func (m *Manifest) AccountNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(m.Parts)), maps.Keys(m.Accounts))
	slices.Sort(names)
	return slices.Compact(names)
}

// LoadedNames returns the names of the loaded accounts, sorted.
func (m *Manifest) LoadedNames() []string { return slices.Sorted(maps.Keys(m.Accounts)) }

// Drop removes an account from the manifest.
func (m *Manifest) Drop(name string) {
	delete(m.Accounts, name)
	delete(m.Parts, name)
}

// RowsOf returns the number of rows of an account's Parquet files by table, marts included.
func (m *Manifest) RowsOf(account string) map[string]int64 {
	a := m.Accounts[account]
	if a == nil {
		return m.Parts[account].Rows
	}
	return a.rows()
}

func (a *Account) rows() map[string]int64 {
	rows := map[string]int64{}
	for _, f := range a.Files {
		if f.Kind == KindParquet && f.Rows > 0 {
			rows[f.Table] += f.Rows
		}
	}
	return rows
}

// Rows returns the number of rows of all Parquet files of the generation.
func (m *Manifest) Rows() (n int64) {
	for _, name := range m.AccountNames() {
		for _, rows := range m.RowsOf(name) {
			n += rows
		}
	}
	return n
}

// RawPages are the stored replies of a day, in their order: paths below the data directory.
func (a *Account) RawPages(day schema.Date) []string {
	var pages []string
	for path, f := range a.Files {
		if f.Kind == KindRaw && f.Day == day {
			pages = append(pages, path)
		}
	}
	slices.SortFunc(pages, ByPage)
	return pages
}

// ByOlderRules reports whether a stored reply of a day became rows by other rules than today's,
// see [schema.ReplyRules].
func (a *Account) ByOlderRules(day schema.Date) bool {
	return slices.ContainsFunc(a.RawPages(day), func(path string) bool {
		return !strings.HasPrefix(a.Files[path].Fingerprint, schema.ReplyRules+":")
	})
}

// NewAccount returns an empty account that could have been asked for since a day.
func NewAccount(since schema.Date) *Account {
	a := &Account{Since: since}
	a.fill()
	return a
}
