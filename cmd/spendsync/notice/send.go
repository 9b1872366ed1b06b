package notice

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"

	"spendsync/extract/outbound"
)

// maxReply is larger than the reply of any receiver.
const maxReply = 1 << 20

// send sends a request up to three times, until the receiver accepts it. Refusals (4xx except 429) and redirects are
// final. Errors show only the scheme and host of the address.
func send(ctx context.Context, method string, to *url.URL, body []byte) error {
	client := outbound.Client(outbound.Options{MaxBody: maxReply}, 0)
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = 200 * time.Millisecond
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		last = sendOnce(ctx, client, method, to, body)
		return struct{}{}, last
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(3))
	if err != nil && last != nil { // even if ctx has ended, return the error of the last attempt: it names the receiver
		return last
	}
	return err
}

func sendOnce(ctx context.Context, client *http.Client, method string, to *url.URL, body []byte) error {
	origin := to.Scheme + "://" + to.Host
	r, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(fmt.Errorf("%s: %w", origin, outbound.WithoutURL(err)))
	}
	r.Header.Set("User-Agent", "spendsync")
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%s: %w", origin, outbound.WithoutURL(err))
	}
	defer resp.Body.Close()
	// Read the body to its end, so that the connection can be reused.
	_, _ = io.Copy(io.Discard, resp.Body)
	err = fmt.Errorf("%s: status %d", origin, resp.StatusCode)
	switch code := resp.StatusCode; {
	case code < 300:
		return nil
	case code < 400:
		return backoff.Permanent(fmt.Errorf("%w, a redirect, which is not followed", err))
	case code < 500 && code != http.StatusTooManyRequests:
		return backoff.Permanent(err)
	}
	return err
}

// Beat tells a monitoring service that a run starts (signal "start") or ended (signal is the exit code). The address is
// URL/start, URL for exit code 0, and URL/CODE for other exit codes, as https://healthchecks.io/docs/http_api/ defines.
// If the URL is nil, Beat does nothing.
func Beat(ctx context.Context, to *url.URL, signal string) error {
	if to == nil {
		return nil
	}
	if signal != "0" {
		to = to.JoinPath(signal)
	}
	return send(ctx, http.MethodGet, to, nil)
}
