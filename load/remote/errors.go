package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"

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
	// ErrOlder reports that the bucket has a newer generation than the store that is pushed, or a store a
	// newer one than the bucket that is pulled.
	ErrOlder = errors.New("it would replace a newer generation")
	// ErrOtherHistory reports that a store does not continue the history in the bucket.
	ErrOtherHistory = errors.New("it would replace another history")
	// ErrNoGeneration reports that the bucket lacks the generation that was asked for.
	ErrNoGeneration = errors.New("the bucket does not have it")

	errNotFound = errors.New("it is not there")
	errSame     = errors.New("it has not changed")
	errChanged  = errors.New("another push has changed it")
)

// failed classifies an error of the storage, and names the object.
func (b *Bucket) failed(ctx context.Context, name string, err error) error {
	if err == nil || errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrDamaged) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	kind := ErrUnavailable
	if b.dir != "" {
		err = durable.Storage(unwrapped(err))
		kind = durable.ErrStorage
	}
	var response *awshttp.ResponseError
	status := 0
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	code := errorCode(err)
	switch {
	case errors.Is(err, outbound.ErrRefused):
		kind = ErrAddress
	case code == "NoSuchBucket":
		kind = ErrAddress
	case status >= 300 && status < 400 && status != http.StatusNotModified:
		return fmt.Errorf("%s: the storage answers %d, a redirect, which is not followed: the region or the endpoint "+
			"is not the bucket's: %w", name, status, ErrAddress)
	case gcerrors.Code(err) == gcerrors.NotFound, errors.Is(err, os.ErrNotExist), status == http.StatusNotFound:
		kind = errNotFound
	case status == http.StatusPreconditionFailed, status == http.StatusConflict,
		gcerrors.Code(err) == gcerrors.FailedPrecondition:
		kind = errChanged
	case status == http.StatusForbidden, status == http.StatusUnauthorized, lacksCredentials(err):
		kind = ErrDenied
	case status == http.StatusInsufficientStorage, code == "XMinioStorageFull", code == "QuotaExceeded":
		kind = durable.ErrStorage
	case status == http.StatusNotModified:
		kind = errSame
	}
	return &storageError{name, b.redacted(reason(err)), kind}
}

// storageError is an error of the storage as a person reads it.
type storageError struct {
	name, what string
	kind       error
}

func (e *storageError) Error() string {
	switch e.kind {
	case ErrUnavailable, ErrDenied, durable.ErrStorage:
		return fmt.Sprintf("%s: %s: %s", e.name, e.what, e.kind)
	}
	return e.name + ": " + e.what
}

func (e *storageError) Unwrap() error { return e.kind }

// reason returns the shortest text of an error that names the cause.
func reason(err error) string {
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
	var op *smithy.OperationError
	switch {
	case errors.As(err, &path):
		return path
	case errors.As(err, &link):
		return link
	case errors.As(err, &op):
		return op.Unwrap()
	}
	return err
}

func errorCode(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// lacksCredentials reports whether the SDK found no credentials: it has no type for that.
func lacksCredentials(err error) bool {
	text := err.Error()
	return strings.Contains(text, "get credentials:") || strings.Contains(text, "failed to refresh cached credentials")
}

// redacted takes the secrets of the SDK's variables out of a text: a storage may answer anything.
func (b *Bucket) redacted(text string) string {
	var pairs []string
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"} {
		if secret := os.Getenv(name); len(secret) > 3 {
			pairs = append(pairs, secret, "[redacted]")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
