package manifest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"spendsync/load/durable"
	"spendsync/schema"
)

// Listing is a manifest whose text was looked through once and stays where it lies: it knows which groups of
// files and days each account has, and decodes those that are asked for.
type Listing struct {
	Manifest *Manifest // without its accounts
	Accounts []*Listed // sorted by name
	from, to int64     // of the accounts, in the text
	text     io.ReaderAt
	size     int64
	file     io.Closer
	gaps     uint64 // hash of what is in no group of a month, where the index says it
}

// Listed is an account of a listing.
type Listed struct {
	Name              string
	Groups            []*Group // in the order of the text
	Ledger, LedgerSHA Span
}

// Group are the entries of one account, folder and month, which stand in the text one after the other.
type Group struct {
	Folder string // of the files, such as parquet/spend_daily; [DaysFolder]: days; empty: not as spendsync names files
	Month  int    // months since January 1970; [NoMonth]: the folder is not divided by days
	Days   uint32 // of a group of days: a bit for each, the lowest for the first of the month
	Hash   uint64 // of the text
	Span
}

// DaysFolder is what a group of days has for a folder.
const DaysFolder = "days"

// NoMonth is the month of what is of no day.
const NoMonth = -1 << 31

// Span is a part of the text.
type Span struct{ At, Size int64 }

// OpenListing opens the published manifest of a data directory and proves its checksum. What it
// reads stays one generation, whatever is published meanwhile.
func OpenListing(dir string) (*Listing, error) { return open(dir, NewListing) }

func open(dir string, read func(io.ReaderAt, int64) (*Listing, error)) (*Listing, error) {
	f, err := durable.OS.Open(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		m, err := Read(dir)
		if err != nil {
			return nil, err
		}
		return ListingOf(m)
	} else if err != nil {
		return nil, durable.Storage(err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, durable.Storage(err)
	}
	l, err := read(f, info.Size())
	if err != nil {
		f.Close()
	}
	return l, err
}

// NewListing is the listing of a manifest's text. Closing it closes the text, where that can be closed.
func NewListing(text io.ReaderAt, size int64) (*Listing, error) {
	l := &Listing{text: text, size: size}
	l.file, _ = text.(io.Closer)
	if err := l.scan(true); err == nil {
		return l, nil
	}
	// Of an older format, of a newer, or damaged.
	b, err := io.ReadAll(l.Text())
	if err != nil {
		return nil, durable.Storage(err)
	}
	m, err := Decode(b)
	if err != nil {
		return nil, err
	}
	encoded, err := ListingOf(m)
	if err == nil {
		encoded.file = l.file
	}
	return encoded, err
}

// ListingOf is the listing of a manifest.
func ListingOf(m *Manifest) (*Listing, error) {
	b, err := m.Encode()
	if err != nil {
		return nil, err
	}
	l := &Listing{text: bytes.NewReader(b), size: int64(len(b))}
	return l, l.scan(true)
}

// Close closes what the manifest is read from.
func (l *Listing) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// Text is the manifest's text.
func (l *Listing) Text() io.Reader { return io.NewSectionReader(l.text, 0, l.size) }

// DayCount is of how many days something is proven.
func (a *Listed) DayCount() (n int64) {
	for _, g := range a.Groups {
		n += int64(bits.OnesCount32(g.Days))
	}
	return n
}

// HasDay says whether something is proven of a day.
func (a *Listed) HasDay(day schema.Date) bool {
	month, _ := monthOf([]byte(day.String()))
	of := day - day.Month() // from the first of the month
	return slices.ContainsFunc(a.Groups, func(g *Group) bool { return g.Month == month && g.Days>>of&1 == 1 })
}

// Names are those of the accounts, sorted.
func (l *Listing) Names() []string {
	names := make([]string, len(l.Accounts))
	for i, a := range l.Accounts {
		names[i] = a.Name
	}
	return names
}

// Files decodes groups of files of an account.
func (l *Listing) Files(account string, groups ...*Group) (map[string]*File, error) {
	a := &Account{}
	for _, g := range groups {
		text, err := l.read(g.Span)
		if err == nil && xxhash.Sum64(text) != g.Hash {
			err = errors.New("it is not what was hashed")
		}
		if err == nil {
			err = unmarshal(append(append([]byte{'{'}, text...), '}'), &a.Files)
		}
		if err != nil {
			return nil, unreadable(account, err)
		}
	}
	return a.Files, a.check(account)
}

// Ledgers decodes how far an account's ledgers are published, and the hashes of that.
func (l *Listing) Ledgers(a *Listed) (map[string]int64, map[string]string, error) {
	is := &Account{}
	for at, to := range map[Span]any{a.Ledger: &is.Ledger, a.LedgerSHA: &is.LedgerSHA256} {
		if at.Size == 0 {
			continue
		}
		text, err := l.read(at)
		if err == nil {
			err = unmarshal(text, to)
		}
		if err != nil {
			return nil, nil, unreadable(a.Name, err)
		}
	}
	return is.Ledger, is.LedgerSHA256, is.check(a.Name)
}

func unreadable(account string, err error) error {
	if errors.Is(err, durable.ErrStorage) {
		return err
	}
	return durable.Damaged(FileName, durable.RepairBackup, "account %q is not readable: %v", account, err)
}

// unmarshal decodes a part of a text whose checksum was proven: that no name comes twice need not be.
func unmarshal(text []byte, to any) error {
	return json.Unmarshal(text, to, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func (l *Listing) read(s Span) ([]byte, error) {
	text := make([]byte, s.Size)
	_, err := io.ReadFull(io.NewSectionReader(l.text, s.At, s.Size), text)
	return text, durable.Storage(err)
}

// groupOf is the folder of a file and the month of its day, by its path.
func groupOf(path []byte) (folder string, month int) {
	before, after, ok := bytes.Cut(path, []byte("/account="))
	if !ok || bytes.IndexByte(before, '\\') >= 0 {
		return "", NoMonth
	}
	parts := strings.Split(string(after), "/")
	if len(parts) < 2 {
		return "", NoMonth
	}
	if _, day, ok := strings.Cut(parts[1], "="); ok && len(parts) == 3 {
		if month, ok = monthOf([]byte(day)); !ok {
			return "", NoMonth
		}
		return string(before), month
	}
	return string(before), NoMonth
}

// monthOf is the month of a day as text.
func monthOf(day []byte) (month int, ok bool) {
	if len(day) != len("2026-11-01") || day[4] != '-' || day[7] != '-' {
		return NoMonth, false
	}
	for i, c := range day {
		if i != 4 && i != 7 && (c < '0' || c > '9') {
			return NoMonth, false
		}
	}
	n := func(i int) int { return int(day[i]-'0')*10 + int(day[i+1]-'0') }
	return (n(0)*100+n(2)-1970)*12 + n(5) - 1, true
}
