package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob/s3blob"

	"spendsync/extract/outbound"
	"spendsync/load/clouds"
)

// openS3 opens a bucket of S3 or of a server that speaks its protocol.
func (b *Bucket) openS3(ctx context.Context, u *url.URL, o Options) error {
	q := u.Query()
	endpoint, setBy := q.Get("endpoint"), "the option endpoint of the address"
	if endpoint == "" {
		endpoint, setBy = firstSet("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
	}
	if b.endpoint = setBy; endpoint == "" {
		b.endpoint = "AWS_REGION"
	}
	var err error
	// A server that is not Amazon's seldom has a name for each bucket.
	pathStyle := endpoint != ""
	for _, value := range []string{os.Getenv("AWS_S3_FORCE_PATH_STYLE"), q.Get("use_path_style")} {
		if value == "" {
			continue
		}
		if pathStyle, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("%w: use_path_style=%s is neither true nor false", ErrAddress, value)
		}
	}
	limits := outbound.Options{RequireTLS: !o.AllowHTTP, HeaderTimeout: o.Patience}
	if limits.TLS, err = clouds.Roots(o.CABundle); err != nil {
		return fmt.Errorf("%w: %w", ErrAddress, err)
	}
	client := outbound.Client(limits, 0)
	client.Transport = counting{client.Transport, &b.traffic}
	opts := []func(*config.LoadOptions) error{config.WithHTTPClient(client), config.WithRetryer(retryer(o.Pause)),
		config.WithLogger(logging.Nop{})} // or the SDK writes warnings to stderr, among the lines of JSON
	for name := range q {
		switch value := q.Get(name); name {
		case "endpoint", "use_path_style":
		case "region":
			opts = append(opts, config.WithRegion(value))
		case "profile":
			opts = append(opts, config.WithSharedConfigProfile(value))
		case "anonymous":
			opts = append(opts, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
		default:
			return fmt.Errorf("%w: it has an unknown option %q; there are region, endpoint, profile, anonymous and "+
				"use_path_style", ErrAddress, name)
		}
	}
	cfg, err := loadConfig(ctx, opts)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrAddress, b.redacted(err.Error()))
	}
	if cfg.Region == "" {
		cfg.Region = "us-east-1" // as S3 itself, for a server that knows no regions
	}
	b.client = s3.NewFromConfig(cfg, func(s *s3.Options) {
		s.UsePathStyle = pathStyle
		if endpoint != "" {
			s.BaseEndpoint = aws.String(endpoint)
		}
		// Every object is compared with its SHA-256.
		s.DisableLogOutputChecksumValidationSkipped = true
		s.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	b.name = u.Host
	if b.blob, err = s3blob.OpenBucket(ctx, b.client, b.name, nil); err != nil {
		return fmt.Errorf("%w: %v", ErrAddress, err)
	}
	return nil
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

func retryer(pause time.Duration) func() aws.Retryer {
	if pause == 0 {
		pause = 20 * time.Second
	}
	return func() aws.Retryer {
		return retry.NewStandard(func(s *retry.StandardOptions) { s.MaxAttempts, s.MaxBackoff = 5, pause })
	}
}

// loadConfig finds credentials, region and endpoint. The SDK would read the variable for certificates
// itself, and then insist on a client of its own, which follows redirects.
func loadConfig(ctx context.Context, opts []func(*config.LoadOptions) error) (cfg aws.Config, err error) {
	loading.Lock()
	defer loading.Unlock()
	if file, ok := os.LookupEnv(caBundle); ok {
		if err := os.Unsetenv(caBundle); err != nil {
			return cfg, err
		}
		defer func() { err = errors.Join(err, os.Setenv(caBundle, file)) }()
	}
	return config.LoadDefaultConfig(ctx, opts...)
}

// counting counts requests.
type counting struct {
	next  http.RoundTripper
	count *traffic
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count.requests.Add(1)
	return c.next.RoundTrip(r)
}
