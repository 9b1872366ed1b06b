package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"spendsync/extract/outbound"
	"spendsync/load"
	"spendsync/load/durable"
)

// Options configure access to a bucket. The credentials, the region and the endpoint are not among them: they come from
// the environment variables that the AWS command line uses.
type Options struct {
	AllowHTTP bool // whether plain HTTP to other machines is allowed
	// Pause is the longest pause between attempts of a request. If it is 0, ten seconds are used.
	Pause time.Duration
	// Patience limits how long the storage may take to begin a reply. If it is 0, two minutes are used.
	Patience time.Duration
}

// Bucket is the place for the generations of a store: a bucket with a prefix, or a folder.
type Bucket struct {
	storage
	address string // the address without its options, which may be secret
	traffic *traffic
}

// storage is an S3 bucket or a folder. Names are relative to the prefix. Errors are [Error].
type storage interface {
	open(ctx context.Context, name string) (io.ReadCloser, object, error)
	// write writes an object, or nothing if the content cannot be read completely.
	write(ctx context.Context, name string, c content) error
	// replace writes an object on the condition that the present object has the given tag; an empty tag means that
	// there is no present object. If the condition does not hold, replace returns errChanged. If the storage does not
	// support conditions, it returns errUnguarded.
	replace(ctx context.Context, name, tag string, c content) error
	copy(ctx context.Context, to, from string) error
	list(ctx context.Context, prefix string) iter.Seq2[object, error]
	// remove removes objects. A missing object is not an error.
	remove(ctx context.Context, names []string) error
	// sync makes written objects durable. A push calls it before the pointer, current.json, names the objects.
	sync(names []string) error
	// lock waits until a running push has ended, and excludes other pushes until unlock is called. Only a folder needs
	// the lock, because it has no conditional writes.
	lock(ctx context.Context, wait time.Duration) (unlock func() error, err error)
	failed(ctx context.Context, name string, err error) error
}

type object struct {
	name  string
	bytes int64
	tag   string    // identifies the content; empty if the storage has no tags
	at    time.Time // when the object was written, by the clock of the storage
}

// content is the content of an object to be written.
type content struct {
	bytes  int64
	sha256 string
	kind   string // the media type
	// open opens the content. If the content does not match the SHA-256, reading fails before the last bytes are
	// delivered.
	open func() (io.ReadCloser, error)
}

// textOf returns a text in memory as the content of an object.
func textOf(kind string, text []byte) content {
	return content{int64(len(text)), durable.HashBytes(text), kind, func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}}
}

// traffic counts requests and bytes.
type traffic struct{ requests, sent, received atomic.Int64 }

// Traffic counts the requests to a storage, and the bytes sent and received.
type Traffic struct {
	Requests int64 `json:"requests"` // 0 for a folder
	Sent     int64 `json:"bytes_sent"`
	Received int64 `json:"bytes_received"`
}

// stall is how long a storage may pause in the middle of an object.
const stall = time.Minute

// Forms describes the accepted addresses.
const Forms = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:///FOLDER"

// Open opens an address of one of the [Forms]. An s3:// address may have the options endpoint, use_path_style, sse and
// sse_key, and a gs:// address the option endpoint. Open sends no request.
func Open(address string, o Options) (*Bucket, error) {
	u, err := outbound.ParseURL(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: it %w", ErrAddress, err)
	case u.User != nil:
		return nil, fmt.Errorf("%w: it holds a user or a password; credentials are those of the variables",
			ErrAddress)
	case strings.Contains(address, "#"):
		return nil, fmt.Errorf("%w: it holds a #; as part of a name write it as %%23", ErrAddress)
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
	case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path) && u.RawQuery == "" &&
		filepath.Clean(u.Path) != "/": // a push would fill the root of the machine
		b.storage = &folder{filepath.Clean(u.Path), shown}
	default:
		err = fmt.Errorf("%w: it is %s, not %s", ErrAddress, Forms, shown)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Address returns the address without options.
func (b *Bucket) Address() string { return b.address }

// Traffic returns the traffic since the bucket was opened.
func (b *Bucket) Traffic() Traffic {
	return Traffic{b.traffic.requests.Load(), b.traffic.sent.Load(), b.traffic.received.Load()}
}

// read reads an object into memory. An object larger than limit is damage.
func (b *Bucket) read(ctx context.Context, name string, limit int64) (text []byte, info object, err error) {
	err = b.get(ctx, name, func(opened object, r io.Reader) (err error) {
		info = opened
		text, err = io.ReadAll(io.LimitReader(r, limit+1))
		return err
	})
	if err == nil && int64(len(text)) > limit {
		err = b.damaged(name, "it has more than %d bytes", limit)
	}
	return text, info, err
}

// attempts is the number of attempts to read an object. Each attempt starts from the beginning of the object.
const attempts = 4

// get calls a function with an object and its content. If the connection breaks, it calls the function again from the
// beginning of the object.
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
	r, info, err := b.open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	silent := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing came for %v: %w", stall, ErrUnavailable)) })
	defer silent.Stop()
	return b.failed(ctx, name, do(info, readerFunc(func(p []byte) (int, error) {
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

// isLocal reports whether an error is about a local file, not about the storage.
func isLocal(err error) bool {
	return errors.Is(err, load.ErrMoved) || errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrDamaged)
}
