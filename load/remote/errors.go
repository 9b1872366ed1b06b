package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"

	"spendsync/extract/outbound"
	"spendsync/load/durable"
)

var (
	// ErrAddress reports that an address is not one of a bucket or folder that exists.
	ErrAddress = errors.New("not the address of a bucket")
	// ErrDenied reports that the storage refused the credentials, or there are none.
	ErrDenied = errors.New("the storage refuses the credentials")
	// ErrUnavailable reports that the storage cannot be reached or keeps failing.
	ErrUnavailable = errors.New("the storage cannot be reached or keeps failing")
	// ErrArchived reports that the storage has moved an object into an archive, from which it must be restored.
	ErrArchived = fmt.Errorf("the storage has archived it: %w", durable.ErrStorage)
	// ErrProtected reports that a lock or a retention of the bucket keeps an object as it is.
	ErrProtected = fmt.Errorf("the storage keeps it as it is: %w", ErrDenied)
	// ErrLacking reports that the storage does not know a request that push and pull need.
	ErrLacking = errors.New("the storage lacks it")
	// ErrFull reports that the storage has no room, or the quota of the bucket is used up.
	ErrFull = fmt.Errorf("the storage is full: %w", durable.ErrStorage)
	// ErrOlder reports that the bucket has a newer generation than the store that is pushed, or a folder a
	// newer one than the bucket that is pulled.
	ErrOlder = errors.New("it would replace a newer generation")
	// ErrOtherHistory reports that a store does not continue the history in the bucket.
	ErrOtherHistory = errors.New("it would replace another history")
	// ErrNoGeneration reports that the bucket lacks the generation that was asked for.
	ErrNoGeneration = errors.New("the bucket does not have it")
	// ErrNothing reports that no push has ended at an address.
	ErrNothing = errors.New("nothing has been pushed there")

	// ErrVanished reports that pushes to an address have ended, and that nothing is there.
	ErrVanished = errors.New("what was pushed there is gone")

	errNotFound  = errors.New("it is not there")
	errChanged   = errors.New("another push has changed it")
	errUnguarded = errors.New("the storage knows no conditional writes")
)

// Error is what the storage answered, or what happened on the way to it.
type Error struct {
	Address string // of the bucket
	Object  string // below its prefix
	// Endpoint names the variable or the option of the address that sets the server. It is empty for a folder.
	Endpoint string
	Status   int    // of the reply; 0: there was none
	Code     string // of S3, such as AccessDenied; may be empty
	Reason   string // what was answered, in the storage's words
	Cause    error  // of a connection that failed

	kind error
}

func (e *Error) Error() string {
	switch e.kind {
	case ErrUnavailable, ErrDenied, ErrFull, ErrLacking, ErrArchived, ErrProtected, durable.ErrStorage:
		return fmt.Sprintf("%s: %s: %s", e.Object, e.Reason, e.kind)
	}
	return strings.TrimPrefix(e.Object+": "+e.Reason, ": ")
}

func (e *Error) Unwrap() []error {
	if e.Endpoint == "" { // the system's own error of a folder
		return []error{e.kind, e.Cause}
	}
	return []error{e.kind}
}

// codes are what the codes of S3 mean, whatever the status: servers differ in that.
var codes = map[string]error{
	"NoSuchBucket": ErrAddress, "InvalidBucketName": ErrAddress, "PermanentRedirect": ErrAddress,
	"AuthorizationHeaderMalformed": ErrAddress, "IllegalLocationConstraintException": ErrAddress,
	"SecondLevelDomainForbidden": ErrAddress,
	"ExpiredToken":               ErrDenied, "InvalidToken": ErrDenied, "TokenRefreshRequired": ErrDenied,
	"InvalidAccessKeyId": ErrDenied, "SignatureDoesNotMatch": ErrDenied, "RequestTimeTooSkewed": ErrDenied,
	"InvalidObjectState": ErrArchived, "ObjectLocked": ErrProtected,
	"QuotaExceeded": ErrFull, "XMinioStorageFull": ErrFull, "XMinioAdminBucketQuotaExceeded": ErrFull,
	"NoSuchKey": errNotFound, "NotFound": errNotFound, "PreconditionFailed": errChanged, "NotImplemented": ErrLacking,
	"XAmzContentSHA256Mismatch": ErrUnavailable, "BadDigest": ErrUnavailable, // spoiled on the way
}

// statuses are what a status means without a known code.
var statuses = map[int]error{
	http.StatusNotFound: errNotFound, http.StatusForbidden: ErrDenied,
	http.StatusUnauthorized: ErrDenied, http.StatusPreconditionFailed: errChanged, http.StatusConflict: errChanged,
	http.StatusInsufficientStorage: ErrFull, http.StatusNotImplemented: ErrLacking,
	http.StatusMethodNotAllowed: ErrLacking,
}

// means returns the kind of an error of S3.
func (e *Error) means(err error) error {
	code, known := codes[e.Code]
	status, byStatus := statuses[e.Status]
	switch {
	case errors.Is(err, outbound.ErrRefused):
		return ErrAddress
	case known:
		return code
	case namesLock.MatchString(e.Reason):
		return ErrProtected
	case byStatus:
		return status
	case e.Status >= 300 && e.Status < 400:
		return ErrAddress
	case e.Status == http.StatusBadRequest && e.Code != "RequestTimeout":
		return ErrLacking
	}
	return ErrUnavailable
}

// namesLock matches the reasons for which an AccessDenied of Amazon, or an InvalidRequest of another server, is no lack
// of rights.
var namesLock = regexp.MustCompile(`(?i)object lock|WORM|retention|legal hold`)

var namesCondition = regexp.MustCompile(`(?i)if-(none-)?match|condition`)

// refusesCondition reports whether the storage refused a request because of its condition, which it does not know.
func (e *Error) refusesCondition() bool {
	return e.kind == ErrLacking && (e.Status == http.StatusNotImplemented || e.Code == "NotImplemented" ||
		namesCondition.MatchString(e.Reason))
}

// redacted takes the secrets of the variables out of a text: a storage may answer anything.
func redacted(text string) string {
	var pairs []string
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"} {
		if secret := os.Getenv(name); len(secret) > 3 {
			pairs = append(pairs, secret, "[redacted]")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
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

// failed classifies an error of the storage, and names the object.
func (s *s3) failed(ctx context.Context, name string, err error) error {
	if err == nil || isLocal(err) || isNamed(err) {
		return outbound.WithoutURL(err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	cause := outbound.WithoutURL(err)
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
	if e.kind = e.means(err); e.kind == ErrDenied && s.isNobody() {
		e.Status, e.Code = 0, ""
	}
	return e
}

// isNobody reports whether there are no credentials, so that requests are sent without.
func (s *s3) isNobody() bool {
	is, err := s.identity.GetWithContext(s.client.CredContext())
	return err == nil && is.AccessKeyID == ""
}
