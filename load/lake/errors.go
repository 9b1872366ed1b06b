package lake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/apache/iceberg-go/catalog/rest"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/gcerrors"

	"spendsync/extract/outbound"
	"spendsync/load/clouds"
	"spendsync/load/durable"
)

// Reasons why the lake cannot follow a store. In each case the store is untouched, and the lake is
// unchanged.
var (
	// ErrNewer reports that a newer version of spendsync wrote the tables of the lake.
	ErrNewer = durable.ErrNewer
	// ErrAhead reports that the lake has a generation of an account that the store lacks.
	ErrAhead = errors.New("the lake is ahead of the store")
	// ErrShrink reports that the lake has rows that the store lacks.
	ErrShrink = errors.New("the lake has what the store lacks")
	// ErrForeign reports that a table differs from the one that spendsync made.
	ErrForeign = errors.New("the table is not as spendsync made it")
	// ErrDenied reports that the catalog or the object storage refused our credentials.
	ErrDenied = errors.New("the lake refuses the credentials")
	// ErrRejected reports that the catalog refused a request for good: see [RefusedError].
	ErrRejected = errors.New("the catalog refuses a request")
	// ErrUnreachable reports that the catalog or the object storage failed a request.
	ErrUnreachable = errors.New("the lake can't be reached or keeps failing")
	// ErrElsewhere reports that a reply leads to a host that must not get our credentials.
	ErrElsewhere = errors.New("the catalog or the object storage leads elsewhere")
	// ErrWrongURL reports an address that requests must not be sent to.
	ErrWrongURL = clouds.ErrAddress
)

// remote gives an error of the catalog or the object storage its meaning.
func remote(what string, err error) error {
	if refused, ok := errors.AsType[clouds.Refusal](err); ok {
		err = ofClouds(refused)
		if errors.Is(err, ErrDenied) || errors.Is(err, ErrElsewhere) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	kind := ErrUnreachable
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrUnreachable), errors.Is(err, ErrDenied), errors.Is(err, ErrForeign),
		errors.Is(err, ErrElsewhere):
		return err
	case errors.Is(err, ErrRejected):
		return fmt.Errorf("%s: %w", what, rejection(err))
	case strings.Contains(err.Error(), outbound.ErrRefused.Error()):
		kind = ErrElsewhere // by its text: iceberg-go does not wrap the errors of OAuth2
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", what, context.Canceled)
	case errors.Is(err, rest.ErrUnauthorized), errors.Is(err, rest.ErrForbidden),
		errors.Is(err, rest.ErrAuthorizationExpired), errors.Is(err, rest.ErrOAuthError),
		gcerrors.Code(err) == gcerrors.PermissionDenied, isRefusal(err), isUnauthorized(err):
		kind = ErrDenied
	}
	return fmt.Errorf("%s: %w: %w", what, kind, briefly(err))
}

// rejection is the catalog's refusal alone, without the address that the HTTP client adds.
func rejection(err error) error {
	if said, ok := errors.AsType[*RefusedError](err); ok {
		return said
	}
	return err
}

// isRefusal reports whether S3 itself refused the credentials, or a signature made with them.
func isRefusal(err error) bool {
	reply, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && (reply.HTTPStatusCode() == http.StatusForbidden || reply.HTTPStatusCode() == http.StatusUnauthorized)
}

// isUnauthorized reports whether Google or Azure did not accept a token.
func isUnauthorized(err error) bool {
	status, _, _ := clouds.Answer(err)
	return status == http.StatusUnauthorized
}

// briefly is an error of the storage in one line: Azure's are pages.
func briefly(err error) error {
	if status, code, says := clouds.Answer(err); status != 0 {
		return fmt.Errorf("%d %s: %s", status, code, says)
	}
	return err
}
