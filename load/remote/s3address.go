package remote

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"

	"spendsync/extract/outbound"
)

// server returns the URL of the server, and sets s.endpoint.
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
	at, err := outbound.ParseURL(set)
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

// lookupOf returns where the URL of an object names the bucket: in the host or in the path. The default is the host for
// Amazon, Google and Alibaba, and the path for other servers.
func lookupOf(q url.Values) (minio.BucketLookupType, error) {
	if !q.Has("use_path_style") {
		return minio.BucketLookupAuto, nil
	}
	inPath, err := strconv.ParseBool(q.Get("use_path_style"))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: use_path_style is neither true nor false", ErrAddress)
	case inPath:
		return minio.BucketLookupPath, nil
	}
	return minio.BucketLookupDNS, nil
}

// encryptionOf returns the server-side encryption for written objects, which a bucket's policy may require: with
// Amazon's keys, or with a KMS key.
func encryptionOf(q url.Values) (encrypt.ServerSide, error) {
	kind, key := q.Get("sse"), q.Get("sse_key")
	switch {
	case kind == "aws:kms":
		return encrypt.NewSSEKMS(key, nil)
	case key != "":
		return nil, fmt.Errorf("%w: sse_key needs sse=aws:kms", ErrAddress)
	case kind == "AES256":
		return encrypt.NewSSE(), nil
	case kind != "":
		return nil, fmt.Errorf("%w: sse=%s is neither AES256 nor aws:kms", ErrAddress, kind)
	}
	return nil, nil
}

// identityOf returns the sources of credentials, in the order of minio: the variables, the shared file, and the role of
// a web identity, a container or a machine.
func identityOf(google bool) *credentials.Credentials {
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	_, role := firstSet("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI")
	isOff, _ := strconv.ParseBool(os.Getenv("AWS_EC2_METADATA_DISABLED"))
	if !google && (role != "" || !isOff) {
		chain = append(chain, &credentials.IAM{})
	}
	return credentials.NewChainCredentials(chain)
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
