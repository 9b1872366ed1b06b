package lake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/gcerrors"

	"spendsync/extract/outbound"
	"spendsync/load/durable"
)

// Errors of this package. In each case the store is untouched. The lake is unchanged, unless the error came during a
// commit: then the commit may have happened.
var (
	// ErrNewer reports that a newer version of spendsync wrote the tables of the lake.
	ErrNewer = durable.ErrNewer
	// ErrAhead reports that the store is older than the lake: the lake has a newer generation of an account.
	ErrAhead = errors.New("the lake is ahead of the store")
	// ErrShrink reports that [Lake.Follow] would delete days or rows that the lake has and the store lacks.
	ErrShrink = errors.New("the lake has what the store lacks")
	// ErrForeign reports that a table of the lake is not as spendsync makes it. For example, another program has
	// changed the columns or the partition of the table.
	ErrForeign = errors.New("the table is not as spendsync made it")
	// ErrDenied reports that the catalog or the object storage refused our credentials.
	ErrDenied = errors.New("the lake refuses the credentials")
	// ErrRejected reports that the catalog refused a request, and will refuse the same request again.
	ErrRejected = errors.New("the catalog refuses a request")
	// ErrUnreachable reports that the catalog or the object storage failed a request.
	ErrUnreachable = errors.New("the lake can't be reached or keeps failing")
	// ErrElsewhere reports that a redirect or the catalog's configuration names a host that must not get our
	// credentials.
	ErrElsewhere = errors.New("the catalog or the object storage leads elsewhere")
	// ErrWrongURL reports an address that requests must not be sent to.
	ErrWrongURL = errors.New("not an address that requests may be sent to")
	// ErrDiffers reports that the lake and the store differ.
	ErrDiffers = errors.New("the lake differs from the store")
)

// remote wraps an error of the catalog or the object storage, and adds the error of this package that matches, for
// example [ErrDenied]. If err already wraps such an error, it is returned unchanged.
func remote(what string, err error) error {
	if err == nil {
		return nil
	}
	for _, meaning := range []error{ErrUnreachable, ErrDenied, ErrForeign, ErrElsewhere, ErrRejected} {
		if errors.Is(err, meaning) {
			return err
		}
	}
	return fmt.Errorf("%s: %w: %w", what, meaningOf(err), err)
}

func meaningOf(err error) error {
	isAny := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	switch {
	case strings.Contains(err.Error(), outbound.ErrRefused.Error()):
		return ErrElsewhere // compared as text, because iceberg-go does not wrap OAuth2 errors
	case isAny(context.Canceled):
		return context.Canceled
	case isAny(rest.ErrUnauthorized, rest.ErrForbidden, rest.ErrAuthorizationExpired, rest.ErrOAuthError),
		gcerrors.Code(err) == gcerrors.PermissionDenied, isRefusal(err):
		return ErrDenied
	case isAny(rest.ErrServiceUnavailable, rest.ErrServerError, rest.ErrCommitFailed, rest.ErrCommitStateUnknown,
		errBusy), strings.Contains(err.Error(), "error decoding json payload"): // the reply was cut off
		return ErrUnreachable
	case isAny(rest.ErrRESTError, iceberg.ErrNotImplemented, rest.ErrEndpointNotSupported,
		icebergcatalog.ErrNoSuchTable, icebergcatalog.ErrNoSuchNamespace):
		return ErrRejected
	}
	return ErrUnreachable
}

// isRefusal reports whether S3 refused the credentials or the signature of a request.
func isRefusal(err error) bool {
	reply, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && (reply.HTTPStatusCode() == http.StatusForbidden || reply.HTTPStatusCode() == http.StatusUnauthorized)
}

// errBusy reports that the catalog answered 429. The next run tries again.
var errBusy = errors.New("429, too many requests")

// busy is a transport that returns [errBusy] for a 429, which iceberg-go does not distinguish from other refusals.
type busy struct{ http.RoundTripper }

func (b busy) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := b.RoundTripper.RoundTrip(r)
	if err == nil && reply.StatusCode == http.StatusTooManyRequests {
		_ = reply.Body.Close()
		return nil, errBusy
	}
	return reply, err
}

// mayBeDone reports whether a commit may have happened despite its error, because only the reply was lost.
func mayBeDone(ctx context.Context, err error) bool {
	_, cut := errors.AsType[*url.Error](err)
	cut = cut && ctx.Err() == nil && !errors.Is(err, errBusy) &&
		!strings.Contains(err.Error(), outbound.ErrRefused.Error())
	return cut || errors.Is(err, rest.ErrCommitStateUnknown)
}
