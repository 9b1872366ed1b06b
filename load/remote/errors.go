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
	// ErrAddress reports that an address is invalid, or that its bucket does not exist.
	ErrAddress = errors.New("not the address of a bucket")
	// ErrDenied reports that the storage refused the credentials, or there are none.
	ErrDenied = errors.New("the storage refuses the credentials")
	// ErrUnavailable reports that the storage cannot be reached or keeps failing.
	ErrUnavailable = errors.New("the storage cannot be reached or keeps failing")
	// ErrArchived reports that an object is in an archive of the storage and must be restored first.
	ErrArchived = fmt.Errorf("the storage has archived it: %w", durable.ErrStorage)
	// ErrProtected reports that a lock or a retention rule of the bucket protects an object against changes.
	ErrProtected = fmt.Errorf("the storage keeps it as it is: %w", ErrDenied)
	// ErrLacking reports that the storage does not support a kind of request that push and pull need.
	ErrLacking = errors.New("the storage lacks it")
	// ErrFull reports that the storage is full, or the quota of the bucket is used up.
	ErrFull = fmt.Errorf("the storage is full: %w", durable.ErrStorage)
	// ErrOlder reports that the destination of a push or a pull has a newer generation than the source.
	ErrOlder = errors.New("it would replace a newer generation")
	// ErrOtherHistory reports that the generation at the destination is not a predecessor of the generation at the
	// source.
	ErrOtherHistory = errors.New("it would replace another history")
	// ErrNoGeneration reports that the bucket lacks the generation that was asked for.
	ErrNoGeneration = errors.New("the bucket does not have it")
	// ErrNothing reports that there is no generation at an address.
	ErrNothing = errors.New("nothing has been pushed there")

	// ErrVanished reports that there is no generation at an address although an earlier push has succeeded.
	ErrVanished = errors.New("what was pushed there is gone")

	errNotFound  = errors.New("it is not there")
	errChanged   = errors.New("another push has changed it")
	errUnguarded = errors.New("the storage knows no conditional writes")
)

// Error is an error of the storage, or of the connection to the storage.
type Error struct {
	Address string // address of the bucket
	Object  string // name of the object, below the prefix
	// Endpoint describes which variable or option determines the server. It is empty for a folder.
	Endpoint string
	Status   int    // HTTP status; 0 if there was no reply
	Code     string // S3's code, for example AccessDenied; may be empty
	Reason   string // the storage's own message
	Cause    error  // the underlying error

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
	if e.Endpoint == "" { // for a folder, callers may look at the system's error
		return []error{e.kind, e.Cause}
	}
	return []error{e.kind}
}

// codes maps S3's error codes to our errors. A code takes precedence over the HTTP status, because servers differ in
// the status.
var codes = map[string]error{
	"NoSuchBucket": ErrAddress, "InvalidBucketName": ErrAddress, "PermanentRedirect": ErrAddress,
	"AuthorizationHeaderMalformed": ErrAddress, "IllegalLocationConstraintException": ErrAddress,
	"SecondLevelDomainForbidden": ErrAddress,
	"ExpiredToken":               ErrDenied, "InvalidToken": ErrDenied, "TokenRefreshRequired": ErrDenied,
	"InvalidAccessKeyId": ErrDenied, "SignatureDoesNotMatch": ErrDenied, "RequestTimeTooSkewed": ErrDenied,
	"InvalidObjectState": ErrArchived, "ObjectLocked": ErrProtected,
	"QuotaExceeded": ErrFull, "XMinioStorageFull": ErrFull, "XMinioAdminBucketQuotaExceeded": ErrFull,
	"NoSuchKey": errNotFound, "NotFound": errNotFound, "PreconditionFailed": errChanged, "NotImplemented": ErrLacking,
	"XAmzContentSHA256Mismatch": ErrUnavailable, "BadDigest": ErrUnavailable, // corrupted in transit
}

// statuses maps HTTP statuses to our errors, for replies without a known code.
var statuses = map[int]error{
	http.StatusNotFound: errNotFound, http.StatusForbidden: ErrDenied,
	http.StatusUnauthorized: ErrDenied, http.StatusPreconditionFailed: errChanged, http.StatusConflict: errChanged,
	http.StatusInsufficientStorage: ErrFull, http.StatusNotImplemented: ErrLacking,
	http.StatusMethodNotAllowed: ErrLacking,
}

// means translates the error e into the error of this package that fits best. The parameter is the error that the S3
// library returned.
func (e *Error) means(err error) error {
	code, hasCode := codes[e.Code]
	status, hasStatus := statuses[e.Status]
	switch {
	case errors.Is(err, outbound.ErrRefused):
		return ErrAddress
	case hasCode:
		return code
	case namesLock.MatchString(e.Reason):
		return ErrProtected
	case hasStatus:
		return status
	case e.Status >= 300 && e.Status < 400:
		return ErrAddress
	case e.Status == http.StatusBadRequest && e.Code != "RequestTimeout":
		return ErrLacking
	}
	return ErrUnavailable
}

// namesLock matches messages about object locks. Such a message has the code AccessDenied at Amazon, and InvalidRequest
// at other servers.
var namesLock = regexp.MustCompile(`(?i)object lock|WORM|retention|legal hold`)

var namesCondition = regexp.MustCompile(`(?i)if-(none-)?match|condition`)

// refusesCondition reports whether the storage refused a request because it does not support conditions.
func (e *Error) refusesCondition() bool {
	return e.kind == ErrLacking && (e.Status == http.StatusNotImplemented || e.Code == "NotImplemented" ||
		namesCondition.MatchString(e.Reason))
}

// redacted replaces the credentials in a text, because a storage might repeat them in a message.
func redacted(text string) string {
	var pairs []string
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"} {
		if secret := os.Getenv(name); len(secret) > 3 {
			pairs = append(pairs, secret, "[redacted]")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// isUntrusted reports whether the server's certificate is not trusted, so that another attempt is pointless.
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
	if reply, ok := errors.AsType[minio.ErrorResponse](err); ok {
		e.Status, e.Code = reply.StatusCode, reply.Code
		if strings.HasPrefix(e.Code, strconv.Itoa(e.Status)) { // the library made this code up; the reply has none
			e.Code = ""
		}
		if reply.Message == reply.Code {
			reply.Message = "it gives no reason"
		}
		e.Reason = redacted(strings.TrimSpace(e.Code + " " + strings.Join(strings.Fields(reply.Message), " ")))
	}
	if e.kind = e.means(err); e.kind == ErrDenied && s.isNobody() {
		e.Status, e.Code = 0, ""
	}
	return e
}

// isNobody reports whether requests are sent without credentials because there are none.
func (s *s3) isNobody() bool {
	creds, err := s.identity.GetWithContext(s.client.CredContext())
	return err == nil && creds.AccessKeyID == ""
}
