package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	"gocloud.dev/blob"
	"golang.org/x/oauth2"

	"spendsync/load/clouds"
)

// The library opens buckets of Google and Azure with HTTP clients and credentials of its own, and sends both wherever
// the catalog says. load/clouds opens them with our clients instead.

func (o Options) clouds() (*clouds.Clouds, error) {
	roots, err := o.roots()
	if err != nil {
		return nil, err
	}
	c, err := clouds.New(clouds.Options{GoogleEndpoint: o.GCSEndpoint, GoogleKey: o.GoogleKey,
		AzureConnection: o.AzureConnection, AzureTenant: o.AzureTenant, AzureClient: o.AzureClient,
		AzureSecret: o.AzureSecret, AzureTokenFile: o.AzureTokenFile, AllowHTTP: o.AllowHTTP, TLS: roots})
	return c, err
}

// ofClouds gives an error of another package its name here.
func ofClouds(err error) error {
	for is, means := range map[error]error{clouds.ErrDenied: ErrDenied, clouds.ErrElsewhere: ErrElsewhere} {
		if errors.Is(err, is) {
			return fmt.Errorf("%w: %s", means, strings.TrimPrefix(err.Error(), is.Error()+": "))
		}
	}
	return err
}

// cloudsKey is the key of the clouds in the context that a table is opened with.
type cloudsKey struct{}

func init() {
	open := map[string]func(context.Context, *clouds.Clouds, *url.URL, map[string]string) (*blob.Bucket, error){
		"gs": openGoogle, "abfs": openAzure, "abfss": openAzure, "wasb": openAzure, "wasbs": openAzure}
	for scheme, bucket := range open {
		iceio.Register(scheme, func(ctx context.Context, at *url.URL, props map[string]string) (iceio.IO, error) {
			c, ok := ctx.Value(cloudsKey{}).(*clouds.Clouds)
			if !ok {
				return nil, fmt.Errorf("%w: %s was opened without the clients of the lake", ErrForeign, at.Redacted())
			}
			b, err := bucket(ctx, c, at, props)
			if errors.Is(err, clouds.ErrAddress) {
				return nil, fmt.Errorf("%w: %w", ErrForeign, err)
			} else if err != nil {
				return nil, ofClouds(err)
			}
			authority := at.Host
			if at.User != nil {
				authority = at.User.Username() + "@" + at.Host
			}
			return blobfs.New(ctx, b, blobfs.DefaultObjectLocationExtractor(authority, scheme)), nil
		})
	}
}

// openGoogle opens the bucket of gs://bucket/...; a token that the catalog vends takes precedence.
func openGoogle(ctx context.Context, c *clouds.Clouds, at *url.URL, props map[string]string) (*blob.Bucket, error) {
	var token *oauth2.Token
	if vended := props[iceio.GCSOAuthToken]; vended != "" {
		token = &oauth2.Token{AccessToken: vended}
		if ms, err := strconv.ParseInt(props[iceio.GCSOAuthExpiresAt], 10, 64); err == nil {
			token.Expiry = time.UnixMilli(ms)
		}
	}
	return c.Google(ctx, at.Host, token)
}

// openAzure opens the container of abfss://container@account.dfs.core.windows.net/...; a SAS that the catalog vends
// takes precedence.
func openAzure(ctx context.Context, c *clouds.Clouds, at *url.URL, props map[string]string) (*blob.Bucket, error) {
	host := strings.ToLower(at.Hostname())
	return c.AzureAt(ctx, host, at.User.Username(), props[iceio.ADLSSasTokenPrefix+host])
}

// blobs is what the library writes the objects of a bucket with.
type blobs interface {
	NewWriter(ctx context.Context, path string, overwrite bool, o *blob.WriterOptions) (*blobfs.Writer, error)
}

// writeBuffer is the memory of one object that is being written: a larger one takes several requests. It is the least
// that S3 takes.
const writeBuffer = 5 << 20

// put writes an object. What can't be read to its end becomes none.
func put(ctx context.Context, to iceio.WriteFileIO, object string, from io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	var w iceio.FileWriter
	var err error
	if b, ok := to.(blobs); ok {
		w, err = b.NewWriter(ctx, object, true, &blob.WriterOptions{BufferSize: writeBuffer, MaxConcurrency: 1,
			ContentType: "application/octet-stream"})
	} else {
		w, err = to.Create(object)
	}
	if err != nil {
		return err
	}
	if _, err = w.ReadFrom(from); err != nil {
		cancel()
	}
	return errors.Join(err, w.Close())
}
