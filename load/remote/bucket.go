package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"spendsync/load"
	"spendsync/load/durable"
)

// Options are what a bucket needs to know from outside. Credentials, region and endpoint are those of the variables
// that the AWS command line knows.
type Options struct {
	AllowHTTP bool   // send without TLS to other machines
	CABundle  []byte // certificates in place of the system's, as PEM; nil: the system's
	// Pause bounds the pauses between attempts to an S3; 0: ten seconds.
	Pause time.Duration
	// Patience is how long the storage may take to begin a reply; 0: two minutes.
	Patience time.Duration
}

// Bucket is a bucket, or a folder, with a prefix.
type Bucket struct {
	storage
	address string // without possible secrets
	traffic *traffic
}

// storage is an S3 or a folder. Names are below its prefix. Errors are of [Error].
type storage interface {
	// open opens an object for reading.
	open(ctx context.Context, name string) (io.ReadCloser, object, error)
	// write makes an object, or none if its content cannot be read to its end.
	write(ctx context.Context, name string, c content) error
	// replace writes an object in place of the one with a tag; an empty tag requires that there is none. It returns
	// errChanged if the current object differs, and errUnguarded if the storage cannot compare.
	replace(ctx context.Context, name, tag string, c content) error
	copy(ctx context.Context, to, from string) error
	list(ctx context.Context, prefix string) iter.Seq2[object, error]
	// remove deletes objects, whether they are there or not.
	remove(ctx context.Context, names []string) error
	// sync makes written objects durable: the pointer must not survive a power cut that they do not.
	sync(names []string) error
	// lock keeps other pushes away where the storage cannot compare, and waits for them.
	lock(ctx context.Context, wait time.Duration) (unlock func() error, err error)
	failed(ctx context.Context, name string, err error) error
}

// object is an object of a storage.
type object struct {
	name  string
	bytes int64
	tag   string    // identifies the content; empty: the storage has none
	at    time.Time // when it was written, by the storage's clock
}

// content is what an object is to hold.
type content struct {
	bytes  int64
	sha256 string
	kind   string // the media type
	// open opens it. The reader returns an error in place of the last bytes if they are not those of the hash.
	open func() (io.ReadCloser, error)
}

// textOf is a content from memory.
func textOf(kind string, text []byte) content {
	return content{int64(len(text)), hashOf(text), kind, func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}}
}

// traffic counts what passes to and from the storage.
type traffic struct{ requests, sent, received atomic.Int64 }

// Traffic is the data sent to and received from the storage.
type Traffic struct {
	Requests int64 `json:"requests"` // of a folder: 0
	Sent     int64 `json:"bytes_sent"`
	Received int64 `json:"bytes_received"`
}

// stall is how long a storage may send nothing in the middle of an object.
const stall = time.Minute

// Forms are the addresses of a bucket.
const Forms = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:///FOLDER"

// Open opens an address of the [Forms]. The options of an S3 address are region, endpoint, profile, anonymous and
// use_path_style, that of a gs:// address endpoint. It sends no request.
func Open(address string, o Options) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be parsed", ErrAddress) // the cause would repeat a secret
	}
	if u.User != nil {
		return nil, fmt.Errorf("%w: it holds a user or a password; credentials are those of the variables",
			ErrAddress)
	}
	prefix := strings.Trim(u.Path, "/")
	shown := u.Scheme + "://" + u.Host
	if prefix != "" {
		shown += "/" + prefix
	}
	b := &Bucket{address: shown, traffic: &traffic{}}
	switch {
	case (u.Scheme == "s3" || u.Scheme == "gs") && u.Host != "":
		b.storage, err = openS3(u, shown, prefix, o, b.traffic)
	case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path) && u.RawQuery == "":
		b.storage = &folder{filepath.Clean(u.Path), shown}
	default:
		err = fmt.Errorf("%w: it is %s, not %s", ErrAddress, Forms, shown)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Address is where the bucket is, without options.
func (b *Bucket) Address() string { return b.address }

// Traffic returns the traffic since the bucket was opened.
func (b *Bucket) Traffic() Traffic {
	return Traffic{b.traffic.requests.Load(), b.traffic.sent.Load(), b.traffic.received.Load()}
}

// read reads an object of at most limit bytes.
func (b *Bucket) read(ctx context.Context, name string, limit int64) (text []byte, is object, err error) {
	err = b.get(ctx, name, func(its object, r io.Reader) (err error) {
		is = its
		text, err = io.ReadAll(io.LimitReader(r, limit+1))
		return err
	})
	if err == nil && int64(len(text)) > limit {
		err = b.damaged(name, "it has more than %d bytes", limit)
	}
	return text, is, err
}

// attempts is how often an object is read from its beginning if the connection breaks in the middle.
const attempts = 4

// get streams an object into do.
func (b *Bucket) get(ctx context.Context, name string, do func(is object, r io.Reader) error) (err error) {
	for range attempts {
		if err = b.getOnce(ctx, name, do); err == nil || !errors.Is(err, ErrUnavailable) {
			return err
		}
	}
	return err
}

func (b *Bucket) getOnce(ctx context.Context, name string, do func(object, io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, is, err := b.open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	silent := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing came for %v: %w", stall, ErrUnavailable)) })
	defer silent.Stop()
	return b.failed(ctx, name, do(is, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := r.Read(p)
		silent.Reset(stall)
		b.traffic.received.Add(int64(n))
		return n, err
	})))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// put writes an object.
func (b *Bucket) put(ctx context.Context, name string, c content) error {
	err := b.write(ctx, name, c)
	if err == nil {
		b.traffic.sent.Add(c.bytes)
	}
	return err
}

// isLocal reports whether an upload failed because of the local file.
func isLocal(err error) bool {
	return errors.Is(err, load.ErrMoved) || errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrDamaged)
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
