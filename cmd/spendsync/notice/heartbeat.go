package notice

import (
	"context"
	"net/http"
	"net/url"
)

// Beat reports the start of a run, "start", or its exit code in the manner of healthchecks: URL/start, then URL for
// success or URL/CODE for an exit code that is not 0 (https://healthchecks.io/docs/http_api/). Without a URL it reports
// nothing.
func Beat(ctx context.Context, to *url.URL, signal string) error {
	if to == nil {
		return nil
	}
	if signal != "0" {
		to = to.JoinPath(signal)
	}
	return send(ctx, http.MethodGet, to, nil)
}
