package manifest

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"spendsync/load/durable"
)

// Encoded is the content of a manifest's files.
type Encoded struct {
	Root         []byte            // content of manifest.json
	AccountFiles map[string][]byte // contents of the new account files, by path
}

// encoding are the options with which equal values are encoded as equal bytes.
var encoding = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true))

// Encode encodes the root and the loaded accounts in the newest format, and updates m.AccountFiles and the checksum. An
// account whose content is unchanged keeps its file.
func (m *Manifest) Encode() (*Encoded, error) {
	e := &Encoded{AccountFiles: map[string][]byte{}}
	for name, a := range m.Accounts {
		b, err := json.Marshal(a, encoding)
		if err != nil {
			return nil, err
		}
		sha := durable.HashBytes(b)
		if old := m.AccountFiles[name]; old != nil && old.SHA256 == sha {
			continue
		}
		p := &AccountFile{Path: accountPath(name, sha), Bytes: int64(len(b)), SHA256: sha, Generation: m.Generation,
			Days: int64(len(a.Days)), Rows: a.rows(), Ledger: map[string]int64{}}
		if ledgers := slices.Sorted(maps.Keys(a.Ledger)); len(ledgers) > 0 {
			newest := ledgers[len(ledgers)-1]
			p.Ledger[newest] = a.Ledger[newest]
		}
		m.AccountFiles[name], e.AccountFiles[p.Path] = p, b
	}
	m.Format, m.Checksum = Format, durable.Unsealed
	var err error
	if e.Root, err = json.Marshal(m, encoding, jsontext.WithIndent(" ")); err == nil {
		m.Checksum = durable.Seal(e.Root)
	}
	return e, err
}

// Replaced returns the account files that the new account files replace: all others in the same folders.
func (e *Encoded) Replaced(d durable.Disk, dir string) (paths []string, err error) {
	for path := range e.AccountFiles {
		folder := filepath.Dir(path)
		entries, err := d.ReadDir(filepath.Join(dir, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, durable.Storage(err)
		}
		for _, entry := range entries {
			if old := folder + "/" + entry.Name(); old != path && !strings.HasPrefix(entry.Name(), OwnPrefix) {
				paths = append(paths, old)
			}
		}
	}
	slices.Sort(paths)
	return paths, nil
}
