package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/gob"
	"errors"
	"io"
	"strconv"
)

// A large manifest ends with an index of itself: where each group stands, and its hash. So whoever wants to know
// what has changed reads some hundred kilobytes, and what has, however long the history is. The index is covered by
// a hash of its own, which stands before it, together with what the manifest says beside the accounts.

// indexed is how large a manifest is that gets an index.
const indexed = 1 << 20

const (
	beforeIndex = ",\n \"index\": \""
	afterIndex  = "\",\n \"index_at\": "
)

// index is what it holds.
type index struct {
	From, To int64 // of the accounts, in the text
	Gaps     uint64
	Accounts []*Listed
}

// passed is a member that is read past.
type passed struct{}

func (*passed) UnmarshalJSON([]byte) error { return nil }

// withIndex adds the index to a text that has zeros for its checksum.
func withIndex(text []byte) []byte {
	l := &Listing{text: bytes.NewReader(text), size: int64(len(text))}
	err := l.scan(false)
	_, gaps, restErr := l.rest()
	var b bytes.Buffer
	gobErr := gob.NewEncoder(&b).Encode(index{l.from, l.to, gaps, l.Accounts})
	if errors.Join(err, restErr, gobErr) != nil {
		return text // it is as good without
	}
	text = bytes.TrimSuffix(text, []byte("\n}"))
	sum := sumOfIndex(text[:l.from], text[l.to:], b.Bytes())
	text = append(text, beforeIndex...)
	at := len(text)
	text = base64.StdEncoding.AppendEncode(text, append(sum, b.Bytes()...))
	return append(strconv.AppendInt(append(text, afterIndex...), int64(at), 10), "\n}"...)
}

// sumOfIndex is the hash that stands before an index.
func sumOfIndex(head, tail, is []byte) []byte {
	h := sha256.New()
	for _, part := range [][]byte{head, tail, is} {
		h.Write(part)
	}
	return h.Sum(nil)
}

// OpenIndexed is [OpenListing] by the index, where the manifest has one: what is read later is compared with its
// hash when it is read, and the rest of the text is not looked at.
func OpenIndexed(dir string) (*Listing, error) {
	return open(dir, func(text io.ReaderAt, size int64) (*Listing, error) {
		l := &Listing{text: text, size: size}
		l.file, _ = text.(io.Closer)
		if err := l.readIndex(); err == nil {
			return l, nil
		}
		return NewListing(text, size) // which says what is wrong, if anything is
	})
}

// readIndex reads the index instead of the text.
func (l *Listing) readIndex() error {
	end, err := l.read(Span{max(0, l.size-64), min(64, l.size)})
	if err != nil {
		return err
	}
	_, number, _ := bytes.Cut(end, []byte(afterIndex))
	at, err := strconv.ParseInt(string(bytes.TrimSuffix(number, []byte("\n}"))), 10, 64)
	if err != nil {
		return err
	}
	size := l.size - at - int64(len(afterIndex)+len(number))
	if at < 0 || size < 0 {
		return errLayout
	}
	text, err := l.read(Span{at, size})
	if err != nil {
		return err
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(b, text)
	if err != nil || n < sha256.Size {
		return errors.Join(err, errLayout)
	}
	var is index
	if err := gob.NewDecoder(bytes.NewReader(b[sha256.Size:n])).Decode(&is); err != nil {
		return err
	}
	if is.From < 0 || is.From > is.To || is.To > at {
		return errLayout
	}
	head, headErr := l.read(Span{0, is.From})
	tail, tailErr := l.read(Span{is.To, at - is.To})
	_, sealErr := unseal(head)
	if err := errors.Join(headErr, tailErr, sealErr); err != nil {
		return err
	}
	tail, ok := bytes.CutSuffix(tail, []byte(beforeIndex))
	if !ok || !bytes.Equal(sumOfIndex(head, tail, b[sha256.Size:n]), b[:sha256.Size]) {
		return errLayout
	}
	l.from, l.to, l.gaps, l.Accounts = is.From, is.To, is.Gaps, is.Accounts
	l.Manifest, err = decode(append(append(bytes.TrimSuffix(head, []byte("\n")), tail[1:]...), "\n}"...), true)
	return err
}
