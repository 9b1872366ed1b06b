package lake

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"

	"spendsync/extract/outbound"
)

// maxCatalogReply is the limit for a reply of the catalog, in bytes. The largest replies in practice, the metadata of a
// table with all snapshots, are far smaller.
const maxCatalogReply = 256 << 20

// catalogTransport returns the transport to the catalog and to the OAuth2 server. Requests contain the token or the
// client secret, so the transport refuses to send a request to any other host, even if a redirect or the catalog's
// configuration names that host.
func (o Options) catalogTransport() *outbound.Transport {
	var hosts []*url.URL
	for _, address := range []string{o.Catalog, o.OAuthURL} {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			hosts = append(hosts, u)
		}
	}
	return outbound.New(outbound.Options{MaxBody: maxCatalogReply, Hosts: hosts})
}

// storageConfig returns the configuration of the AWS SDK. The SDK uses our HTTP client for all requests, including
// those that fetch credentials (STS, SSO, metadata services), because the SDK's own client follows redirects.
func (o Options) storageConfig(ctx context.Context) (aws.Config, error) {
	limits := outbound.Options{RequireTLS: !o.AllowHTTP}
	opts := []func(*config.LoadOptions) error{config.WithHTTPClient(outbound.Client(limits, 0)),
		config.WithLogger(logging.Nop{})} // the SDK's warnings would mix with our messages on stderr
	if o.Region != "" {
		opts = append(opts, config.WithRegion(o.Region))
	}
	if o.AccessKey != "" {
		opts = append(opts, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(o.AccessKey,
			o.SecretKey, "")))
	}
	// If AWS_CA_BUNDLE is set, the SDK accepts only its own HTTP client. Our client already trusts the certificates in
	// that file.
	if err := os.Unsetenv("AWS_CA_BUNDLE"); err != nil {
		return aws.Config{}, err
	}
	c, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("%w: AWS configuration: %w", ErrDenied, err)
	}
	return c, nil
}

// checkURL refuses a malformed address and an address with a user or a password. It accepts http to another machine
// only if allowHTTP is set. It accepts an empty address.
func checkURL(address string, allowHTTP bool) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("%w: it can't be parsed", ErrWrongURL)
	case u.User != nil:
		return fmt.Errorf("%w: it holds a user or a password", ErrWrongURL)
	case u.Host == "", u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%w: %s is not https://host", ErrWrongURL, u.Redacted())
	case u.Scheme == "http" && !allowHTTP && !outbound.IsLoopback(u.Hostname()):
		return fmt.Errorf("%w: %s sends without TLS, which needs SPENDSYNC_ALLOW_HTTP=true", ErrWrongURL, u.Host)
	}
	return nil
}
