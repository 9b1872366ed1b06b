package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"

	"spendsync/extract/outbound"
)

// s3 is Amazon's storage, Google's, or another one that speaks the protocol of S3.
//
// What it asks of the storage is the least that all know: bodies in one piece with their SHA-256 in the signature, none
// of the checksums that Amazon has added since, and a condition for the pointer alone.
type s3 struct {
	client         minio.Core
	bucket, prefix string
	google         bool
	pause          time.Duration // between attempts at most; 0: ten seconds
	address        string        // without options
	endpoint       string        // what sets the server
}

const (
	onePiece = 64 << 20 // larger objects are sent in parts
	partSize = 16 << 20 // of which there may be 10,000

	googleStorage = "https://storage.googleapis.com"
	amazonStorage = "https://s3.amazonaws.com" // of the region; the library inserts it
	tries         = 6                          // of a request
)

// openS3 opens a bucket of S3, of Google, or of another server that speaks S3's protocol.
func openS3(u *url.URL, address, prefix string, o Options, count *traffic) (*s3, error) {
	s := &s3{bucket: u.Host, address: address, pause: o.Pause, google: u.Scheme == "gs"}
	if prefix != "" {
		s.prefix = prefix + "/"
	}
	q := u.Query()
	known := []string{"region", "endpoint", "profile", "anonymous", "use_path_style"}
	if s.google {
		known = []string{"endpoint"}
	}
	for name := range q {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%w: it has an unknown option %q; there are %s", ErrAddress, name,
				strings.Join(known, ", "))
		}
	}
	at, err := s.server(q, o)
	if err != nil {
		return nil, err
	}
	roots, err := rootsOf(o.CABundle)
	if err != nil {
		return nil, err
	}
	transport := &counting{outbound.New(outbound.Options{RequireTLS: !o.AllowHTTP, TLS: roots,
		HeaderTimeout: cmp.Or(o.Patience, 2*time.Minute)}), count}
	region, _ := firstSet("AWS_REGION", "AWS_DEFAULT_REGION")
	region = cmp.Or(q.Get("region"), region, "us-east-1") // as S3 itself, for a server that knows no regions
	identity := credentials.New(&identity{profile: q.Get("profile"), google: s.google})
	if q.Has("anonymous") {
		identity = credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	}
	if s.google {
		region = "auto"
	}
	lookup, err := lookupOf(q)
	if err != nil {
		return nil, err
	}
	core, err := minio.NewCore(at.Host, &minio.Options{Creds: identity, Secure: at.Scheme == "https", Region: region,
		BucketLookup: lookup, Transport: transport, MaxRetries: 1})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrAddress, s.endpoint, err)
	}
	core.SetS3EnableDualstack(false)
	s.client = *core
	return s, nil
}

// server finds the address of the server, and what sets it.
func (s *s3) server(q url.Values, o Options) (*url.URL, error) {
	set, by := q.Get("endpoint"), "the option endpoint of the address"
	switch {
	case set != "":
	case s.google:
		set, by = googleStorage, "the scheme gs"
	default:
		if set, by = firstSet("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"); set == "" {
			set, by = amazonStorage, "AWS_REGION"
		}
	}
	s.endpoint = by
	at, err := url.Parse(set)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http":
		return nil, fmt.Errorf("%w: %s is not https://HOST", ErrAddress, by)
	case at.User != nil || at.RawQuery != "" || strings.Trim(at.Path, "/") != "":
		return nil, fmt.Errorf("%w: %s has more than a host and a port", ErrAddress, by)
	case at.Scheme == "http" && !o.AllowHTTP && !outbound.IsLocal(at.Hostname()):
		return nil, &Error{Address: s.address, Endpoint: by, kind: ErrAddress, Reason: "plain http to " + at.Host +
			" would show the credentials to everyone on the way"}
	}
	return at, nil
}

// lookupOf is how the address of an object names its bucket: in the host for Amazon, Google and Alibaba, else in the
// path, unless it is set.
func lookupOf(q url.Values) (minio.BucketLookupType, error) {
	for _, set := range []string{q.Get("use_path_style"), os.Getenv("AWS_S3_FORCE_PATH_STYLE")} {
		if set == "" {
			continue
		}
		inPath, err := strconv.ParseBool(set)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%w: use_path_style=%s is neither true nor false", ErrAddress, set)
		case inPath:
			return minio.BucketLookupPath, nil
		}
		return minio.BucketLookupDNS, nil
	}
	return minio.BucketLookupAuto, nil
}

// rootsOf are the certificates of a bundle in place of the system's; nil: the system's.
func rootsOf(bundle []byte) (*tls.Config, error) {
	if bundle == nil {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("%w: AWS_CA_BUNDLE holds no certificate", ErrAddress)
	}
	return &tls.Config{RootCAs: roots}, nil
}

// firstSet returns the value and the name of the first variable that is set.
func firstSet(names ...string) (value, by string) {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v, name
		}
	}
	return "", ""
}

// counting counts requests, and limits the replies that are held in memory.
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
	if _, err := http.ParseTime(reply.Header.Get("Last-Modified")); err != nil { // or the library takes no object
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

// again sends a request until the storage answers it, a few times.
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

// isUntrusted reports whether the server has a certificate that is not trusted, now or later.
func isUntrusted(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](e.Cause)
	return untrusted
}

func (s *s3) open(ctx context.Context, name, unless string) (r io.ReadCloser, is object, err error) {
	o := minio.GetObjectOptions{}
	if unless != "" {
		if err := o.SetMatchETagExcept(unless); err != nil {
			return nil, is, s.failed(ctx, name, err)
		}
	}
	err = s.again(ctx, name, func() error {
		its, info, _, err := s.client.GetObject(ctx, s.bucket, s.prefix+name, o)
		r, is = its, object{name, info.Size, info.ETag, info.LastModified}
		return err
	})
	return r, is, err
}

func (s *s3) write(ctx context.Context, name string, c content) error {
	o := minio.PutObjectOptions{ContentType: c.kind, DisableContentSha256: true}
	if c.bytes <= onePiece || s.google {
		return s.send(ctx, name, c, o)
	}
	return s.sendParts(ctx, name, c, o)
}

// send sends an object in one piece.
func (s *s3) send(ctx context.Context, name string, c content, o minio.PutObjectOptions) error {
	return s.again(ctx, name, func() error {
		from, err := c.open()
		if err != nil {
			return local{err}
		}
		defer from.Close()
		body := &localErrors{Reader: from}
		_, err = s.client.PutObject(ctx, s.bucket, s.prefix+name, body, c.bytes, "", c.sha256, o)
		if body.err != nil {
			return local{body.err}
		}
		return err
	})
}

// sendParts sends an object in parts. Only when all of it has been read and its hash is right it becomes an object.
func (s *s3) sendParts(ctx context.Context, name string, c content, o minio.PutObjectOptions) error {
	from, err := c.open()
	if err != nil {
		return err
	}
	defer from.Close()
	key, id := s.prefix+name, ""
	err = s.again(ctx, name, func() (err error) {
		id, err = s.client.NewMultipartUpload(ctx, s.bucket, key, o)
		return err
	})
	if err != nil {
		return err
	}
	parts, err := s.parts(ctx, name, id, c.bytes, from)
	if err == nil {
		err = s.again(ctx, name, func() error {
			_, err := s.client.CompleteMultipartUpload(ctx, s.bucket, key, id, parts, o)
			return err
		})
	}
	if err != nil { // what is left is removed by the bucket's rules, if at all
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = s.client.AbortMultipartUpload(last, s.bucket, key, id)
	}
	return err
}

func (s *s3) parts(ctx context.Context, name, id string, left int64, from io.Reader) (sent []minio.CompletePart,
	err error) {
	size := max(partSize, left/9000)
	for number := 1; left > 0; number++ {
		// A buffer of its own: after an early reply net/http may still be reading the one of the part before.
		part := make([]byte, min(left, size))
		if _, err := io.ReadFull(from, part); err != nil {
			return nil, err
		}
		left -= int64(len(part))
		err := s.again(ctx, name, func() error {
			is, err := s.client.PutObjectPart(ctx, s.bucket, s.prefix+name, id, number, bytes.NewReader(part),
				int64(len(part)), minio.PutObjectPartOptions{Sha256Hex: hashOf(part), DisableContentSha256: true})
			sent = append(sent[:number-1], minio.CompletePart{PartNumber: number, ETag: is.ETag})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return sent, nil
}

// local is an error of the local file.
type local struct{ error }

func (l local) Unwrap() error { return l.error }

// localErrors keeps the errors of reading a local file apart from those of the storage.
type localErrors struct {
	io.Reader
	err error
}

func (l *localErrors) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		l.err = err
	}
	return n, err
}

func (s *s3) replace(ctx context.Context, name, tag string, c content) error {
	if s.google {
		return errUnguarded // its conditions are of a kind that S3's signature cannot have
	}
	o := minio.PutObjectOptions{ContentType: c.kind, CacheControl: "no-cache", DisableContentSha256: true}
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
		_, err := s.client.Client.CopyObject(ctx, minio.CopyDestOptions{Bucket: s.bucket, Object: s.prefix + to},
			minio.CopySrcOptions{Bucket: s.bucket, Object: s.prefix + from})
		return err
	})
}

func (s *s3) list(ctx context.Context, prefix string) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		o := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true, FetchOwner: new(bool)}
		err := s.again(ctx, prefix, func() error {
			for is := range s.client.ListObjectsIter(ctx, s.bucket, o) {
				if is.Err != nil {
					return is.Err
				}
				o.StartAfter = is.Key // of another attempt
				name, below := strings.CutPrefix(is.Key, s.prefix)
				if !below || is.Size == 0 { // none of ours: the mark of a folder
					continue
				}
				if !yield(object{name, is.Size, is.ETag, is.LastModified}, nil) {
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
	left, err := s.removeMany(ctx, names)
	if err != nil {
		return s.failed(ctx, "", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	for _, name := range left { // not every S3 deletes many in one request
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

// removeMany deletes a thousand objects in a request, and returns those that are not gone.
func (s *s3) removeMany(ctx context.Context, names []string) (left []string, err error) {
	if len(names) < 2 || s.google {
		return names, nil
	}
	gone := map[string]bool{}
	results, err := s.client.RemoveObjectsWithIter(ctx, s.bucket, func(yield func(minio.ObjectInfo) bool) {
		for _, name := range names {
			if !yield(minio.ObjectInfo{Key: s.prefix + name}) {
				return
			}
		}
	}, minio.RemoveObjectsOptions{})
	if err != nil {
		return nil, err
	}
	for r := range results {
		if r.Err == nil {
			gone[r.ObjectName] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return gone[s.prefix+name] }), ctx.Err()
}

func (s *s3) sync([]string) error { return nil }

func (s *s3) lock(context.Context, time.Duration) (unlock func() error, err error) {
	return func() error { return nil }, nil
}

// identity finds credentials where the AWS command line does: the variables, a web identity, the shared files, and the
// server of a container's or a machine's role. It asks nobody who is not named by a variable, except that server.
type identity struct {
	profile string
	google  bool
	used    credentials.Provider
}

// RetrieveWithCredContext returns the first credentials that there are.
func (i *identity) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	var why error
	for _, p := range i.providers() {
		is, err := p.RetrieveWithCredContext(cc)
		if err == nil && is.AccessKeyID != "" && is.SecretAccessKey != "" {
			i.used = p
			return is, nil
		}
		why = cmp.Or(why, err)
	}
	if why == nil || i.google {
		return credentials.Value{}, errNoCredentials
	}
	return credentials.Value{}, fmt.Errorf("%w: %w", errNoCredentials, unwrapped(why))
}

func (i *identity) providers() []credentials.Provider {
	file := &credentials.FileAWSCredentials{Profile: i.profile}
	if i.profile != "" {
		return []credentials.Provider{file}
	}
	env := &credentials.EnvAWS{}
	if i.google {
		return []credentials.Provider{env, file}
	}
	if _, role := firstSet("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI"); role != "" {
		return []credentials.Provider{env, &credentials.IAM{}, file}
	}
	if off, _ := strconv.ParseBool(os.Getenv("AWS_EC2_METADATA_DISABLED")); off {
		return []credentials.Provider{env, file}
	}
	return []credentials.Provider{env, file, &credentials.IAM{}}
}

// Retrieve returns the first credentials that there are.
func (i *identity) Retrieve() (credentials.Value, error) { return i.RetrieveWithCredContext(nil) }

// IsExpired reports whether credentials must be fetched.
func (i *identity) IsExpired() bool { return i.used == nil || i.used.IsExpired() }

// failed classifies an error of the storage, and names the object.
func (s *s3) failed(ctx context.Context, name string, err error) error {
	if its, ok := errors.AsType[local](err); ok {
		return its.error
	}
	if err == nil || isLocal(err) || isNamed(err) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	cause := unwrapped(err)
	e := &Error{Address: s.address, Object: name, Endpoint: s.endpoint, Cause: cause, kind: ErrUnavailable,
		Reason: redacted(strings.Join(strings.Fields(cause.Error()), " "))}
	if is, ok := errors.AsType[minio.ErrorResponse](err); ok {
		e.Status, e.Code = is.StatusCode, is.Code
		if strings.HasPrefix(e.Code, strconv.Itoa(e.Status)) { // the status itself: no reply of S3
			e.Code = ""
		}
		if is.Message == is.Code {
			is.Message = "it gives no reason"
		}
		e.Reason = redacted(strings.TrimSpace(e.Code + " " + strings.Join(strings.Fields(is.Message), " ")))
	}
	e.kind = e.means(err)
	return e
}
