package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"spendsync/load/durable"
)

// What stands here takes a manifest's text apart by months and puts it together again: of two generations, nearly
// all months are the same, byte by byte.

// Month is the text of a month's groups in all accounts: an object whose names may come twice.
func (l *Listing) Month(month int) ([]byte, error) {
	text := []byte("{\n")
	for _, a := range l.Accounts {
		for _, g := range a.Groups {
			if g.Month != month {
				continue
			}
			if len(text) > len("{\n") {
				text = append(text, ",\n"...)
			}
			more, err := l.read(g.Span)
			if err != nil {
				return nil, err
			}
			text = append(text, more...)
		}
	}
	return append(text, "\n}\n"...), nil
}

// FilesOf are the files of a month's text.
func FilesOf(month []byte) (map[string]*File, error) {
	files := map[string]*File{}
	if err := unmarshal(month, &files); err != nil {
		return nil, durable.Damaged(FileName, "", "a month of it is not readable: %v", err)
	}
	for name := range files {
		if !strings.Contains(name, "/") {
			delete(files, name) // a day
		}
	}
	return files, nil
}

// Rest is the text without the groups of months: in the place of each stands one line, which names the month
// and the bytes.
func (l *Listing) Rest() ([]byte, error) {
	text, sum, err := l.rest()
	if err == nil && l.gaps != 0 && sum != l.gaps {
		err = durable.Damaged(FileName, durable.RepairBackup, "what stands beside the months is not what was "+
			"hashed")
	}
	return text, err
}

// rest gives the hash of what it takes of the accounts, too.
func (l *Listing) rest() ([]byte, uint64, error) {
	var text []byte
	from, sum := int64(0), xxhash.New()
	upTo := func(to int64) error {
		if to-from == 2 {
			text = append(text, ",\n"...) // nothing else is between two groups
			return nil
		}
		more, err := l.read(Span{from, to - from})
		text = append(text, more...)
		if err == nil && from < l.to {
			sum.Write(more[max(0, l.from-from) : min(to, l.to)-from])
		}
		return err
	}
	for _, a := range l.Accounts {
		for _, g := range a.Groups {
			if g.Month == NoMonth {
				continue
			}
			if err := upTo(g.At); err != nil {
				return nil, 0, err
			}
			text = fmt.Appendf(text, "    \"#%d\": %d", g.Month, g.Size)
			from = g.At + g.Size
		}
	}
	err := upTo(l.size)
	return text, sum.Sum64(), err
}

// NewRest is the listing of what [Listing.Rest] gives: the groups of months are not in it.
func NewRest(text []byte) (*Listing, error) {
	l := &Listing{text: bytes.NewReader(text), size: int64(len(text))}
	if err := l.scan(false); err != nil {
		return nil, durable.Damaged(FileName, "", "what is kept of it: %v", err)
	}
	return l, nil
}

// Join writes the text that was taken apart. The months are asked for as they come.
func Join(to io.Writer, rest []byte, month func(int) (io.Reader, error)) error {
	months := map[int]*bufio.Reader{}
	for line := range bytes.Lines(rest) {
		after, ok := bytes.CutPrefix(line, []byte("    \"#"))
		if !ok {
			if _, err := to.Write(line); err != nil {
				return err
			}
			continue
		}
		name, size, _ := strings.Cut(strings.TrimRight(string(after), ",\n"), `": `)
		number, err := strconv.Atoi(name)
		n, sizeErr := strconv.ParseInt(size, 10, 64)
		if err = errors.Join(err, sizeErr); err != nil {
			return err
		}
		r := months[number]
		if r == nil {
			text, err := month(number)
			if err != nil {
				return err
			}
			r = bufio.NewReader(text)
			months[number] = r
		}
		if _, err = r.Discard(len(",\n")); err == nil { // or what an object begins with
			_, err = io.CopyN(to, r, n)
		}
		if err == nil {
			_, err = to.Write(line[bytes.LastIndexByte(line, size[len(size)-1])+1:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}
