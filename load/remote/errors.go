package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"cloud.google.com/go/storage"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"

	"spendsync/extract/outbound"
	"spendsync/load/clouds"
	"spendsync/load/durable"
)

var (
	// ErrAddress reports that an address is not one of a bucket or folder that exists.
	ErrAddress = errors.New("not the address of a bucket")
	// ErrDenied reports that the storage refused the credentials, or there are none.
	ErrDenied = clouds.ErrDenied
	// ErrUnavailable reports that the storage cannot be reached or keeps failing.
	ErrUnavailable = errors.New("the storage cannot be reached or keeps failing")
	// ErrFull reports that the storage has no room, or the quota of the bucket is used up.
	ErrFull = fmt.Errorf("the storage is full: %w", durable.ErrStorage)
	// ErrOlder reports that the bucket has a newer generation than the store that is pushed, or a store a
	// newer one than the bucket that is pulled.
	ErrOlder = errors.New("it would replace a newer generation")
	// ErrOtherHistory reports that a store does not continue the history in the bucket.
	ErrOtherHistory = errors.New("it would replace another history")
	// ErrNoGeneration reports that the bucket lacks the generation that was asked for.
	ErrNoGeneration = errors.New("the bucket does not have it")
	// ErrNothing reports that no push has ended at an address.
	ErrNothing = errors.New("nothing has been pushed there")

	errNotFound = errors.New("it is not there")
	errSame     = errors.New("it has not changed")
	errChanged  = errors.New("another push has changed it")
)

// Error is what the storage answered, or what happened on the way to it.
type Error struct {
	Address string // of the bucket
	Object  string // below its prefix
	// Endpoint is what sets the server: a variable, or an option of the address. Of a folder it is empty.
	Endpoint string
	Status   int    // of the reply; 0: there was none
	Code     string // of S3, such as AccessDenied; may be empty
	Reason   string // what was answered, in the storage's words
	Cause    error  // of a connection that failed

	kind error
}

func (e *Error) Error() string {
	switch e.kind {
	case ErrUnavailable, ErrDenied, ErrFull, durable.ErrStorage:
		return fmt.Sprintf("%s: %s: %s", e.Object, e.Reason, e.kind)
	}
	return e.Object + ": " + e.Reason
}

func (e *Error) Unwrap() []error {
	if e.Endpoint == "" { // the system's own error of a folder
		return []error{e.kind, e.Cause}
	}
	return []error{e.kind}
}

// kinds are what the codes of S3 and Azure mean, whatever the status: servers differ in that.
var kinds = map[string]error{
	"NoSuchBucket": ErrAddress, "InvalidBucketName": ErrAddress, "PermanentRedirect": ErrAddress,
	"AuthorizationHeaderMalformed": ErrAddress, "IllegalLocationConstraintException": ErrAddress,
	"ExpiredToken": ErrDenied, "InvalidToken": ErrDenied, "TokenRefreshRequired": ErrDenied,
	"InvalidAccessKeyId": ErrDenied, "SignatureDoesNotMatch": ErrDenied, "RequestTimeTooSkewed": ErrDenied,
	"ContainerNotFound": ErrAddress, "ContainerDisabled": ErrAddress, "InvalidResourceName": ErrAddress,
	"InvalidAuthenticationInfo": ErrDenied,
	"QuotaExceeded":             ErrFull, "XMinioStorageFull": ErrFull, "XMinioAdminBucketQuotaExceeded": ErrFull,
}

// failed classifies an error of the storage, and names the object.
func (b *Bucket) failed(ctx context.Context, name string, err error) error {
	if err == nil || errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrDamaged) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	if b.dir != "" {
		kind := durable.ErrStorage
		if gcerrors.Code(err) == gcerrors.NotFound || errors.Is(err, os.ErrNotExist) {
			kind = errNotFound
		}
		err = durable.Storage(unwrapped(err))
		return &Error{Address: b.address, Object: name, Reason: reason(err), Cause: err, kind: kind}
	}
	e := &Error{Address: b.address, Object: name, Endpoint: b.endpoint, Cause: unwrapped(err),
		Reason: b.redacted(reason(err)), kind: ErrUnavailable}
	e.Status, e.Code = answer(err)
	known, isKnown := kinds[e.Code]
	switch {
	case errors.Is(err, outbound.ErrRefused), errors.Is(err, clouds.ErrElsewhere):
		e.kind = ErrAddress
	case errors.Is(err, clouds.ErrDenied):
		e.kind = ErrDenied
	case errors.Is(err, storage.ErrBucketNotExist),
		e.Status == http.StatusNotFound && strings.Contains(e.Reason, noGoogleBucket):
		e.kind, e.Code, e.Status = ErrAddress, "NoSuchBucket", http.StatusNotFound
	case isKnown:
		e.kind = known
	case e.Status >= 300 && e.Status < 400 && e.Status != http.StatusNotModified:
		e.kind = ErrAddress
	// Not gcerrors.Code: to gocloud 0.46 every error with 301 in its text, such as a port, is a missing object.
	case e.Status == http.StatusNotFound, e.Code == "NoSuchKey", e.Code == "NotFound":
		e.kind = errNotFound
	case e.Status == http.StatusPreconditionFailed, e.Status == http.StatusConflict, e.Code == "PreconditionFailed":
		e.kind = errChanged
	case e.Status == http.StatusForbidden, e.Status == http.StatusUnauthorized, lacksCredentials(err),
		errors.Is(err, clouds.ErrNoIdentity):
		e.kind = ErrDenied
	case e.Status == http.StatusInsufficientStorage:
		e.kind = ErrFull
	case e.Status == http.StatusNotModified:
		e.kind = errSame
	}
	return e
}

// reason returns the shortest text of an error that names the cause.
func reason(err error) string {
	if refused, ok := errors.AsType[clouds.Refusal](err); ok {
		return refused.Says
	}
	if status, code, says := clouds.Answer(err); status != 0 {
		return strings.TrimSpace(code + " " + says)
	}
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() != "" {
		return strings.TrimSpace(api.ErrorCode() + " " + api.ErrorMessage())
	}
	return strings.Join(strings.Fields(unwrapped(err).Error()), " ")
}

// unwrapped takes off what the libraries add to an error of the system.
func unwrapped(err error) error {
	var path *os.PathError
	var link *os.LinkError
	var request *url.Error
	var op *smithy.OperationError
	switch {
	case errors.As(err, &path):
		return path
	case errors.As(err, &link):
		return link
	case errors.As(err, &request):
		return request.Err
	case errors.As(err, &op):
		return op.Unwrap()
	}
	return err
}

// noGoogleBucket is part of what Google answers about a bucket that does not exist; its code is that of an object.
const noGoogleBucket = "bucket does not exist"

// answer returns the status and the code of the storage's reply; 0: there was none.
func answer(err error) (status int, code string) {
	if status, code, _ = clouds.Answer(err); status != 0 {
		return status, code
	}
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		status = response.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	return status, code
}

// lacksCredentials reports whether the SDK found no credentials: it has no type for that.
func lacksCredentials(err error) bool {
	text := err.Error()
	return strings.Contains(text, "get credentials:") || strings.Contains(text, "failed to refresh cached credentials")
}

// redacted takes the secrets of the variables out of a text: a storage may answer anything.
func (b *Bucket) redacted(text string) string {
	secrets := clouds.Secrets(os.Getenv(azureConnection), os.Getenv(azureSAS))
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", azureKey,
		azureSecret} {
		secrets = append(secrets, os.Getenv(name))
	}
	var pairs []string
	for _, secret := range secrets {
		if len(secret) > 3 {
			pairs = append(pairs, secret, "[redacted]")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
