package payouts

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/cmd/internal/files"
)

// objects writes the objects of a JSON text one a line, so that the engine need not hold the list that they are in.
type objects struct {
	in   *jsontext.Decoder
	file *os.File
	out  *bufio.Writer
	n    int // that are written
}

// writeObjects finds the objects of a text: a list of them, one after the other, or those of a list that an object has,
// as the APIs of trackers answer: the one that is named rows, else the first.
func writeObjects(from, to string) (n int, err error) {
	in, _, err := files.Open(from, MaxSize)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	o := &objects{in: jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if o.file, err = os.Create(to); err != nil {
		return 0, err
	}
	defer o.file.Close()
	o.out = bufio.NewWriter(o.file)
	for {
		switch o.in.PeekKind() {
		case '[':
			err = o.list()
		case '{':
			err = o.object()
		default:
			_, err = o.in.ReadValue()
		}
		if errors.Is(err, io.EOF) {
			return o.n, o.out.Flush()
		}
		if err != nil {
			return o.n, err
		}
	}
}

func (o *objects) write(v jsontext.Value) error {
	if v.Kind() != '{' {
		v = jsontext.Value("{}") // a row in which nothing is known
	} else if err := v.Compact(); err != nil {
		return err
	}
	o.n++
	_, err := fmt.Fprintf(o.out, "%s\n", v)
	return err
}

// list writes the elements of the list that comes next; none of a list of values that are no objects.
func (o *objects) list() error {
	if _, err := o.in.ReadToken(); err != nil {
		return err
	}
	for isOfObjects := o.in.PeekKind() == '{'; o.in.PeekKind() != ']'; {
		v, err := o.in.ReadValue()
		if err == nil && isOfObjects {
			err = o.write(v)
		}
		if err != nil {
			return err
		}
	}
	_, err := o.in.ReadToken()
	return err
}

// object writes the object that comes next, or the objects of its list in place of it.
func (o *objects) object() error {
	if _, err := o.in.ReadToken(); err != nil {
		return err
	}
	row, list, chosen := []byte("{"), listOf{}, ""
	for o.in.PeekKind() != '}' {
		name, err := o.in.ReadValue()
		if err != nil {
			return err
		}
		name = name.Clone()
		switch isRows := string(name) == `"rows"`; {
		case o.in.PeekKind() != '[':
			var v jsontext.Value
			v, err = o.in.ReadValue()
			row = append(append(append(append(row, name...), ':'), v...), ',')
		case chosen == "":
			if list, err = o.begin(); err == nil {
				err = o.list()
			}
			if o.n > list.before {
				chosen = string(name)
			}
		case isRows:
			if err = o.undo(list); err == nil {
				err = o.list()
			}
		default:
			err = o.in.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if _, err := o.in.ReadToken(); err != nil || chosen != "" {
		return err
	}
	return o.write(append(bytes.TrimSuffix(row, []byte(",")), '}'))
}

// listOf is where the objects of a list begin in the file.
type listOf struct {
	before int
	at     int64
}

func (o *objects) begin() (l listOf, err error) {
	if err = o.out.Flush(); err == nil {
		l.at, err = o.file.Seek(0, io.SeekCurrent)
	}
	l.before = o.n
	return l, err
}

// undo takes the objects of a list back.
func (o *objects) undo(l listOf) error {
	if err := o.out.Flush(); err != nil {
		return err
	}
	if err := o.file.Truncate(l.at); err != nil {
		return err
	}
	o.n = l.before
	_, err := o.file.Seek(l.at, io.SeekStart)
	return err
}
