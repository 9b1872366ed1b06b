package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"
	"golang.org/x/sync/errgroup"

	"spendsync/extract/outbound"
)

// s3 is a bucket of Amazon, of Google, or of another server with the S3 protocol.
//
// It uses only requests that all servers support: bodies in one piece with their SHA-256 in the signature, and a
// condition only for the pointer. It uses none of the checksums that Amazon has added later.
type s3 struct {
	client         minio.Core
	bucket, prefix string
	google         bool
	identity       *credentials.Credentials
	encryption     encrypt.ServerSide // how written objects are encrypted; nil for the bucket's default
	pause          time.Duration      // see Options.Pause
	address        string             // without options
	endpoint       string             // see Error.Endpoint
}

const (
	googleStorage = "https://storage.googleapis.com"
	amazonStorage = "https://s3.amazonaws.com" // the library inserts the region
	tries         = 6                          // attempts of a request
)

func openS3(u *url.URL, address, prefix string, o Options, count *traffic) (*s3, error) {
	s := &s3{bucket: u.Host, address: address, pause: o.Pause, google: u.Scheme == "gs"}
	if prefix != "" {
		s.prefix = prefix + "/"
	}
	q := u.Query()
	options := []string{"endpoint", "use_path_style", "sse", "sse_key"}
	if s.google {
		options = []string{"endpoint"}
	}
	for name := range q {
		if !slices.Contains(options, name) {
			return nil, fmt.Errorf("%w: it has an unknown option %q; there are %s", ErrAddress, name,
				strings.Join(options, ", "))
		}
	}
	at, err := s.server(q, o)
	if err != nil {
		return nil, err
	}
	transport := &counting{outbound.New(outbound.Options{RequireTLS: !o.AllowHTTP,
		HeaderTimeout: cmp.Or(o.Patience, 2*time.Minute)}), count}
	region, _ := firstSet("AWS_REGION", "AWS_DEFAULT_REGION")
	region = cmp.Or(region, "us-east-1") // Amazon's default, also for servers without regions
	s.identity = identityOf(s.google)
	if s.google {
		region = "auto"
	}
	lookup, err := lookupOf(q)
	if err != nil {
		return nil, err
	}
	if s.encryption, err = encryptionOf(q); err != nil {
		return nil, err
	}
	core, err := minio.NewCore(at.Host, &minio.Options{Creds: s.identity, Secure: at.Scheme == "https", Region: region,
		BucketLookup: lookup, Transport: transport, MaxRetries: 1})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrAddress, s.endpoint, err)
	}
	core.SetS3EnableDualstack(false)
	s.client = *core
	return s, nil
}

// counting is a transport that counts requests, and limits the size of replies that the library reads into memory.
type counting struct {
	next  http.RoundTripper
	count *traffic
}

// RoundTrip sends a request.
func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count.requests.Add(1)
	reply, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	// the library refuses replies without this header
	if _, err := http.ParseTime(reply.Header.Get("Last-Modified")); err != nil {
		reply.Header.Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	}
	if r.URL.RawQuery != "" || r.Method != http.MethodGet {
		reply.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(reply.Body, maxSmall), reply.Body}
	}
	return reply, nil
}

// again sends a request. While the storage is unavailable, it repeats the request, up to a fixed number of attempts.
func (s *s3) again(ctx context.Context, name string, send func() error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = cmp.Or(s.pause, 10*time.Second)
	pauses.InitialInterval = min(pauses.InitialInterval, pauses.MaxInterval)
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := s.failed(ctx, name, send())
		if err != nil && (!errors.Is(err, ErrUnavailable) || isUntrusted(err)) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(tries))
	if last, ok := errors.AsType[*backoff.PermanentError](err); ok {
		err = last.Err
	}
	return err
}

func (s *s3) open(ctx context.Context, name string) (r io.ReadCloser, is object, err error) {
	err = s.again(ctx, name, func() error {
		reader, info, _, err := s.client.GetObject(ctx, s.bucket, s.prefix+name, minio.GetObjectOptions{})
		r, is = reader, object{name, info.Size, info.ETag, info.LastModified}
		return err
	})
	return r, is, err
}

func (s *s3) write(ctx context.Context, name string, c content) error {
	return s.send(ctx, name, c, minio.PutObjectOptions{ContentType: c.kind, DisableContentSha256: true,
		ServerSideEncryption: s.encryption})
}

// send uploads an object in one piece. Amazon's limit for one piece is 5 GiB.
func (s *s3) send(ctx context.Context, name string, c content, o minio.PutObjectOptions) error {
	return s.again(ctx, name, func() error {
		from, err := c.open()
		if err != nil {
			return err
		}
		defer from.Close()
		_, err = s.client.PutObject(ctx, s.bucket, s.prefix+name, from, c.bytes, "", c.sha256, o)
		return err
	})
}

func (s *s3) replace(ctx context.Context, name, tag string, c content) error {
	if s.google {
		return errUnguarded // Google's conditions do not work with S3's signature
	}
	o := minio.PutObjectOptions{ContentType: c.kind, CacheControl: "no-cache", DisableContentSha256: true,
		ServerSideEncryption: s.encryption}
	if tag == "" {
		o.SetMatchETagExcept("*")
	} else {
		o.SetMatchETag(tag)
	}
	err := s.send(ctx, name, c, o)
	if e, ok := errors.AsType[*Error](err); ok && e.refusesCondition() {
		return errUnguarded
	}
	return err
}

func (s *s3) copy(ctx context.Context, to, from string) error {
	return s.again(ctx, from, func() error {
		_, err := s.client.Client.CopyObject(ctx, minio.CopyDestOptions{Bucket: s.bucket, Object: s.prefix + to,
			Encryption: s.encryption},
			minio.CopySrcOptions{Bucket: s.bucket, Object: s.prefix + from})
		return err
	})
}

func (s *s3) list(ctx context.Context, prefix string) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		o := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true, FetchOwner: new(bool)}
		err := s.again(ctx, prefix, func() error {
			for info := range s.client.ListObjectsIter(ctx, s.bucket, o) {
				if info.Err != nil {
					return info.Err
				}
				o.StartAfter = info.Key // for the next attempt
				name, below := strings.CutPrefix(info.Key, s.prefix)
				if !below || info.Size == 0 { // not an object of ours: a folder marker
					continue
				}
				if !yield(object{name, info.Size, info.ETag, info.LastModified}, nil) {
					return nil
				}
			}
			return ctx.Err()
		})
		if err != nil {
			yield(object{}, err)
		}
	}
}

func (s *s3) remove(ctx context.Context, names []string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	for _, name := range names { // not every server can delete several objects in one request
		g.Go(func() error {
			err := s.again(ctx, name, func() error {
				return s.client.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{})
			})
			if errors.Is(err, errNotFound) {
				return nil
			}
			return err
		})
	}
	return g.Wait()
}

func (s *s3) sync([]string) error { return nil }

func (s *s3) lock(context.Context, time.Duration) (unlock func() error, err error) {
	return func() error { return nil }, nil
}
