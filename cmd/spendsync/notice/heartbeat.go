package notice

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// patience limits what the start of a run costs: it is reported while the run works.
const patience = 5 * time.Second

// Heartbeat reports the start and the end of a run in the manner of healthchecks: URL/start, then
// URL for success or URL/CODE for an exit code that is not 0 (https://healthchecks.io/docs/http_api/).
// The parameter rid is the same for both, so that two runs at once are told apart. A nil
// Heartbeat reports nothing.
type Heartbeat struct {
	url     *url.URL
	client  *http.Client
	started chan error // nil: the start was not reported
}

// NewHeartbeat returns the heartbeat of the run with an ID that is a ULID; other IDs are left out.
func NewHeartbeat(to *url.URL, runID string) *Heartbeat {
	u := *to
	if id, err := ulid.Parse(runID); err == nil {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&rid="+uuidOf(id), "&")
	}
	return &Heartbeat{url: &u, client: newClient()}
}

// Start reports the start, and returns at once.
func (h *Heartbeat) Start(ctx context.Context) {
	if h == nil {
		return
	}
	h.started = make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		h.started <- h.ping(ctx, "start")
	}()
}

// End reports the exit code, after the start has arrived or failed: the service takes the later of
// two signals for the state of the run. The error is of the last signal that failed.
func (h *Heartbeat) End(ctx context.Context, code int) error {
	if h == nil {
		return nil
	}
	var started error
	if h.started != nil {
		select {
		case started = <-h.started:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	signal := ""
	if code != 0 {
		signal = strconv.Itoa(code)
	}
	if err := h.ping(ctx, signal); err != nil {
		return err
	}
	return started
}

func (h *Heartbeat) ping(ctx context.Context, signal string) error {
	u := *h.url
	if signal != "" {
		u.RawPath, u.Path = "", strings.TrimSuffix(u.Path, "/")+"/"+signal
	}
	return send(ctx, h.client, func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	})
}
