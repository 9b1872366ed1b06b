package outbound

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// ErrRefused marks a request that was not sent, because its credentials would have reached a
// host that is not meant to have them.
var ErrRefused = errors.New("credentials were not sent")

// ErrTooLarge marks a reply whose body exceeds [Options.MaxBody].
var ErrTooLarge = errors.New("the reply is too large")

// Options limit a client. The zero value is valid.
type Options struct {
	HeaderTimeout time.Duration // longest wait for the headers of a reply; 0: one minute
	MaxBody       int64         // limit of a successful reply, in decompressed bytes; 0: none
	Hosts         []*url.URL    // the only hosts to send to; none: any host
	RequireTLS    bool          // whether to refuse plain http to other machines
}

// maxErrorBody limits the body of a reply with status 300 or higher, because the AWS SDK reads such a body to its end.
const maxErrorBody = 1 << 20

// Transport sends single requests. It is safe for concurrent use.
type Transport struct {
	base    *http.Transport
	options Options
}

// New returns a transport.
func New(o Options) *Transport {
	t := &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			if r.URL.Scheme != "https" {
				return nil, nil
			}
			return http.ProxyFromEnvironment(r)
		},
		OnProxyConnectResponse: refusedByProxy,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted.Load()},
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  cmp.Or(o.HeaderTimeout, time.Minute),
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    16,
		ForceAttemptHTTP2:      true,
	}
	return &Transport{base: t, options: o}
}

// ProxyRefusal is the answer of a proxy that refuses a connection.
type ProxyRefusal struct {
	Status int
	Page   []byte // the beginning of the body; nil if we send the proxy a password, because the body could repeat it
}

// Error returns only the status.
func (e *ProxyRefusal) Error() string {
	return fmt.Sprintf("the proxy answers %d %s", e.Status, http.StatusText(e.Status))
}

func refusedByProxy(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	refusal := &ProxyRefusal{Status: answer.StatusCode}
	if proxy.User != nil {
		return refusal
	}
	read := make(chan []byte, 1)
	go func() { // this goroutine ends with the body, or when the connection is closed
		page, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
		read <- page
	}()
	select {
	case refusal.Page = <-read:
	case <-time.After(time.Second):
	}
	return refusal
}

// trusted are the authorities of the system and of [Trust]; nil: only those of the system.
var trusted atomic.Pointer[x509.CertPool]

// Trust makes all transports created later trust the authorities in a PEM file, in addition to the system's.
func Trust(pem []byte) error {
	pool := trusted.Load()
	if pool == nil {
		system, err := x509.SystemCertPool()
		if err != nil {
			return fmt.Errorf("the system's authorities cannot be read: %w", err)
		}
		pool = system
	}
	pool = pool.Clone()
	if !pool.AppendCertsFromPEM(pem) {
		return errors.New("it holds no certificate; a PEM file has lines -----BEGIN CERTIFICATE-----")
	}
	trusted.Store(pool)
	return nil
}

// Roots returns the trusted authorities for a connection that is not HTTP; nil: those of the system.
func Roots() *x509.CertPool { return trusted.Load() }

// Client returns a client that does not follow redirects: the caller gets the redirecting reply. The timeout covers a
// request and its reply; 0 means no timeout.
func Client(o Options, timeout time.Duration) *http.Client { return Over(New(o), timeout) }

// Over returns a client as [Client] does, but with a round tripper that wraps one of our transports.
func Over(transport http.RoundTripper, timeout time.Duration) *http.Client {
	return &http.Client{Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// RoundTrip sends a request, or returns an [ErrRefused]. If an http.Client follows a redirect, Request.Response is the
// redirecting reply. So RoundTrip can also stop forbidden redirects if the client was made by a library.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.check(r); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limit := t.options.MaxBody
	if resp.StatusCode >= 300 && (limit == 0 || limit > maxErrorBody) {
		limit = maxErrorBody
	}
	if limit > 0 {
		resp.Body = &limited{resp.Body, limit, limit}
	}
	return resp, nil
}

// CloseIdleConnections closes the connections that are kept for further requests.
func (t *Transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

func (t *Transport) check(r *http.Request) error {
	if r.Response != nil {
		if r.Response.Request == nil || !follows(r.Response.Request.URL, r.URL) {
			return fmt.Errorf("%w: the reply redirects to %s, another host; if that address is right, configure it",
				ErrRefused, origin(r.URL))
		}
	}
	hosts := t.options.Hosts
	if len(hosts) > 0 && !slices.ContainsFunc(hosts, func(u *url.URL) bool { return follows(u, r.URL) }) {
		return fmt.Errorf("%w: the reply names %s, another host; if that address is right, configure it", ErrRefused,
			origin(r.URL))
	}
	if t.options.RequireTLS && r.URL.Scheme != "https" && !IsLocal(r.URL.Hostname()) {
		return fmt.Errorf("%w: plain http to %s would show the credentials to everyone on the way", ErrRefused,
			origin(r.URL))
	}
	return nil
}

// follows reports whether credentials for one URL may go to another: same host and port, or the same host over https in
// place of http, each at its default port.
func follows(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	return from.Scheme == to.Scheme && port(from) == port(to) ||
		from.Scheme == "http" && to.Scheme == "https" && port(from) == "80" && port(to) == "443"
}

// ParseURL parses a URL, and refuses one whose port cannot exist. The error does not quote the URL, which may contain a
// secret.
func ParseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("cannot be parsed")
	}
	if n, err := strconv.ParseUint(cmp.Or(u.Port(), "1"), 10, 16); err != nil || n == 0 {
		return nil, errors.New("has a port that is not one of 1 to 65535")
	}
	return u, nil
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// origin returns the part of a URL that may be shown: a path or a query may hold a secret.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// metadataServices are addresses at which AWS serves credentials to its own machines over plain http, in addition to
// link-local addresses.
var metadataServices = netip.MustParsePrefix("fd00:ec2::/32")

// WithoutURL returns the cause of an error without the URL of its request, which may hold a secret.
func WithoutURL(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}

// IsLocal reports whether plain http to a host stays on this machine, or between this machine and its hypervisor.
func IsLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return IsLoopback(host)
	}
	return ip.IsLoopback() || ip.IsLinkLocalUnicast() || metadataServices.Contains(ip)
}

// IsLoopback reports whether a host is this machine.
func IsLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

// limited is a body with a limit. Read fails beyond the limit, so that a truncated reply is never mistaken for an
// intact one.
type limited struct {
	io.ReadCloser
	left, limit int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, fmt.Errorf("%w: over %d bytes", ErrTooLarge, l.limit)
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, fmt.Errorf("%w: over %d bytes", ErrTooLarge, l.limit)
	}
	return n, err
}
