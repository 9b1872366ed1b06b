// Package fetch downloads what a client names: an image, or the payload of a broadcast. It asks public addresses only,
// so that a URL can't make the service ask its own neighbors.
package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// FetchTime is how long a download may take, all in all.
const FetchTime = 10 * time.Second

// Fetcher downloads files from public addresses, or from those that a test allows.
type Fetcher struct {
	client *http.Client
	Time   time.Duration // at most, for one file
}

func New(certificates *tls.Config, allowed func(netip.Addr) bool) *Fetcher {
	if allowed == nil {
		allowed = func(a netip.Addr) bool { return a.IsGlobalUnicast() && !a.IsPrivate() }
	}
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err == nil && !allowed(to.Addr().Unmap()) {
			err = errors.New("the host has no public address")
		}
		return err
	}}
	return &Fetcher{Time: FetchTime, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: certificates.Clone(),
			DisableKeepAlives: true},
	}}
}

// Fetch gets a file once. Redirects are not followed, and no proxy is used.
func (f *Fetcher) Fetch(ctx context.Context, from string, most int64, schemes ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, f.Time)
	defer cancel()
	u, err := url.Parse(from)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" || u.User != nil {
		return nil, fmt.Errorf("expected a public %s URL", strings.Join(schemes, " or "))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the download failed: %w", errors.Unwrap(err)) // without the URL
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the download was answered with status %d", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the download failed: %w", err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("the file has more than %d bytes", most)
	}
	return data, nil
}
