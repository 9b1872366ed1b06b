package lake

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"

	"spendsync/extract/outbound"
)

// maxCatalogReply exceeds any reply of a catalog: the metadata of a table with its snapshots.
const maxCatalogReply = 256 << 20

// catalogTransport is the transport to the catalog and to the server of OAuth2. Requests carry the
// token or the client secret, so no other host gets any: neither by a redirect nor because the
// configuration that the catalog serves names one.
func (o Options) catalogTransport() *outbound.Transport {
	var hosts []*url.URL
	for _, address := range []string{o.Catalog, o.OAuthURL} {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			hosts = append(hosts, u)
		}
	}
	return outbound.New(outbound.Options{MaxBody: maxCatalogReply, Hosts: hosts})
}

// storageConfig is the configuration of the AWS SDK with our client, which also fetches the SDK's
// credentials (STS, SSO, metadata services). The SDK's own client follows redirects.
func (o Options) storageConfig(ctx context.Context) (aws.Config, error) {
	roots, err := o.roots()
	if err != nil {
		return aws.Config{}, err
	}
	limits := outbound.Options{RequireTLS: !o.AllowHTTP, TLS: roots}
	opts := []func(*config.LoadOptions) error{config.WithHTTPClient(outbound.Client(limits, 0)),
		config.WithLogger(logging.Nop{})} // or the SDK writes warnings to stderr, among the lines of JSON
	if o.Region != "" {
		opts = append(opts, config.WithRegion(o.Region))
	}
	if o.AccessKey != "" {
		opts = append(opts, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(o.AccessKey,
			o.SecretKey, "")))
	}
	// The SDK would read the variable itself, and then insist on a client of its own.
	if err := os.Unsetenv("AWS_CA_BUNDLE"); err != nil {
		return aws.Config{}, err
	}
	c, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("%w: AWS configuration: %w", ErrDenied, err)
	}
	return c, nil
}

// roots are the certificates that object storage is trusted by; nil: the system's.
func (o Options) roots() (*tls.Config, error) {
	if o.CABundle == nil {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(o.CABundle) {
		return nil, fmt.Errorf("%w: AWS_CA_BUNDLE holds no certificate", ErrDenied)
	}
	return &tls.Config{RootCAs: roots}, nil
}

// checkURL refuses addresses that would show secrets, in themselves or on the way.
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
