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
	"time"
)

// FetchTime is how long a download may take, all in all. Tests wait less.
const FetchTime = 10 * time.Second

// notPublic are the address ranges that are not public, besides those
// that netip knows: an image_url that leads there would make the service ask its
// own neighbours.
var notPublic = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	"5f00::/16", "fec0::/10",
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

// PublicAddress reports whether an address may be asked for a file.
func PublicAddress(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" || !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() ||
		addr.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

// Fetcher downloads files from public addresses, or from those that a test allows.
type Fetcher struct {
	tls     *tls.Config
	allowed func(netip.Addr) bool
	Time    time.Duration // at most, for one file
}

func New(certificates *tls.Config, allowed func(netip.Addr) bool) *Fetcher {
	return &Fetcher{tls: certificates, allowed: allowed, Time: FetchTime}
}

// Fetch gets a file once. Its host is resolved once; every address must be allowed,
// and the first one is asked, so that a second look-up can't lead elsewhere.
// Redirects are not followed, and no proxy is used.
func (f *Fetcher) Fetch(ctx context.Context, from string, most int64, schemes ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, f.Time)
	defer cancel()
	u, err := url.Parse(from)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" || u.User != nil {
		return nil, fmt.Errorf("expected a public %s URL", strings.Join(schemes, " or "))
	}
	address, err := f.resolve(ctx, u)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, address)
			},
			TLSClientConfig:   f.tls.Clone(),
			DisableKeepAlives: true,
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, errors.New("expected a public https URL")
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the download failed: %w", plainly(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the download was answered with status %d", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the download failed: %w", plainly(err))
	case int64(len(data)) > most:
		return nil, fmt.Errorf("the file has more than %d bytes", most)
	}
	return data, nil
}

// plainly removes the URL from an error, and names a timeout in words.
func plainly(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("it took too long")
	}
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// resolve finds the one address to ask, host and port.
func (f *Fetcher) resolve(ctx context.Context, u *url.URL) (string, error) {
	allowed := f.allowed
	if allowed == nil {
		allowed = PublicAddress
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(addrs) == 0 {
		return "", fmt.Errorf("the host %s is not known", u.Hostname())
	}
	for _, addr := range addrs {
		if !allowed(addr.Unmap()) {
			return "", fmt.Errorf("the host %s has no public address", u.Hostname())
		}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(addrs[0].Unmap().String(), port), nil
}
