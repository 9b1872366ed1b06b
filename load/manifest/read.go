package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"spendsync/load/durable"
	"spendsync/schema"
)

// Read reads the published manifest of a data directory with all accounts. It takes no lock, because manifest.json is
// replaced by a rename. If a commit removes an account file meanwhile, Read reads the new generation.
// [durable.ErrEmpty] means that nothing was ever published there. [durable.ErrDamaged] can also mean that a store has
// lost its manifest.
func Read(dir string) (*Manifest, error) { return ReadFrom(durable.OS, dir) }

// ReadFrom is [Read] on a given disk.
func ReadFrom(d durable.Disk, dir string) (*Manifest, error) { return ReadAccounts(d, dir, nil) }

// ReadAccounts is [ReadFrom], but loads only the named accounts that the manifest has; all accounts if none is named.
// If a manifest of an earlier call is passed and is still the published one, it is returned, see [ReadRoot].
func ReadAccounts(d durable.Disk, dir string, cached *Manifest, accounts ...string) (*Manifest, error) {
	for {
		m, err := ReadRoot(d, dir, cached)
		if err != nil {
			return nil, err
		}
		names := accounts
		if len(names) == 0 {
			names = m.AccountNames()
		}
		loadErr := m.Load(d, dir, names...)
		if loadErr == nil {
			return m, nil
		}
		// Give up only if manifest.json is unchanged. Otherwise a commit may have removed the account file meanwhile.
		if cached, err = ReadRoot(d, dir, m); err != nil || cached == m {
			return nil, cmp.Or(err, loadErr)
		}
	}
}

// ReadRoot reads manifest.json and no account file. The caller passes the result of an earlier call, or nil. If the
// checksum is unchanged since then, ReadRoot returns the earlier result, because decoding is far more expensive than
// hashing.
func ReadRoot(d durable.Disk, dir string, cached *Manifest) (*Manifest, error) {
	b, err := readRoot(d, dir)
	if err != nil {
		return nil, err
	}
	if cached != nil && cached.Checksum != "" && string(durable.FindSeal(b)) == cached.Checksum {
		if sealed, err := durable.CheckSeal(b); sealed && err == nil {
			return cached, nil
		}
	}
	return Decode(b)
}

func readRoot(d durable.Disk, dir string) ([]byte, error) {
	b, err := d.ReadFile(filepath.Join(dir, FileName), durable.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		b, err = readLateManifest(d, dir)
	}
	return b, durable.Storage(err)
}

// Load loads accounts that are not loaded yet. It ignores names that the manifest does not have.
func (m *Manifest) Load(d durable.Disk, dir string, accounts ...string) error {
	for _, name := range accounts {
		part := m.AccountFiles[name]
		if part == nil || m.Accounts[name] != nil {
			continue
		}
		b, err := d.ReadFile(filepath.Join(dir, part.Path), part.Bytes)
		if errors.Is(err, fs.ErrNotExist) {
			return durable.Damaged(part.Path, durable.RepairBackup, "manifest.json names it, and it is missing: the "+
				"two are of different times, as after a backup that was restored in part")
		} else if err != nil {
			return durable.Storage(err)
		}
		if m.Accounts[name], err = part.decode(name, b); err != nil {
			delete(m.Accounts, name)
			return err
		}
	}
	return nil
}

// readLateManifest is called after manifest.json was not found. It distinguishes an empty folder from a store that has
// lost its manifest. A lost manifest is damage, because publishing there would forget which days are proven.
func readLateManifest(d durable.Disk, dir string) ([]byte, error) {
	left, err := leftOfStore(d, dir)
	if err != nil {
		return nil, err
	}
	committing, err := d.Exists(filepath.Join(dir, CommitName))
	if err != nil {
		return nil, err
	}
	// Read manifest.json only after the two checks above. In another order a first commit in progress could be mistaken
	// for damage.
	b, err := d.ReadFile(filepath.Join(dir, FileName), durable.MaxText)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return b, err
	case left == "" || committing:
		return nil, fmt.Errorf("%s: %w", dir, durable.ErrEmpty)
	}
	return nil, durable.Damaged(FileName, "restore the whole data directory from a backup, or choose another "+
		"SPENDSYNC_DATA_DIR", "it is missing from %s, and a store lies there: %s", dir, left)
}

// leftOfStore returns the name of something in the folder that only a published generation can have created, or an
// empty text. A ledger alone does not count, because runs that publish nothing also write ledgers. An empty folder does
// not count, because it may be a new volume.
func leftOfStore(d durable.Disk, dir string) (string, error) {
	if there, err := d.Exists(filepath.Join(dir, WarehouseName)); there || err != nil {
		return WarehouseName, err
	}
	for _, name := range []string{"parquet", "raw", "manifest", "warehouse"} {
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
	newest, err := New().newestInLedgers(d, dir, files)
	return newest.Path, err
}

// strict are the options for decoding JSON that spendsync wrote. An unknown member is an error: a newer version or
// another program wrote it.
var strict = json.JoinOptions(json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true))

// decode decodes an account file after checking its bytes.
func (p *AccountFile) decode(account string, b []byte) (*Account, error) {
	if sha := durable.HashBytes(b); int64(len(b)) != p.Bytes || sha != p.SHA256 {
		return nil, durable.Damaged(p.Path, durable.RepairBackup, "its bytes are not those that were published")
	}
	a := NewAccount(0)
	if err := json.Unmarshal(b, a, strict); err != nil {
		return nil, durable.Damaged(p.Path, durable.RepairBackup, "it is not readable: %v", err)
	}
	a.upgrade()
	return a, a.check(account)
}

// Decode decodes manifest.json.
func Decode(b []byte) (*Manifest, error) {
	sealed, err := durable.CheckSeal(b)
	if err != nil {
		return nil, damaged("%v", err)
	}
	var head struct {
		Format        int    `json:"format"`
		SchemaVersion int    `json:"schema_version"`
		Version       string `json:"version"`
	}
	// Check the versions first: a newer manifest may differ in everything else.
	if err := json.Unmarshal(b, &head, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, damaged("it is not readable: %v", err)
	}
	switch {
	case head.Format > Format || head.SchemaVersion > schema.Version:
		return nil, fmt.Errorf("%s: format %d and schema %d of version %s; this binary knows format %d and schema "+
			"%d: %w", FileName, head.Format, head.SchemaVersion, head.Version, Format, schema.Version, durable.ErrNewer)
	case head.Format < 1 || head.SchemaVersion < 1:
		return nil, damaged("it lacks its format or schema")
	case head.Format < Format || head.SchemaVersion < schema.Oldest:
		return nil, fmt.Errorf("%s: schema %d; this binary reads schema %d and later, and a sync of commit %s "+
			"upgrades the store: %w", FileName, head.SchemaVersion, schema.Oldest, schema.OldestCommit,
			durable.ErrOlder)
	case !sealed:
		return nil, damaged("it lacks its checksum")
	}
	m := New()
	if err := json.Unmarshal(b, m, strict); err != nil {
		return nil, damaged("it is not readable: %v", err)
	}
	if m.Generation < 1 {
		return nil, damaged("it lacks its generation")
	}
	return m, m.check()
}

var isSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// check returns an error if a name or path in manifest.json is not as spendsync writes it. The rest of the package
// relies on this check.
func (m *Manifest) check() error {
	for name, p := range m.AccountFiles {
		switch {
		case !schema.AccountName.MatchString(name):
			return damaged("account %q is not a valid name", name)
		case p == nil || !isSHA256.MatchString(p.SHA256) || p.Path != accountPath(name, p.SHA256):
			return damaged("the file of account %s is not named by its content", name)
		}
	}
	return nil
}

func damaged(format string, args ...any) error {
	return durable.Damaged(FileName, durable.RepairBackup, format, args...)
}
