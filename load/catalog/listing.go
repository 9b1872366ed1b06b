package catalog

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"spendsync/load/durable"
	"spendsync/schema"
)

// Listing is a manifest that is read account by account, and of each account only which days
// and files it has: the memory is that of the largest account's text. Of 200 accounts with three years
// of days that takes a tenth of the time to decode it whole, and a hundredth of the memory.
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

// index reads the text once: its checksum, what stands around the accounts, and their names.
func (l *Listing) index() error {
	start := make([]byte, sealWithin)
	n, err := io.ReadFull(l.text, start)
	start = start[:n]
	seal := durable.FindSeal(start)
	if seal == nil {
		return errors.Join(err, errors.New("it has no checksum"))
	}
	said := string(seal)
	copy(seal, durable.Unsealed)
	hash := sha256.New()
	var head []byte
	for part, err := range parts(io.TeeReader(io.MultiReader(bytes.NewReader(start), l.text), hash)) {
		if err != nil {
			return err
		}
		head = append(head, part.before...)
		if part.name != "" {
			l.Names = append(l.Names, part.name)
		}
	}
	if hex.EncodeToString(hash.Sum(nil)) != said {
		return errors.New("its checksum differs")
	}
	l.Manifest, err = decode(head, true)
	return err
}

// sealWithin is where in a manifest its checksum is.
const sealWithin = 128

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
// day is left out. Its texts may share memory: clone what is kept.
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
		from, err := l.Text()
		if err != nil {
			yield(Named{}, err)
			return
		}
		var days, files int
		for part, err := range parts(from) {
			if err == nil && part.name == "" {
				continue
			}
			var a *Account
			if err == nil {
				a = &Account{Days: make(map[schema.Date]*Day, days), Files: make(map[string]*FileInfo, files)}
				a.fill()
				err = a.decode(part.name, string(part.account))
				days, files = len(a.Days), len(a.Files) // the next has about as many
			}
			if !yield(Named{part.name, a}, err) || err != nil {
				return
			}
		}
	}
}

// Named is an account of a manifest.
type Named struct {
	Name string
	*Account
}

// part is a part of a manifest's text: some of what stands around the accounts, and one account.
type part struct {
	before  []byte
	name    string // empty: there is none
	account []byte
}

// accountEnd is where the text of an account ends, from some place in it on; negative: not within
// the text. The manifest is indented by its depth, so a line that begins so ends nothing else.
func accountEnd(text []byte, from int) int {
	for {
		line := bytes.IndexByte(text[from:], '\n')
		if line < 0 || from+line+4 > len(text) {
			return -1
		}
		from += line + 1
		if text[from+2] == '}' && text[from+1] == ' ' && text[from] == ' ' {
			return from + 3
		}
	}
}

// parts cuts the text of a manifest, as Encode writes it, into its accounts. Each is the loop
// body's alone.
func parts(from io.Reader) iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		s := bufio.NewScanner(from)
		s.Buffer(make([]byte, 1<<20), 1<<31-1)
		seen := 0 // of the next account, which is not all there
		s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
			end := accountEnd(data, seen)
			if end < 0 && atEOF {
				end = len(data)
			}
			if end <= 0 {
				seen = max(0, len(data)-4)
				return 0, nil, nil
			}
			seen = 0
			return end, data[:end], nil
		})
		begin := []byte("\"accounts\": {\n")
		for first := true; s.Scan(); first = false {
			p := part{account: s.Bytes()}
			if first {
				head, _, _ := bytes.Cut(p.account, begin)
				at := min(len(head)+len(begin), len(p.account))
				p.before, p.account = p.account[:at], p.account[at:]
			}
			p.account = bytes.TrimLeft(p.account, ",\n ")
			if name, rest, ok := bytes.Cut(p.account, []byte(": ")); ok && p.account[0] == '"' {
				p.name, p.account = string(bytes.Trim(name, "\"")), rest
			} else {
				p.before, p.account = slices.Concat(p.before, s.Bytes()[len(p.before):]), nil
			}
			if !yield(p, nil) {
				return
			}
		}
		if s.Err() != nil {
			yield(part{}, durable.Storage(s.Err()))
		}
	}
}

// aDay is every day of a listing.
var aDay = &Day{}

// decode reads what a listing says of an account.
func (a *Account) decode(name, text string) error {
	t := &scan{s: text}
	t.object(func(key string) {
		switch key {
		case "since":
			a.Since = t.date(t.str())
		case "days":
			t.object(func(day string) {
				a.Days[t.date(day)] = aDay
				t.skip()
			})
		case "files":
			t.object(func(path string) { a.Files[path] = t.file() })
		case "ledger":
			t.object(func(path string) { a.Ledger[path] = t.number() })
		case "ledger_sha256":
			t.object(func(path string) { a.LedgerSHA256[path] = t.str() })
		default:
			t.skip()
		}
	})
	if t.bad {
		return durable.Damaged(ManifestName, durable.RepairBackup, "account %q is not readable", name)
	}
	return a.check(name)
}

func (t *scan) file() *FileInfo {
	f := &FileInfo{}
	t.object(func(key string) {
		switch key {
		case "kind":
			f.Kind = t.str()
		case "table":
			f.Table = t.str()
		case "day":
			f.Day = t.date(t.str())
		case "rows":
			f.Rows = t.number()
		case "bytes":
			f.Bytes = t.number()
		case "sha256":
			f.SHA256 = t.str()
		case "run_id":
			f.RunID = t.str()
		default:
			t.skip()
		}
	})
	return f
}

// scan reads JSON whose checksum is proven. bad says that something was not as expected.
type scan struct {
	s   string
	at  int
	bad bool
}

func (t *scan) peek() byte {
	for t.at < len(t.s) && t.s[t.at] <= ' ' {
		t.at++
	}
	if t.at == len(t.s) {
		t.bad = true
		return 0
	}
	return t.s[t.at]
}

func (t *scan) take(c byte) {
	if t.peek() == c {
		t.at++
	} else {
		t.bad = true
	}
}

// str reads a string; it shares the text's memory.
func (t *scan) str() string {
	t.take('"')
	begin := t.at
	for !t.bad {
		end := strings.IndexByte(t.s[t.at:], '"')
		if end < 0 {
			t.bad = true
			break
		}
		t.at += end + 1
		if value := t.s[begin : t.at-1]; strings.IndexByte(value, '\\') < 0 {
			return value
		} else if value, err := strconv.Unquote(t.s[begin-1 : t.at]); err == nil {
			return value
		}
	}
	return ""
}

func (t *scan) number() int64 {
	t.peek()
	end := t.at
	for end < len(t.s) && (t.s[end] == '-' || '0' <= t.s[end] && t.s[end] <= '9') {
		end++
	}
	n, err := strconv.ParseInt(t.s[t.at:end], 10, 64)
	t.at, t.bad = end, t.bad || err != nil
	return n
}

func (t *scan) date(s string) schema.Date {
	d, err := schema.ParseDate(s)
	t.bad = t.bad || err != nil
	return d
}

// object reads an object: each key, after which value reads what it names.
func (t *scan) object(value func(key string)) {
	t.take('{')
	for !t.bad && t.peek() != '}' {
		key := t.str()
		t.take(':')
		value(key)
		if t.peek() != '}' {
			t.take(',')
		}
	}
	t.take('}')
}

// skip reads past a value.
func (t *scan) skip() {
	t.peek()
	for depth := 0; !t.bad; {
		if t.at == len(t.s) {
			t.bad = true
			return
		}
		switch t.s[t.at] {
		case '"':
			t.str()
		case '{', '[':
			depth++
			t.at++
		case '}', ']':
			if depth == 0 {
				return // of what it stands in, behind a number
			}
			depth--
			t.at++
			if depth == 0 {
				return
			}
		case ',':
			if depth == 0 {
				return
			}
			t.at++
		default:
			t.at++
		}
	}
}
