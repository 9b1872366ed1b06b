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

// Format is the version of the format of manifest.json.
const Format = 3

// Manifest describes a published generation: everything that readers may rely on and that the next run starts from. Its
// root is manifest.json, which names a file for each account.
type Manifest struct {
	Head
	// AccountFiles are the files of all accounts, by account name.
	AccountFiles map[string]*AccountFile `json:"accounts"`
	// Accounts are the loaded accounts, see [Manifest.Load].
	Accounts map[string]*Account `json:"-"`
}

// Head is the part of a manifest about the generation as a whole, not about one account.
type Head struct {
	Format        int            `json:"format"`
	Checksum      string         `json:"checksum"` // see [durable.CheckSeal]
	SchemaVersion int            `json:"schema_version"`
	Generation    int64          `json:"generation"`
	PublishedAt   schema.Instant `json:"published_at"`
	RunID         string         `json:"run_id"`
	Version       string         `json:"version"`
	Warehouse     Warehouse      `json:"warehouse"`
	// Views is the hash of the definitions of the DuckDB file's models; empty if a view could not be made.
	Views string `json:"views,omitempty"`
}

// AccountFile describes the file with an account's part of the generation. The file is named by the hash of its
// content, so it is never overwritten.
type AccountFile struct {
	Path       string `json:"path"` // below the data directory
	Bytes      int64  `json:"bytes"`
	SHA256     string `json:"sha256"`
	Generation int64  `json:"generation"` // the generation that wrote the file
	// Days is the number of proven days. Rows is the number of rows in the account's Parquet files, by table.
	Days int64            `json:"days"`
	Rows map[string]int64 `json:"rows"`
	// Ledger has at most one entry: the path of the newest ledger file, and the size of the file's published part.
	Ledger map[string]int64 `json:"ledger"`
}

// Warehouse describes the DuckDB file of the generation.
type Warehouse struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// BuiltBytes and BuiltRows are the size and the number of rows when the file was last built from nothing, see
	// [Manifest.GrownTooMuch].
	BuiltBytes int64 `json:"built_bytes"`
	BuiltRows  int64 `json:"built_rows"`
}

// Account is one account's part of the generation.
type Account struct {
	// Since is the first day that the report could be asked for. Earlier days do not count as missing.
	Since schema.Date          `json:"since"`
	Days  map[schema.Date]*Day `json:"days"`
	Files map[string]*File     `json:"files"` // by path, below the data directory
	// Ledger is the published size of each ledger file, by path. LedgerSHA256 is the hash of the published part of each
	// file.
	Ledger       map[string]int64  `json:"ledger"`
	LedgerSHA256 map[string]string `json:"ledger_sha256,omitempty"`

	// Waiting has the days with a proven read that is not published yet, because it has less than half of the stored
	// rows or spend. The value is the [history.Day.KeyHash] of the read. The read is published only if the next proven
	// read has the same hash.
	Waiting map[schema.Date]string `json:"waiting_reads,omitempty"`
	// Ask is from version 11 of the tables. It is ignored.
	Ask any `json:"report_ask,omitzero"`

	// Reach is the number of days before today for which the service still answers. It is 0 if the service has refused
	// no day that its description allows.
	Reach int `json:"reach,omitzero"`

	// Notes are the differences that runs have lately seen between the stored data and the service's statements, sorted
	// by name.
	Notes Notes `json:"notes,omitempty"`

	// Own are the findings from the last reading of the operator's own files.
	Own OwnFiles `json:"own_files,omitzero"`

	LastingFacts
	// EventsOnly means that the ledger files contain only runs, steps and reported lost days. Version 11 of the tables
	// also wrote all lasting facts for each run.
	EventsOnly bool `json:"ledger_events_only,omitempty"`
	// Memory has, by name of a table of versions, the part of the table's state that is not in its rows.
	Memory map[string]history.Memory `json:"memory,omitempty"`
	// Pinned is the advertiser account that the API key acted on in the first run.
	Pinned string `json:"pinned_account,omitempty"`
	// Settled are the archived campaigns that were read completely since they were archived. Archiving is final, so
	// these campaigns need not be read again.
	Settled []string `json:"settled_campaigns,omitempty"`
	// SettledTables is the version of the settings tables for which the Settled campaigns were read. Later versions
	// have columns that were not read for these campaigns.
	SettledTables int `json:"settled_tables,omitzero"`
	// UndescribedKeys and SettledUnclear are from earlier versions of the tables. They are ignored.
	UndescribedKeys map[string]any `json:"undescribed_keys,omitempty"`
	SettledUnclear  map[string]any `json:"settled_unclear,omitempty"`
	// ReportedLost are the lost days that a run has reported by its exit code: the run of this generation or an earlier
	// one. Other lost days are reported by the next run.
	ReportedLost []schema.Date `json:"mourned_days,omitempty"`
}

// ControlTotal is the service's own sum of a day.
type ControlTotal struct {
	Spend  schema.Null[schema.Money] `json:"spend"`
	Clicks schema.Null[int64]        `json:"clicks"`
}

// Day describes a proven day.
type Day struct {
	FirstReadAt schema.Instant `json:"first_read_at"` // when the first proven read started
	LastReadAt  schema.Instant `json:"last_read_at"`  // when the last proven read started
	Reads       int64          `json:"reads"`
	RunID       string         `json:"run_id"` // of the last proven read
	ReadOutcome
	// Lost has, for each count, the number of rows where it is NULL although an earlier read of the day had it.
	Lost        history.Lacks `json:"lost_counts,omitzero"`
	ContentHash string        `json:"content_hash"`
	Sums        history.Sums  `json:"sums"`
}

// ReadOutcome describes a read of a day, except the rows: how the read was proven, and how the values were understood.
type ReadOutcome struct {
	Control string `json:"control_total_state"`
	// ControlTotal is the service's own sum of the day. A value that the service did not state is NULL.
	ControlTotal ControlTotal `json:"control_total,omitzero"`
	// RowsTotal is the number of rows that the service states. RowsTotalState is one of [schema.RowsMatched],
	// [schema.RowsDiffer] and [schema.RowsNone]. Both fields are empty if the day was read by a version that did not
	// store them.
	RowsTotal      schema.Null[int64] `json:"rows_total,omitzero"`
	RowsTotalState string             `json:"rows_total_state,omitempty"`
	Meaning
}

// Meaning records how the replies of a read were turned into rows. It is stored with the replies.
type Meaning struct {
	Rounded int `json:"rounded,omitzero"` // amounts that had more than six decimals
	// Refused is the number of rows in the replies that could not be stored. The day is partial until a read has none.
	Refused int64 `json:"refused_rows,omitzero"`
	// Unread is the number of rows that are stored with a NULL for a measure that could not be read. The JSON name is
	// from a time when only conversions could be unreadable.
	Unread int64 `json:"unread_conversions,omitzero"`
	// UnreadForms counts the rows of Unread by measure and form of the value, for example clicks.boolean.
	UnreadForms map[string]int64 `json:"unread_form_rows,omitempty"`
	// OldForms are the forms of unreadable values in a day that an earlier version of spendsync stored, for example
	// clicks.boolean. That version did not count the rows of each form.
	OldForms []string `json:"unread_forms,omitempty"`
	// If the day was read campaign by campaign, Pieces are the campaigns and creatives that had a request of their own.
	Pieces []schema.Piece `json:"pieces,omitempty"`

	retired
}

// retired has fields that only version 11 of the tables wrote for a day. They are ignored.
type retired struct {
	AskedBeyond any `json:"asked_beyond,omitzero"`
	Combined    any `json:"combined,omitzero"`
	Without     any `json:"without,omitzero"`
	Kept        any `json:"kept,omitzero"`
}

// Equal compares all fields except the retired ones.
func (m Meaning) Equal(other Meaning) bool {
	return m.Rounded == other.Rounded && m.Refused == other.Refused && m.Unread == other.Unread &&
		maps.Equal(m.UnreadForms, other.UnreadForms) && slices.Equal(m.OldForms, other.OldForms) &&
		slices.Equal(m.Pieces, other.Pieces)
}

// HasUnread reports whether some values of a measure could not be read.
func (m Meaning) HasUnread(measure string) bool {
	isOf := func(form string) bool { return strings.HasPrefix(form, measure+".") }
	return slices.ContainsFunc(m.OldForms, isOf) || slices.ContainsFunc(slices.Collect(maps.Keys(m.UnreadForms)), isOf)
}

// The kinds of File.
const (
	KindParquet = "parquet"
	KindRaw     = "raw"
	// KindDuckDB is the DuckDB file of one account, in a store with several accounts.
	KindDuckDB = "duckdb"
	// KindSettings are replies of the settings, which only version 10 of the tables kept.
	KindSettings = "settings"
)

// PresentRules is the beginning of [File].Rules for every stored reply that this version has decoded.
const PresentRules = schema.ReplyRules + ":"

// File is one published file.
type File struct {
	Kind  string `json:"kind"`
	Table string `json:"table,omitempty"`
	// Day is the report day for spend_daily and replies, and the day of the observation for spend_change and settings.
	Day    schema.Date `json:"day,omitzero"`
	Rows   int64       `json:"rows"`
	Bytes  int64       `json:"bytes"`
	SHA256 string      `json:"sha256"`
	RunID  string      `json:"run_id"`
	// Rules states how the reply was decoded into rows: the version of the rules, and a colon. Earlier versions of
	// spendsync added a hash of the reply.
	Rules string `json:"fingerprint,omitempty"`
	// Unpacked is the decompressed size of a reply; 0: not known.
	Unpacked int64 `json:"unpacked,omitzero"`
}

// IsMart reports whether the file is a copy of a mart. DuckDB does not load such a file.
func (f *File) IsMart() bool {
	t := schema.Named(f.Table)
	return t != nil && t.View != ""
}

// Repair returns how a damaged file is repaired. Only the report can be made from stored replies.
func (f *File) Repair() string {
	switch t := schema.Named(f.Table); {
	case t != nil && t.MadeFrom == schema.Replies:
		return durable.RepairReplay
	case f.Kind == KindDuckDB, t != nil && t.MadeFrom == schema.OtherTables:
		return durable.RepairRebuild
	}
	return RepairLost
}

// check returns an error if an account names files outside of the store. The rest of the package relies on this check.
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

// New returns a manifest without accounts.
func New() *Manifest {
	return &Manifest{Head: Head{Format: Format, SchemaVersion: schema.Version}, AccountFiles: map[string]*AccountFile{},
		Accounts: map[string]*Account{}}
}

// upgrade drops the fields of older versions, and sets the fields that older versions lacked.
func (a *Account) upgrade() {
	a.Ask, a.UndescribedKeys, a.SettledUnclear = nil, nil, nil
	for _, day := range a.Days {
		if day != nil {
			day.retired = retired{}
		}
	}
	for i := range a.Notes {
		a.Notes[i].ByHand, a.Notes[i].Evidence = nil, nil
	}
	for i := range a.Unknown { // version 11 of the tables did not count the runs that saw a field
		if u := &a.Unknown[i]; u.Runs == 0 {
			u.LastSeenAt, u.Runs = u.FirstSeenAt, 1
		}
	}
}

// Of returns a loaded account. If the manifest does not have the account, Of adds an empty account and returns it.
func (m *Manifest) Of(name string) *Account {
	a := m.Accounts[name]
	if a == nil {
		a = NewAccount(0)
		m.Accounts[name] = a
	}
	return a
}

// Clone returns a copy from which the next generation can be made without changing the original. The copy shares the
// values of File and Memory with the original, because such a value is replaced but never changed.
func (m *Manifest) Clone() *Manifest {
	next := &Manifest{Head: m.Head, AccountFiles: maps.Clone(m.AccountFiles), Accounts: map[string]*Account{}}
	for name, a := range m.Accounts {
		next.Accounts[name] = a.clone()
	}
	return next
}

// AddCopy adds a copy of a loaded account of another manifest.
func (m *Manifest) AddCopy(name string, from *Manifest) {
	m.Accounts[name] = from.Accounts[name].clone()
}

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

// AccountNames returns the sorted names of all accounts, loaded or not.
func (m *Manifest) AccountNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(m.AccountFiles)), maps.Keys(m.Accounts))
	slices.Sort(names)
	return slices.Compact(names)
}

// LoadedNames returns the sorted names of the loaded accounts.
func (m *Manifest) LoadedNames() []string { return slices.Sorted(maps.Keys(m.Accounts)) }

// Drop removes an account from the manifest.
func (m *Manifest) Drop(name string) {
	delete(m.Accounts, name)
	delete(m.AccountFiles, name)
}

// RowsOf returns the number of rows in an account's Parquet files by table, marts included.
func (m *Manifest) RowsOf(account string) map[string]int64 {
	a := m.Accounts[account]
	if a == nil {
		return m.AccountFiles[account].Rows
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

// Rows returns the number of rows in all Parquet files of the generation.
func (m *Manifest) Rows() (n int64) {
	for _, name := range m.AccountNames() {
		for _, rows := range m.RowsOf(name) {
			n += rows
		}
	}
	return n
}

// RawPages returns the paths of the stored replies of a day, in order.
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

// ByOlderRules reports whether a stored reply of a day was decoded by rules older than the present [schema.ReplyRules].
func (a *Account) ByOlderRules(day schema.Date) bool {
	return slices.ContainsFunc(a.RawPages(day), func(path string) bool {
		return !strings.HasPrefix(a.Files[path].Rules, PresentRules)
	})
}

// NewAccount returns an empty account with the given first day.
func NewAccount(since schema.Date) *Account {
	return &Account{Since: since, Days: map[schema.Date]*Day{}, Files: map[string]*File{},
		Ledger: map[string]int64{}, LedgerSHA256: map[string]string{}, Memory: map[string]history.Memory{},
		Waiting: map[schema.Date]string{}, LastingFacts: LastingFacts{MoreFacts: map[string]int64{}}}
}
