package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/schema"
)

// Format is the version of manifest.json itself. The first had no
// checksums of itself and of the ledger.
const Format = 2

// Manifest is the published generation: everything that a reader may rely on,
// and everything that the next run starts from.
type Manifest struct {
	Format        int                 `json:"format"`
	Checksum      string              `json:"checksum,omitempty"` // of the manifest itself, see checkSeal
	SchemaVersion int                 `json:"schema_version"`
	Generation    int64               `json:"generation"`
	PublishedAt   schema.Instant      `json:"published_at"`
	RunID         string              `json:"run_id"`
	Version       string              `json:"version"`
	Warehouse     Warehouse           `json:"warehouse"`
	Accounts      map[string]*Account `json:"accounts"`
	// Views is the hash of the views that the DuckDB file has and the marts were written
	// with; empty where one failed.
	Views string `json:"views,omitempty"`
	// MartsOf is what Views was in the first format; it is read past.
	MartsOf string `json:"marts_of,omitempty"`
	// Index and IndexAt are how a large manifest ends, see [OpenIndexed].
	Index   passed `json:"index,omitzero"`
	IndexAt passed `json:"index_at,omitzero"`
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
	// Since is the first day that could ever be asked for: days before it are
	// nobody's gap.
	Since schema.Date          `json:"since"`
	Days  map[schema.Date]*Day `json:"days"`
	Files map[string]*File     `json:"files"` // by path below the data directory
	// Ledger is how many bytes of each ledger file this generation holds, and
	// LedgerSHA256 the hash of these.
	Ledger       map[string]int64  `json:"ledger"`
	LedgerSHA256 map[string]string `json:"ledger_sha256,omitempty"`

	// MartsFrom is the first day of which the marts are older than this generation, whose run
	// writes them with its next one; 0: they are of this one.
	MartsFrom schema.Date `json:"marts_from,omitempty"`

	Unknown []schema.UnknownField `json:"unknown_fields,omitempty"`
	// Memory is what the tables of versions have to remember beside their rows.
	Memory map[string]history.Memory `json:"memory,omitempty"`
	// Pinned is the advertiser account that the API key acted on in the first run.
	Pinned string `json:"pinned_account,omitempty"`
	// Settled are the campaigns that are archived, which is for ever, and have
	// been read whole since: they need not be read again.
	Settled []string `json:"settled_campaigns,omitempty"`
	// SettledTables is the version of the tables of settings that they were read for: a
	// later one has columns that nobody has looked for in them.
	SettledTables int `json:"settled_tables,omitempty"`
	// SettledUnclear are those of Settled of which something was not understood, each with
	// the version of spendsync that read it: another version reads them again.
	SettledUnclear map[string]string `json:"settled_unclear,omitempty"`
	// Beyond counts, by table and path, how often the keys of the settings that no column
	// shows were compared with what was stored, and how often they differed.
	Beyond map[string]map[string]KeyChanges `json:"undescribed_keys,omitempty"`
	// ReportedLost are the lost days that a run has ended with the exit code for. Until
	// then every run reports them.
	ReportedLost []schema.Date `json:"mourned_days,omitempty"`
}

// MartsBehind says that some account's marts are older than the generation: the run that
// published it has yet to write them, or died before it could.
func (m *Manifest) MartsBehind() bool {
	for _, a := range m.Accounts {
		if a.MartsFrom != 0 {
			return true
		}
	}
	return false
}

// ControlTotal is the service's own total of a day.
type ControlTotal struct {
	Spend  schema.Null[schema.Money] `json:"spend"`
	Clicks schema.Null[int64]        `json:"clicks"`
}

// KeyChanges is how often the value of a key was compared, and how often it differed.
type KeyChanges struct {
	Compared int64 `json:"compared"`
	Changed  int64 `json:"changed"`
}

// Day is what is known about one proven day.
type Day struct {
	FirstReadAt schema.Instant `json:"first_read_at"` // when the first proven read began
	LastReadAt  schema.Instant `json:"last_read_at"`  // when the last proven read began
	Reads       int64          `json:"reads"`
	Control     string         `json:"control_total_state"`
	// ControlTotal is the service's own total of the day, as far as it gave one.
	ControlTotal ControlTotal `json:"control_total,omitzero"`
	ContentHash  string       `json:"content_hash"`
	Sums         history.Sums `json:"sums"`
	Rounded      int          `json:"rounded,omitempty"` // amounts that had more than six decimals
	RunID        string       `json:"run_id"`            // of the last proven read
	// Refused is how many rows of the replies could not be stored; the others are. Such
	// a day is partial until the replies can be taken in whole.
	Refused int64 `json:"refused_rows,omitempty"`
	// Unread is how many rows are stored without their conversions, which were a fraction.
	Unread int64 `json:"unread_conversions,omitempty"`
}

// The kinds of File.
const (
	KindParquet = "parquet"
	KindRaw     = "raw"
	KindReplies = "settings" // of the settings: lines of JSON, compressed
)

// File is one published file.
type File struct {
	Kind  string `json:"kind"`
	Table string `json:"table,omitempty"`
	// of spend_daily and raw: the report day; of spend_change and settings: the day of seeing
	Day    schema.Date `json:"day,omitempty"`
	Rows   int64       `json:"rows"`
	Bytes  int64       `json:"bytes"`
	SHA256 string      `json:"sha256"`
	RunID  string      `json:"run_id"`
	// Fingerprint identifies the reply as it was received; empty: not known.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// isMart says whether the file is the answer of a view: its rows are in no table of the
// DuckDB file.
func (f *File) IsMart() bool {
	t := schema.Named(f.Table)
	return t != nil && t.View != ""
}

// Repair is what makes a damaged file whole again: the replies hold the report, and
// nothing but the report.
func (f *File) Repair() string {
	if f.Kind == KindReplies {
		return RepairLost
	}
	if t := schema.Named(f.Table); t != nil && t.MadeFrom == schema.Replies {
		return durable.RepairReplay
	} else if t != nil && t.MadeFrom == schema.OtherTables {
		return durable.RepairRebuild
	}
	return durable.RepairBackup
}

// Read reads the published generation of a data directory. It takes no
// lock: the manifest is replaced whole, by a rename. [durable.ErrEmpty] says that nothing has
// been published, [durable.ErrDamaged] also that a store lies there without its manifest.
func Read(dir string) (*Manifest, error) { return ReadFrom(durable.OS, dir) }

func ReadFrom(d durable.Disk, dir string) (*Manifest, error) {
	return ReadAfter(d, dir, nil)
}

// ReadAfter reads the manifest when one is known that may still be the published
// one. Then that is given: its checksum covers every byte, and what the bytes say takes
// far longer to decode than they to hash.
func ReadAfter(d durable.Disk, dir string, known *Manifest) (*Manifest, error) {
	b, err := d.ReadFile(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		b, err = readLateManifest(d, dir)
	}
	if err != nil {
		return nil, durable.Storage(err)
	}
	if known != nil && known.Checksum != "" && string(durable.FindSeal(b)) == known.Checksum {
		if sealed, err := durable.CheckSeal(b); sealed && err == nil {
			return known, nil
		}
	}
	return Decode(b)
}

// readLateManifest reads the manifest of a folder in which there was none at the first
// look. Without its manifest a store cannot say what is proven, and publishing would
// forget it: that is damage, not a folder in which nothing is stored yet.
func readLateManifest(d durable.Disk, dir string) ([]byte, error) {
	left, err := leftOfStore(d, dir)
	if err != nil {
		return nil, err
	}
	committing, err := d.Exists(filepath.Join(dir, CommitName))
	if err != nil {
		return nil, err
	}
	// In this order a first commit that goes on meanwhile is never taken for damage.
	b, err := d.ReadFile(filepath.Join(dir, FileName))
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return b, err
	case left == "" || committing:
		return nil, fmt.Errorf("%s: %w", dir, durable.ErrEmpty)
	}
	return nil, durable.Damaged(FileName, "restore the whole data directory from a backup, or choose another "+
		"SPENDSYNC_DATA_DIR", "it is missing from %s, and a store lies there: %s", dir, left)
}

// leftOfStore is a part of a store that only a published generation brings; empty: there
// is none. The ledger also has the lines of runs that published nothing, and a folder may be
// a volume that was mounted there for the first run.
func leftOfStore(d durable.Disk, dir string) (string, error) {
	if there, err := d.Exists(filepath.Join(dir, duck.FileName)); there || err != nil {
		return duck.FileName, err
	}
	for _, name := range []string{"parquet", "raw"} {
		entries, err := d.ReadDir(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != "lost+found" }) {
			return name, nil
		}
	}
	files, err := FilesIn(d, dir)
	if err != nil {
		return "", err
	}
	newest, err := newestInLedgers(d, dir, files, nil)
	return newest.Path, err
}

func Decode(b []byte) (*Manifest, error) {
	sealed, err := durable.CheckSeal(b)
	if err != nil {
		return nil, durable.Damaged(FileName, durable.RepairBackup, "%v", err)
	}
	return decode(b, sealed)
}

// decode decodes a manifest whose checksum was looked at.
func decode(b []byte, sealed bool) (*Manifest, error) {
	m := New()
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(m)
	if _, end := d.Token(); err == nil && !errors.Is(end, io.EOF) {
		err = errors.New("something follows it")
	}
	if err != nil || m.isNewer() {
		return nil, refused(b, err)
	}
	m.MartsOf = ""
	if m.Format > 1 && !sealed {
		return nil, durable.Damaged(FileName, durable.RepairBackup, "it lacks its checksum")
	}
	if m.Format < 1 || m.SchemaVersion < 1 || m.Generation < 1 {
		return nil, durable.Damaged(FileName, durable.RepairBackup, "it lacks its format, schema or generation")
	}
	for name, a := range m.Accounts {
		if a == nil {
			return nil, durable.Damaged(FileName, durable.RepairBackup, "account %q is null", name)
		}
		if err := a.check(name); err != nil {
			return nil, err
		}
		a.fill()
	}
	return m, nil
}

// isNewer says that the manifest is of a version that this binary does not know.
func (m *Manifest) isNewer() bool {
	return m.Format > Format || m.SchemaVersion > schema.Version
}

// refused says why a manifest is refused, given what decoding it said. Its versions
// come first: a newer manifest may differ in everything else.
func refused(b []byte, cause error) error {
	var head struct {
		Format        int    `json:"format"`
		SchemaVersion int    `json:"schema_version"`
		Version       string `json:"version"`
	}
	err := json.Unmarshal(b, &head)
	if m := (&Manifest{Format: head.Format, SchemaVersion: head.SchemaVersion}); err == nil && m.isNewer() {
		return fmt.Errorf("%s: format %d and schema %d of version %s; this binary knows format %d and schema %d: %w",
			FileName, head.Format, head.SchemaVersion, head.Version, Format, schema.Version, ErrNewer)
	}
	return durable.Damaged(FileName, durable.RepairBackup, "it is not readable: %v", cmp.Or(err, cause))
}

// check refuses an account's part that names what cannot be in a store: the rest of
// the package goes by it without a doubt.
func (a *Account) check(name string) error {
	if !AccountName.MatchString(name) {
		return durable.Damaged(FileName, durable.RepairBackup, "account %q is not a valid name", name)
	}
	for d, day := range a.Days {
		if day == nil {
			return durable.Damaged(FileName, durable.RepairBackup, "day %s of account %s is null", d, name)
		}
	}
	for path, f := range a.Files {
		if f == nil {
			return durable.Damaged(FileName, durable.RepairBackup, "file %q of account %s is null", path, name)
		}
	}
	for _, path := range slices.Concat(slices.Collect(maps.Keys(a.Files)), slices.Collect(maps.Keys(a.Ledger))) {
		if LeadsOut(path) || filepath.Clean(path) != path {
			return durable.Damaged(FileName, durable.RepairBackup, "%q of account %s leads out of the store",
				path, name)
		}
	}
	return nil
}

func New() *Manifest {
	return &Manifest{Format: Format, SchemaVersion: schema.Version, Accounts: map[string]*Account{}}
}

func (a *Account) fill() {
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
}

// account is the account's part, made if it is new.
func (m *Manifest) Of(name string) *Account {
	a := m.Accounts[name]
	if a == nil {
		a = &Account{}
		m.Accounts[name] = a
	}
	a.fill()
	return a
}

// encode gives the manifest its checksum. What is written is always of the
// newest format.
func (m *Manifest) Encode() ([]byte, error) {
	m.Format, m.Checksum = Format, durable.Unsealed
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, err
	}
	if len(b) > indexed {
		b = withIndex(b)
	}
	m.Checksum = durable.Seal(b)
	return b, nil
}

// clone is a copy to build the next generation on: what is changed in it leaves
// the original as it is. Files and memories are never changed, only replaced.
func (m *Manifest) Clone() *Manifest {
	next := *m
	next.Accounts = map[string]*Account{}
	for name, a := range m.Accounts {
		c := *a
		c.Days = map[schema.Date]*Day{}
		for d, day := range a.Days {
			copied := *day
			c.Days[d] = &copied
		}
		c.Files, c.Ledger, c.LedgerSHA256, c.Memory = maps.Clone(a.Files), maps.Clone(a.Ledger),
			maps.Clone(a.LedgerSHA256), maps.Clone(a.Memory)
		c.SettledUnclear, c.Beyond = maps.Clone(a.SettledUnclear), maps.Clone(a.Beyond)
		c.Unknown, c.Settled, c.ReportedLost = slices.Clone(a.Unknown), slices.Clone(a.Settled),
			slices.Clone(a.ReportedLost)
		next.Accounts[name] = &c
	}
	return &next
}

// AccountNames are the accounts in the store, sorted.
func (m *Manifest) AccountNames() []string {
	return slices.Sorted(maps.Keys(m.Accounts))
}

// rows is how many rows the DuckDB file of the generation holds.
func (m *Manifest) Rows() (n int64) {
	for _, a := range m.Accounts {
		for _, f := range a.Files {
			if f.Kind == KindParquet {
				n += f.Rows
			}
		}
	}
	return n
}

// RawPages are the stored replies behind a day, in their order: paths below the
// data directory.
func (a *Account) RawPages(day schema.Date) []string {
	var pages []string
	for path, f := range a.Files {
		if f.Kind == KindRaw && f.Day == day {
			pages = append(pages, path)
		}
	}
	slices.Sort(pages)
	return pages
}

// NewAccount is an account of which nothing is known, and which could have been
// asked for since a day.
func NewAccount(since schema.Date) *Account {
	a := &Account{Since: since}
	a.fill()
	return a
}
