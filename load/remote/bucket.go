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
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
)

// Options are what a bucket needs to know from outside. Credentials, region and endpoint of S3 are
// found as the AWS SDK finds them, those of Azure in its variables.
type Options struct {
	AllowHTTP bool   // send without TLS to other machines
	CABundle  []byte // certificates in place of the system's, as PEM; nil: the system's
	GoogleKey []byte // a key file of Google, as JSON; nil: the machine's metadata server
	// Pause bounds the pauses between attempts to S3; 0: 20 s.
	Pause time.Duration
	// Patience is how long the storage may take to begin a reply; 0: two minutes.
	Patience time.Duration
}

// Bucket is a bucket, or a folder, with a prefix.
type Bucket struct {
	blob         *blob.Bucket
	name, prefix string
	client       *s3.Client // of S3
	endpoint     string     // what sets the server
	buffer       int        // of an object on its way; 0: the library's
	// of a folder
	dir string

	address string // without possible secrets
	traffic traffic
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

// maxDeletes is how many objects S3 deletes at a request.
const maxDeletes = 1000

// Open opens s3://bucket/prefix, gs://bucket/prefix, azblob://container/prefix or file:///folder. The options of an S3
// address are region, endpoint, profile, anonymous and use_path_style, that of a gs:// address endpoint. It sends no
// request.
func Open(ctx context.Context, address string, o Options) (*Bucket, error) {
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
	b := &Bucket{address: shown}
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	switch {
	case u.Scheme == "s3" && u.Host != "":
		err = b.openS3(ctx, u, o)
	case (u.Scheme == "gs" || u.Scheme == "azblob") && u.Host != "":
		err = b.openCloud(ctx, u, o)
	case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path) && u.RawQuery == "":
		b.dir = filepath.Clean(u.Path)
		err = b.openFolder()
	default:
		err = fmt.Errorf("%w: it is s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX or "+
			"file:///FOLDER, not %s", ErrAddress, shown)
	}
	if err != nil {
		return nil, err
	}
	if b.dir == "" && prefix != "" {
		b.prefix = prefix + "/"
		b.blob = blob.PrefixedBucket(b.blob, b.prefix)
	}
	return b, nil
}

// Address is where the bucket is, without options.
func (b *Bucket) Address() string { return b.address }

// Traffic returns the traffic since the bucket was opened.
func (b *Bucket) Traffic() Traffic {
	return Traffic{b.traffic.requests.Load(), b.traffic.sent.Load(), b.traffic.received.Load()}
}

// Close closes the bucket.
func (b *Bucket) Close() error { return b.blob.Close() }

// openFolder opens a folder, which the first object creates. Temporary files are in the folder of the object: the
// system's folder for them may be on another file system.
func (b *Bucket) openFolder() (err error) {
	b.blob, err = fileblob.OpenBucket(b.dir, &fileblob.Options{CreateDir: true, NoTempDir: true,
		Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o755})
	return b.failed(context.Background(), "", err)
}

// caBundle is the SDK's variable for the file of certificates, which the caller reads.
const caBundle = "AWS_CA_BUNDLE"

// loading holds the environment while [caBundle] is taken out of it.
var loading sync.Mutex

// maxSmall exceeds the size of every pointer and list: a file takes 200 bytes of a list.
const maxSmall = 64 << 20

// read reads a small object. tag identifies its content: if the tag is passed again and the object has not changed,
// the error is [errSame]. at is the storage's time of writing.
func (b *Bucket) read(ctx context.Context, name, tag string) (content []byte, newTag string, at time.Time, err error) {
	o := &blob.ReaderOptions{}
	if tag != "" {
		o.BeforeRead = unlessTagged(tag)
	}
	r, err := b.blob.NewReader(ctx, name, o)
	if err != nil {
		return nil, "", at, b.failed(ctx, name, err)
	}
	defer r.Close()
	if content, err = io.ReadAll(io.LimitReader(r, maxSmall+1)); err != nil {
		return nil, "", at, b.failed(ctx, name, err)
	}
	if len(content) > maxSmall {
		return nil, "", at, b.damaged(name, "it has more than %d bytes", maxSmall)
	}
	b.traffic.received.Add(int64(len(content)))
	if newTag = tagOf(r); newTag == "" {
		newTag = hashOf(content)
	}
	if newTag == tag {
		return nil, tag, r.ModTime(), errSame
	}
	return content, newTag, r.ModTime(), nil
}

// get streams an object into do, and tries again a few times: a connection may break in the middle.
func (b *Bucket) get(ctx context.Context, name string, do func(io.Reader) error) (err error) {
	for range attempts {
		if err = b.getOnce(ctx, name, do); err == nil || !errors.Is(err, ErrUnavailable) {
			return err
		}
	}
	return err
}

// attempts is how often an object is read from its beginning. The SDK repeats requests by itself; it
// cannot repeat the second half of a body.
const attempts = 4

func (b *Bucket) getOnce(ctx context.Context, name string, do func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := b.blob.NewReader(ctx, name, nil)
	if err != nil {
		return b.failed(ctx, name, err)
	}
	defer r.Close()
	silent := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing came for %v: %w", stall, ErrUnavailable)) })
	defer silent.Stop()
	return b.failed(ctx, name, do(readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		silent.Reset(stall)
		b.traffic.received.Add(int64(n))
		return n, err
	})))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// put uploads an object. If reading from fails, no object is written.
func (b *Bucket) put(ctx context.Context, name, contentType string, from io.Reader) error {
	return b.write(ctx, name, from, &blob.WriterOptions{ContentType: contentType})
}

// replace writes a small object in place of the one with a tag; an empty tag requires that no object exists. It
// returns errChanged if the current object differs.
func (b *Bucket) replace(ctx context.Context, name, tag string, content []byte) error {
	o := &blob.WriterOptions{ContentType: "application/json", CacheControl: "no-cache"}
	switch {
	case b.dir != "": // under the folder's lock
	case tag == "":
		o.IfNotExist = true
	default:
		o.BeforeWrite = overTagged(tag)
	}
	return b.write(ctx, name, bytes.NewReader(content), o)
}

func (b *Bucket) write(ctx context.Context, name string, from io.Reader, o *blob.WriterOptions) error {
	return b.staged(ctx, name, func(staged string) error { return b.writeAs(ctx, staged, from, o) })
}

// staged makes an object. In a folder it does so apart, and renames the object when it is whole: an interrupted push
// must not leave a part of a Parquet file, or one too many, where readers take every file of a folder.
func (b *Bucket) staged(ctx context.Context, name string, write func(name string) error) error {
	if b.dir == "" {
		return write(name)
	}
	if err := write(stagingFolder + name); err != nil {
		return err
	}
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return b.failed(ctx, name, err)
	}
	return b.failed(ctx, name, os.Rename(filepath.Join(b.dir, stagingFolder, filepath.FromSlash(name)), path))
}

func (b *Bucket) writeAs(ctx context.Context, name string, from io.Reader, o *blob.WriterOptions) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	if b.buffer != 0 { // or each of the objects on their way would take up to 40 MiB of memory
		o.BufferSize, o.MaxConcurrency = b.buffer, 1
	}
	w, err := b.blob.NewWriter(within, name, o)
	if err != nil {
		return b.failed(ctx, name, err)
	}
	n, err := io.Copy(struct{ io.Writer }{w}, from)
	b.traffic.sent.Add(n)
	if err != nil {
		cancel() // or closing would finish the object
		closeErr := w.Close()
		if isLocal(err) {
			return err
		}
		return b.failed(ctx, name, errors.Join(err, closeErr))
	}
	return b.failed(ctx, name, w.Close())
}

// list gives the objects below a folder.
func (b *Bucket) list(ctx context.Context, folder string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		for all := b.blob.List(&blob.ListOptions{Prefix: folder}); ; {
			object, err := next(ctx, all)
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && object.Size == 0 { // none of ours: the mark of a folder
				continue
			}
			if !yield(object, b.failed(ctx, folder, err)) || err != nil {
				return
			}
		}
	}
}

// next is the next object of a list. azureblob panics if the storage leaves something out.
func next(ctx context.Context, all *blob.ListIterator) (object *blob.ListObject, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the list lacks what each object has: %v", r)
		}
	}()
	return all.Next(ctx)
}

// copy copies an object within the bucket.
func (b *Bucket) copy(ctx context.Context, to, from string) error {
	return b.staged(ctx, to, func(staged string) error {
		return b.failed(ctx, from, b.blob.Copy(ctx, staged, from, nil))
	})
}

// remove deletes objects, whether they are there or not.
func (b *Bucket) remove(ctx context.Context, names []string) error {
	for len(names) > 0 {
		some := names[:min(len(names), maxDeletes)]
		names = names[len(some):]
		if b.client != nil && b.deleteMany(ctx, some) {
			continue
		}
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(transfers)
		for _, name := range some {
			g.Go(func() error {
				err := b.failed(ctx, name, b.blob.Delete(ctx, name))
				if errors.Is(err, errNotFound) {
					return nil
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// deleteMany deletes objects in one request, and reports whether all are deleted. Not every S3 supports it.
func (b *Bucket) deleteMany(ctx context.Context, names []string) bool {
	d := &types.Delete{Quiet: aws.Bool(true)}
	for _, name := range names {
		d.Objects = append(d.Objects, types.ObjectIdentifier{Key: aws.String(b.prefix + name)})
	}
	out, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: aws.String(b.name), Delete: d})
	return err == nil && len(out.Errors) == 0
}

// sync makes objects durable that were written to a folder: the pointer must not survive a power cut
// that they do not.
func (b *Bucket) sync(names []string) error {
	if b.dir == "" {
		return nil
	}
	dirs := map[string]bool{}
	for _, name := range names {
		path := filepath.Join(b.dir, filepath.FromSlash(name))
		if err := durable.OS.SyncFile(path); err != nil {
			return err
		}
		dirs[filepath.Dir(path)] = true
	}
	return durable.OS.SyncNames(b.dir, dirs)
}

// lock keeps other pushes away from a folder, which knows no conditional writes. Another push is
// waited for.
func (b *Bucket) lock(ctx context.Context, wait time.Duration) (unlock func() error, err error) {
	if b.dir == "" {
		return func() error { return nil }, nil
	}
	for end := time.Now().Add(wait); ; {
		l, err := durable.OS.Lock(filepath.Join(b.dir, lockName))
		if err != nil {
			return nil, durable.Storage(err)
		}
		if l != nil { // what is staged was left by a push that died
			if err := durable.OS.RemoveTree(filepath.Join(b.dir, stagingFolder)); err != nil {
				return nil, errors.Join(err, l.Close())
			}
			return l.Close, nil
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("another push to %s is active: %w", b.address, durable.ErrLocked)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
