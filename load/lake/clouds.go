package lake

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	"gocloud.dev/blob"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"spendsync/extract/outbound"
)

// The library opens buckets of Google and Azure with HTTP clients and credentials of its own, and sends both wherever
// the catalog says. The code here and in gcs.go and azure.go opens them with our clients instead, which know the host
// that credentials are for, and gives the replies of the storage their meaning.

// clouds are the clients of object storage besides S3. Each fetches its credentials when the first table needs them.
type clouds struct {
	options Options
	tls     *tls.Config   // nil: the system's certificates
	account *azureAccount // of the connection string; nil: there is none
	google  func() (oauth2.TokenSource, error)
	azure   func() (azcore.TokenCredential, error)
}

func (o Options) clouds() (*clouds, error) {
	roots, err := o.roots()
	if err != nil {
		return nil, err
	}
	c := &clouds{options: o, tls: roots}
	if o.AzureConnection != "" {
		if c.account, err = parseConnection(o.AzureConnection, o.AllowHTTP); err != nil {
			return nil, err
		}
	}
	c.google, c.azure = sync.OnceValues(c.googleTokens), sync.OnceValues(c.azureIdentity)
	return c, nil
}

// cloudsKey is the key of the clouds in the context that a table is opened with.
type cloudsKey struct{}

func init() {
	open := map[string]func(*clouds, context.Context, *url.URL, map[string]string) (*blob.Bucket, error){
		"gs": (*clouds).openGoogle, "abfs": (*clouds).openAzure, "abfss": (*clouds).openAzure,
		"wasb": (*clouds).openAzure, "wasbs": (*clouds).openAzure}
	for scheme, bucket := range open {
		iceio.Register(scheme, func(ctx context.Context, at *url.URL, props map[string]string) (iceio.IO, error) {
			c, ok := ctx.Value(cloudsKey{}).(*clouds)
			if !ok {
				return nil, fmt.Errorf("%w: %s was opened without the clients of the lake", ErrForeign, at.Redacted())
			}
			b, err := bucket(c, ctx, at, props)
			if err != nil {
				return nil, err
			}
			authority := at.Host
			if at.User != nil {
				authority = at.User.Username() + "@" + at.Host
			}
			return cloudFiles{blobfs.New(ctx, b, blobfs.DefaultObjectLocationExtractor(authority, scheme)), ctx}, nil
		})
	}
}

// writeBuffer is the memory of one object that is being written: a larger one takes several requests.
const writeBuffer = 4 << 20

// cloudFiles are the objects of a bucket.
type cloudFiles struct {
	*blobfs.FileIO
	ctx context.Context
}

// Create begins an object.
func (f cloudFiles) Create(name string) (iceio.FileWriter, error) {
	ctx, cancel := context.WithCancel(f.ctx)
	w, err := f.NewWriter(ctx, name, true, &blob.WriterOptions{BufferSize: writeBuffer, MaxConcurrency: 1,
		ContentType: "application/octet-stream"})
	if err != nil {
		cancel()
		return nil, err
	}
	return cloudWriter{w, cancel}, nil
}

// cloudWriter writes an object. What can't be read to its end becomes none.
type cloudWriter struct {
	*blobfs.Writer
	cancel context.CancelFunc
}

// ReadFrom writes all that a reader has.
func (w cloudWriter) ReadFrom(r io.Reader) (int64, error) {
	n, err := w.Writer.ReadFrom(r)
	if err != nil {
		w.cancel()
	}
	return n, err
}

// Close finishes the object.
func (w cloudWriter) Close() error {
	defer w.cancel()
	return w.Writer.Close()
}

// transport is a transport to the given hosts alone; none: to any that the operator's variables name.
func (c *clouds) transport(maxBody int64, hosts ...*url.URL) storageReplies {
	return storageReplies{outbound.New(outbound.Options{RequireTLS: !c.options.AllowHTTP, TLS: c.tls, MaxBody: maxBody,
		Hosts: hosts})}
}

// storageReplies is a transport to an object storage, or to what issues tokens for it, that gives replies their
// meaning before the libraries do: to gcsblob 403 means that an object is not there, to azureblob an unknown host does.
type storageReplies struct{ http.RoundTripper }

// RoundTrip sends a request. It follows no redirect.
func (t storageReplies) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := t.RoundTripper.RoundTrip(r)
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return nil, fmt.Errorf("DNS has no address of %s (timeout: %t)", unknown.Name, unknown.IsTimeout)
	}
	switch {
	case errors.Is(err, outbound.ErrRefused):
		return nil, lastingError{ErrElsewhere, err.Error()}
	case err != nil:
		return nil, err
	case reply.StatusCode == http.StatusForbidden:
		body, _ := io.ReadAll(io.LimitReader(reply.Body, maxRefusal))
		_, says := textOf(body)
		if code := reply.Header.Get("X-Ms-Error-Code"); code != "" {
			says = code
		}
		_ = reply.Body.Close()
		return nil, lastingError{ErrDenied, fmt.Sprintf("%s %s%s: 403: %s", r.Method, r.URL.Host, r.URL.Path, says)}
	case reply.StatusCode >= 300 && reply.StatusCode < 400 && reply.Header.Get("Location") != "":
		_ = reply.Body.Close()
		to, err := reply.Location()
		if err != nil {
			to = &url.URL{}
		}
		return nil, lastingError{ErrElsewhere, fmt.Sprintf("%s redirects to %s://%s, which is not followed; if that "+
			"address is right, configure it", r.URL.Host, to.Scheme, to.Host)}
	}
	return reply, nil
}

// Do sends a request for the libraries of Azure. An http.Client would put the address into its errors, and a SAS is
// part of the address.
func (t storageReplies) Do(r *http.Request) (*http.Response, error) { return t.RoundTrip(r) }

// lastingError is an error of which the libraries must not try the request again.
type lastingError struct {
	kind error
	says string
}

func (e lastingError) Error() string { return e.kind.Error() + ": " + e.says }
func (e lastingError) Unwrap() error { return e.kind }

// NonRetriable marks the error for the libraries of Azure.
func (e lastingError) NonRetriable() {}

// lasting finds our own error in one of the libraries that fetch tokens, by its text: they do not wrap it.
func lasting(err error) error {
	for _, kind := range []error{ErrDenied, ErrElsewhere} {
		if err != nil && strings.Contains(err.Error(), kind.Error()) {
			_, says, _ := strings.Cut(err.Error(), kind.Error()+": ")
			return lastingError{kind, says}
		}
	}
	return err
}

// isUnauthorized reports whether Google or Azure did not accept a token: every 403 is [ErrDenied] already.
func isUnauthorized(err error) bool {
	if reply, ok := errors.AsType[*googleapi.Error](err); ok {
		return reply.Code == http.StatusUnauthorized
	}
	reply, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && reply.StatusCode == http.StatusUnauthorized
}

// isTokenRefusal reports whether whoever issues tokens refused ours, by the status of its answer.
func isTokenRefusal(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusForbidden
}
