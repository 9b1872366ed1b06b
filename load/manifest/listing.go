package manifest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"spendsync/load/durable"
	"spendsync/schema"
)

// Listing is a generation whose accounts stay on the disk: it knows which groups of files each
// account has, and decodes those that are asked for.
type Listing struct {
	Manifest *Manifest // without its accounts
	Accounts []*Listed // sorted by name
	close    []io.Closer
}

// Listed is an account of a listing.
type Listed struct {
	Name string
	Part *Part

	text    io.ReaderAt // of the account file
	scanned bool
	groups  []*Group
	days    []schema.Date // sorted
	ledger  Span          // of the member
	hashes  Span          // of the ledgers
}

// Group are the files of one account, folder and month. Their text is consecutive, as a file is
// named by its path.
type Group struct {
	Folder string // for example parquet/spend_daily; empty: not where spendsync puts files
	Month  int    // months since January 1970; [NoMonth]: the folder is not divided by days
	Hash   uint64 // of the text
	at     Span
}

// NoMonth is the month of files without a day.
const NoMonth = -1 << 31

// Span is a part of a text.
type Span struct{ At, Size int64 }

// OpenListing opens the published generation of a data directory. All its account files are open, so
// the listing stays one generation even if another is published meanwhile. Each file is compared
// with its hash when it is first read.
func OpenListing(dir string) (*Listing, error) {
	for {
		root, err := readRoot(durable.OS, dir)
		if err != nil {
			return nil, err
		}
		l, err := openListing(dir, root)
		if !errors.Is(err, fs.ErrNotExist) {
			return l, err
		}
		if now, rootErr := readRoot(durable.OS, dir); rootErr != nil {
			return nil, rootErr
		} else if bytes.Equal(now, root) {
			return nil, damaged("a file that it names is missing: %v", err)
		}
	}
}

func openListing(dir string, root []byte) (*Listing, error) {
	m, err := Decode(root)
	if err != nil {
		return nil, err
	}
	l := &Listing{Manifest: m}
	for _, name := range m.AccountNames() {
		f, err := durable.OS.Open(filepath.Join(dir, m.Parts[name].Path))
		if err != nil {
			return nil, errors.Join(durable.Storage(err), l.Close())
		}
		l.close = append(l.close, f)
		l.Accounts = append(l.Accounts, &Listed{Name: name, Part: m.Parts[name], text: f})
	}
	return l, nil
}

// Close closes the files that the listing reads.
func (l *Listing) Close() (err error) {
	for _, c := range l.close {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Names returns the names of the accounts, sorted.
func (l *Listing) Names() []string {
	names := make([]string, len(l.Accounts))
	for i, a := range l.Accounts {
		names[i] = a.Name
	}
	return names
}

// HasDay reports whether a day of the account is proven.
func (a *Listed) HasDay(day schema.Date) (bool, error) {
	if err := a.scan(); err != nil {
		return false, err
	}
	_, found := slices.BinarySearch(a.days, day)
	return found, nil
}

// Groups returns the groups of files of the account.
func (a *Listed) Groups() ([]*Group, error) {
	err := a.scan()
	return a.groups, err
}

// Files decodes groups of files.
func (a *Listed) Files(groups ...*Group) (map[string]*File, error) {
	is := &Account{}
	for _, g := range groups {
		text, err := a.read(g.at)
		if err != nil {
			return nil, err
		}
		if xxhash.Sum64(text) != g.Hash {
			return nil, a.damaged(errors.New("its bytes changed while it was read"))
		}
		if err := json.Unmarshal(slices.Concat([]byte{'{'}, text, []byte{'}'}), &is.Files, strict); err != nil {
			return nil, a.damaged(err)
		}
	}
	return is.Files, is.check(a.Name)
}

// Ledgers decodes how many bytes of the account's ledgers are published, and their hashes.
func (a *Listed) Ledgers() (lengths map[string]int64, hashes map[string]string, err error) {
	if err := a.scan(); err != nil {
		return nil, nil, err
	}
	for at, to := range map[Span]any{a.ledger: &lengths, a.hashes: &hashes} {
		if at.Size == 0 {
			continue
		}
		text, err := a.read(at)
		if err != nil {
			return nil, nil, err
		}
		if err := json.Unmarshal(text, to, strict); err != nil {
			return nil, nil, a.damaged(err)
		}
	}
	return lengths, hashes, (&Account{Ledger: lengths}).check(a.Name)
}

func (a *Listed) damaged(err error) error {
	return durable.Damaged(a.Part.Path, durable.RepairBackup, "it is not readable: %v", err)
}

func (a *Listed) read(s Span) ([]byte, error) {
	text := make([]byte, s.Size)
	_, err := io.ReadFull(io.NewSectionReader(a.text, s.At, s.Size), text)
	return text, durable.Storage(err)
}

// scan reads the account file once, proves its hash, and notes where each group of files is.
func (a *Listed) scan() error {
	if a.scanned {
		return nil
	}
	text, err := a.read(Span{0, a.Part.Bytes})
	if err != nil {
		return err
	}
	if err := a.Part.check(text); err != nil {
		return err
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))
	if err := a.members(d, text); err != nil {
		return a.damaged(err)
	}
	slices.Sort(a.days)
	a.scanned = true
	return nil
}

// members visits the members of the account.
func (a *Listed) members(d *jsontext.Decoder, text []byte) error {
	return eachMember(d, func(name string, _ int64) error {
		switch name {
		case "days":
			return eachMember(d, func(name string, _ int64) error {
				day, err := schema.ParseDate(name)
				a.days = append(a.days, day)
				return errors.Join(err, d.SkipValue())
			})
		case "files":
			return a.files(d, text)
		case "ledger", "ledger_sha256":
			value, err := d.ReadValue()
			at := Span{d.InputOffset() - int64(len(value)), int64(len(value))}
			if name == "ledger" {
				a.ledger = at
			} else {
				a.hashes = at
			}
			return err
		}
		return d.SkipValue()
	})
}

// files notes the groups of the files, which are sorted by path.
func (a *Listed) files(d *jsontext.Decoder, text []byte) error {
	var last *Group
	err := eachMember(d, func(path string, from int64) error {
		err := d.SkipValue()
		to := d.InputOffset()
		folder, month := groupOf(path)
		if last != nil && last.Folder == folder && last.Month == month {
			last.at.Size = to - last.at.At
			return err
		}
		last = &Group{Folder: folder, Month: month, at: Span{from, to - from}}
		a.groups = append(a.groups, last)
		return err
	})
	for _, g := range a.groups {
		g.Hash = xxhash.Sum64(text[g.at.At : g.at.At+g.at.Size])
	}
	return err
}

// eachMember visits the members of the next value, an object, with their names and their offsets.
func eachMember(d *jsontext.Decoder, visit func(name string, at int64) error) error {
	switch t, err := d.ReadToken(); {
	case err != nil:
		return err
	case t.Kind() == 'n': // null has no members
		return nil
	case t.Kind() != '{':
		return errors.New("an object is missing")
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		text, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return err
		}
		if err := visit(string(text), d.InputOffset()-int64(len(name))); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// groupOf returns the folder of a file and the month of its day, by its path.
func groupOf(path string) (folder string, month int) {
	folder, rest, ok := strings.Cut(path, "/account=")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 2 {
		return "", NoMonth
	}
	if _, text, ok := strings.Cut(parts[1], "="); ok && len(parts) == 3 {
		day, err := schema.ParseDate(text)
		if err != nil {
			return "", NoMonth
		}
		return folder, (day.Year()-1970)*12 + int(day.Start().Month()) - 1
	}
	return folder, NoMonth
}
