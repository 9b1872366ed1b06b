package manifest

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"spendsync/load/durable"
)

// Folders are the folders below the data directory that hold published files.
var Folders = []string{"parquet", "raw", "ledger", "manifest", "warehouse"}

// OwnPrefix begins the names of the empty files with which a rename is tested. Readers ignore these files, so a file
// that a killed process has left is harmless.
const OwnPrefix = ".spendsync-"

// ledgerFile matches the paths of ledger files. A ledger need not be in the manifest, because runs that publish nothing
// write ledgers too.
var ledgerFile = regexp.MustCompile(`^ledger/account=[a-z0-9][a-z0-9_-]{0,39}/[0-9]{4}-[0-9]{2}\.jsonl$`)

// MoveOut is the repair of a stray file.
const MoveOut = "move it out of the data directory"

// Strays returns the sorted paths of files that are in the published folders although the manifest does not name them.
// Readers that glob for Parquet files would count their rows.
func (m *Manifest) Strays(files map[string]int64) (strays []string) {
	named := map[string]bool{}
	for _, p := range m.AccountFiles {
		named[p.Path] = true
	}
	for _, a := range m.Accounts {
		for path := range a.Files {
			named[path] = true
		}
	}
	for path := range files {
		if !named[path] && !ledgerFile.MatchString(path) {
			strays = append(strays, path)
		}
	}
	slices.Sort(strays)
	return strays
}

// FilesIn returns the sizes of the files in the published folders, by path. It returns the files of the given accounts,
// or of all accounts if none is given. A link counts as a file. Published files are not links, so the link is a stray.
func FilesIn(d durable.Disk, dir string, accounts ...string) (map[string]int64, error) {
	files := map[string]int64{}
	for _, folder := range Folders {
		if err := AddFiles(d, dir, folder, accounts, files); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// AddFiles adds the sizes of the files below a folder to a map, by path. It adds only files of the given accounts, or
// of all accounts if accounts is nil.
func AddFiles(d durable.Disk, dir, folder string, accounts []string, files map[string]int64) error {
	entries, err := d.ReadDir(filepath.Join(dir, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Storage(err)
	}
	for _, e := range entries {
		path := folder + "/" + e.Name()
		account, isAccount := strings.CutPrefix(e.Name(), "account=")
		switch {
		case isAccount && accounts != nil && !slices.Contains(accounts, account):
		case e.IsDir():
			if err := AddFiles(d, dir, path, accounts, files); err != nil {
				return err
			}
		case strings.HasPrefix(e.Name(), OwnPrefix):
		default:
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed meanwhile
			}
			if err != nil {
				return durable.Storage(err)
			}
			files[path] = info.Size()
		}
	}
	return nil
}
