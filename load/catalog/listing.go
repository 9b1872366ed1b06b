package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"spendsync/load/durable"
	"spendsync/schema"
)

// Listing is a manifest that is read account by account, and of each account only which days
// and files it has: the memory is that of the largest account, not of all.
type Listing struct {
	Manifest *Manifest // without its accounts
	Names    []string  // of the accounts, sorted
	text     io.ReadSeeker
	file     io.Closer
	whole    *Manifest // of the first format, or one that has come meanwhile
}

// OpenListing opens the published manifest of a data directory and proves its checksum. What it
// reads stays one generation, whatever is published meanwhile.
func OpenListing(dir string) (*Listing, error) {
	f, err := durable.OS.Open(filepath.Join(dir, ManifestName))
	if errors.Is(err, fs.ErrNotExist) {
		m, err := ReadManifest(dir)
		return listingOf(m), err
	} else if err != nil {
		return nil, durable.Storage(err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, durable.Storage(err)
	}
	l, err := NewListing(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		f.Close()
		return nil, err
	}
	l.file = f
	return l, nil
}

// NewListing is the listing of a manifest's text. Closing the listing closes the text, where it can be.
func NewListing(text io.ReadSeeker) (*Listing, error) {
	l := &Listing{text: text}
	l.file, _ = text.(io.Closer)
	if err := l.index(); err == nil {
		return l, nil
	}
	// Of an older format, of a newer, or damaged.
	from, err := l.Text()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(from)
	if err != nil {
		return nil, durable.Storage(err)
	}
	m, err := Decode(b)
	if err != nil {
		return nil, err
	}
	whole := listingOf(m)
	whole.file = l.file
	return whole, nil
}

// index reads the text once: its checksum, what stands beside the accounts, and their names.
func (l *Listing) index() error {
	start := make([]byte, durable.SealWithin)
	n, err := io.ReadFull(l.text, start)
	start = start[:n]
	seal := durable.FindSeal(start)
	if seal == nil {
		return errors.Join(err, errors.New("it has no checksum"))
	}
	said := string(seal)
	copy(seal, durable.Unsealed)
	hash := sha256.New()
	text := io.TeeReader(io.MultiReader(bytes.NewReader(start), l.text), hash)
	head := map[string]jsontext.Value{}
	err = members(text, func(name string, d *jsontext.Decoder) error {
		if name == "accounts" {
			return eachMember(d, func(account string) error {
				l.Names = append(l.Names, account)
				return d.SkipValue()
			})
		}
		v, err := d.ReadValue()
		head[name] = v.Clone()
		return err
	})
	if _, left := io.Copy(io.Discard, text); err == nil {
		err = left
	}
	if err == nil && hex.EncodeToString(hash.Sum(nil)) != said {
		err = errors.New("its checksum differs")
	}
	if err != nil {
		return err
	}
	b, err := json.Marshal(head)
	if err == nil {
		l.Manifest, err = decode(b, true)
	}
	return err
}

func listingOf(m *Manifest) *Listing {
	if m == nil {
		return nil
	}
	head := *m
	head.Accounts = map[string]*Account{}
	return &Listing{Manifest: &head, Names: m.AccountNames(), whole: m}
}

// Close closes what the manifest is read from.
func (l *Listing) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// Text is the manifest's text, from its beginning.
func (l *Listing) Text() (io.Reader, error) {
	if l.whole != nil {
		b, err := l.whole.Encode()
		return bytes.NewReader(b), err
	}
	_, err := l.text.Seek(0, io.SeekStart)
	return l.text, durable.Storage(err)
}

// Accounts gives the accounts by name, with Since, Days, Files and ledgers alone; what is known of a
// day is left out.
func (l *Listing) Accounts() iter.Seq2[Named, error] {
	return func(yield func(Named, error) bool) {
		if l.whole != nil {
			for _, name := range l.Names {
				if !yield(Named{name, l.whole.Accounts[name]}, nil) {
					return
				}
			}
			return
		}
		text, err := l.Text()
		if err == nil {
			err = members(text, func(name string, d *jsontext.Decoder) error {
				if name != "accounts" {
					return d.SkipValue()
				}
				return eachMember(d, func(account string) error {
					a, err := readAccount(account, d)
					if err == nil && !yield(Named{account, a}, nil) {
						return errEnough
					}
					return err
				})
			})
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(Named{}, err)
		}
	}
}

// errEnough ends a reading whose reader has what it wants.
var errEnough = errors.New("enough")

// Named is an account of a manifest.
type Named struct {
	Name string
	*Account
}

// readAccount reads what a listing says of an account.
func readAccount(name string, d *jsontext.Decoder) (*Account, error) {
	a := &Account{}
	a.fill()
	err := eachMember(d, func(key string) error {
		switch key {
		case "since":
			return json.UnmarshalDecode(d, &a.Since)
		case "days":
			return eachMember(d, func(text string) error {
				day, err := schema.ParseDate(text)
				a.Days[day] = aDay
				return errors.Join(err, d.SkipValue())
			})
		case "files":
			return json.UnmarshalDecode(d, &a.Files)
		case "ledger":
			return json.UnmarshalDecode(d, &a.Ledger)
		case "ledger_sha256":
			return json.UnmarshalDecode(d, &a.LedgerSHA256)
		}
		return d.SkipValue()
	})
	if _, disk := errors.AsType[*fs.PathError](err); disk {
		return nil, durable.Storage(err)
	} else if err != nil {
		return nil, durable.Damaged(ManifestName, durable.RepairBackup, "account %q is not readable: %v", name, err)
	}
	return a, a.check(name)
}

// aDay is every day of a listing.
var aDay = &Day{}

// members reads the members of the object that a text is, one after the other.
func members(text io.Reader, each func(name string, d *jsontext.Decoder) error) error {
	// Encode has written it, or its checksum differs: that no name comes twice need not be proven.
	d := jsontext.NewDecoder(text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	err := eachMember(d, func(name string) error { return each(name, d) })
	if err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

// eachMember reads the next object: each must read the value of the member that it is given.
func eachMember(d *jsontext.Decoder, each func(name string) error) error {
	if begin, err := d.ReadToken(); err != nil || begin.Kind() != '{' {
		return cmp.Or(err, errors.New("it is not an object"))
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err == nil {
			err = each(name.String())
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}
