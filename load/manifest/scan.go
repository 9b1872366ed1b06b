package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/cespare/xxhash/v2"

	"spendsync/load/durable"
)

// What stands here looks through a manifest as [Manifest.Encode] lays it out: a line for each value, indented by
// a space for each level. A text of hundreds of megabytes is so read in a few tenths of a second; decoding it takes
// ten times as long.

// scanner looks through a manifest.
type scanner struct {
	*Listing
	seal     hash.Hash
	said     string // the checksum in the text
	head     []byte // the text without its accounts
	accounts bool   // within them
	account  *Listed
	section  string // of the account: the name of its member
	group    *Group
	prefix   []byte // how the lines of the group's entries begin; empty: not known
	text     *xxhash.Digest
	hashed   int64 // the group's text up to here
	end      int64 // of the group's last entry
	block    []byte
	base     int64 // where the block begins
}

var errLayout = errors.New("it is not laid out as spendsync writes it")

// scan reads the text once. sealed says that its checksum is proven.
func (l *Listing) scan(sealed bool) error {
	s := &scanner{Listing: l, seal: sha256.New(), text: xxhash.New()}
	l.Accounts = nil
	if err := s.blocks(l.Text(), sealed); err != nil {
		return err
	}
	if sealed && hex.EncodeToString(s.seal.Sum(nil)) != s.said {
		return errors.New("its checksum differs")
	}
	if s.accounts {
		return errLayout
	}
	var err error
	l.Manifest, err = decode(s.head, true)
	return err
}

// blocks reads the text in blocks of whole lines.
func (s *scanner) blocks(text io.Reader, sealed bool) error {
	buf, have := make([]byte, max(min(s.size, 1<<20), 128)), 0
	for first := true; ; first = false {
		n, err := io.ReadFull(text, buf[have:])
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return err
		}
		if first && sealed {
			if s.said, err = unseal(buf[:n]); err != nil {
				return err
			}
		}
		if sealed {
			s.seal.Write(buf[have : have+n])
		}
		have += n
		s.block = buf[:bytes.LastIndexByte(buf[:have], '\n')+1]
		if end {
			s.block = buf[:have]
		}
		if err := s.lines(); err != nil || end {
			return err
		}
		if next := s.base + int64(len(s.block)); s.group != nil && next-s.end > int64(len(",\n")) {
			s.hashTo(next)
		}
		s.base += int64(len(s.block))
		if have = copy(buf, buf[len(s.block):have]); have == len(buf) {
			buf = append(buf, make([]byte, len(buf))...) // a longer line
		}
	}
}

// unseal takes the checksum out of the beginning of a text.
func unseal(start []byte) (string, error) {
	seal := durable.FindSeal(start)
	if seal == nil {
		return "", errors.New("it has no checksum")
	}
	said := string(seal)
	copy(seal, durable.Unsealed)
	return said, nil
}

// lines takes the lines of a block. What stands deeper than the names of days and files is part of these.
func (s *scanner) lines() error {
	for at := 0; at < len(s.block); {
		n := bytes.IndexByte(s.block[at:], '\n') + 1
		if n == 0 {
			n = len(s.block) - at
		}
		line := s.block[at : at+n]
		if !s.accounts {
			s.accounts = string(line) == " \"accounts\": {\n"
			if s.accounts {
				s.from = s.base + int64(at+n)
				line = line[:len(line)-1]
			}
			s.head = append(s.head, line...)
		} else if n < 6 || string(line[:5]) != "     " {
			if err := s.line(line, s.base+int64(at)); err != nil {
				return err
			}
		}
		at += n
	}
	return nil
}

// line takes a line within the accounts.
func (s *scanner) line(line []byte, at int64) error {
	depth := 0
	for depth < len(line) && line[depth] == ' ' {
		depth++
	}
	name, begins := nameOf(line[depth:])
	if depth <= 3 && s.group != nil {
		s.close()
	}
	switch {
	case depth > 2 && s.account == nil:
		return errLayout
	case depth == 1:
		s.accounts, s.to = false, at
		s.head = append(s.head, line[1:]...)
	case depth == 2 && begins:
		if !AccountName.Match(name) || !bytes.HasSuffix(line, []byte("{\n")) {
			return errLayout
		}
		s.account = &Listed{Name: string(name)}
		s.Accounts = append(s.Accounts, s.account)
	case depth == 3 && begins:
		s.section = string(name)
		s.ledger(at+int64(bytes.IndexByte(line, '{')), 0)
	case depth == 3:
		s.ledger(0, at+4)
	case depth == 4 && (s.section == DaysFolder || s.section == "files"):
		return s.entry(name, begins, line, at)
	}
	return nil
}

// ledger notes where the text of a ledger's member begins or ends.
func (s *scanner) ledger(from, to int64) {
	at := map[string]*Span{"ledger": &s.account.Ledger, "ledger_sha256": &s.account.LedgerSHA}[s.section]
	switch {
	case at == nil:
	case from > 0:
		at.At = from
	default:
		at.Size = to - at.At
	}
}

// nameOf is the name that a line gives to what follows.
func nameOf(line []byte) (name []byte, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		return nil, false
	}
	end := bytes.Index(line, []byte(`": `))
	if end < 0 {
		return nil, false
	}
	return line[1:end], true
}

// entry takes the first or the last line of a day or file.
func (s *scanner) entry(name []byte, begins bool, line []byte, at int64) error {
	if !begins { // its end: the comma behind it is not part of it
		if s.group == nil {
			return errLayout
		}
		s.end = at + 5
		s.hashTo(s.end)
		return nil
	}
	if len(name) > 0 && name[0] == '#' { // stands for a month that is kept elsewhere
		s.close()
		return nil
	}
	if len(s.prefix) > 0 && bytes.HasPrefix(line, s.prefix) && s.section == "files" {
		return nil
	}
	g := &Group{Folder: DaysFolder, Span: Span{At: at}}
	if s.section == "files" {
		g.Folder, g.Month = groupOf(name)
	} else if month, ok := monthOf(name); ok {
		g.Month = month
	} else {
		return errLayout
	}
	if s.group == nil || s.group.Folder != g.Folder || s.group.Month != g.Month {
		s.close()
		s.group, s.hashed = g, at
		if g.Month != NoMonth && s.section == "files" {
			s.prefix = append(s.prefix, line[:bytes.LastIndexByte(line[:bytes.LastIndexByte(line, '/')], '=')+
				len("=2026-11-")]...)
		}
	}
	if s.section == DaysFolder {
		s.group.Days |= 1 << ((name[8]-'0')*10 + name[9] - '1')
	}
	return nil
}

// hashTo hashes the group's text up to a place in the block.
func (s *scanner) hashTo(at int64) {
	if s.hashed < s.base { // it is between two entries
		s.text.WriteString(",\n")
		s.hashed = s.base
	}
	s.text.Write(s.block[s.hashed-s.base : at-s.base])
	s.hashed = at
}

// close ends the group.
func (s *scanner) close() {
	if g := s.group; g != nil {
		g.Size, g.Hash = s.end-g.At, s.text.Sum64()
		s.account.Groups = append(s.account.Groups, g)
	}
	s.group, s.prefix = nil, s.prefix[:0]
	s.text.Reset()
}
