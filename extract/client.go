package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"spendsync/extract/outbound"
	"spendsync/extract/redact"
	"spendsync/extract/service"
)

// The defaults of Options, and bounds that are not options.
const (
	defaultTimeout     = 60 * time.Second
	defaultRetryBudget = 10 * time.Minute
	defaultUserAgent   = "spendsync"

	maxErrorBody = 64 << 10
)

// Options describe how a Client reaches one API.
type Options struct {
	// Name is what errors call the interface, such as "report".
	Name string
	// BaseURL is where the API lives. It may have a path, with or without a trailing slash. A user name, a query or a
	// fragment in it is refused, and so is plain http to a host that is not this machine, unless AllowHTTP.
	BaseURL string
	// Authorize sets the Authorization header. It is never called at the same
	// time as Reload.
	Authorize func(*http.Request)
	// Reload is called after a 401. It reads the credentials again and reports
	// whether they changed; if so the request gets one more try. It may be nil.
	Reload func() bool
	// Timeout bounds one request from dialling to the last byte of the body. If it is not enough, the next request of
	// the same read has twice as long, within RetryBudget.
	Timeout time.Duration // 0: one minute
	// TimeoutName is the operator's name of Timeout. Failures by timeout name it; empty: they do not.
	TimeoutName string
	// RetryBudget is how long all requests of the client together may wait for a service that fails. An answer to a
	// question that had failed refills it. Once it is used up, each question is sent once.
	RetryBudget time.Duration // 0: ten minutes
	// PerMinute is how many requests any 60 seconds may hold, retries included.
	PerMinute int // 0: no limit
	// MaxBody bounds a reply in decompressed bytes. All replies that are being read have 64 MiB together.
	MaxBody   int64 // 0: 30 MiB
	AllowHTTP bool
	UserAgent string
	Service   *service.Service // what the API is assumed to be like; nil: the embedded assumptions
	Log       *slog.Logger     // nil: silent
	// Transport sends the requests. Nil is a transport of its own with timeouts
	// on every step. That one honours HTTPS_PROXY and NO_PROXY, which many
	// clusters need to get out at all, and never sends plain http through a
	// proxy, which could read the credentials.
	Transport http.RoundTripper
}

// Client asks one API with one set of credentials. It is safe for concurrent
// use, and all of its requests share one limit and one view of the service: a
// wait that one request is asked for holds back all.
type Client struct {
	name      string
	base      *url.URL
	transport http.RoundTripper
	timeout   atomic.Int64 // a [time.Duration]; longer than the option if an answer took longer
	setting   string       // the operator's name of the timeout
	budget    time.Duration
	maxBody   int64
	userAgent string
	service   *service.Service
	log       *slog.Logger
	limit     *limiter
	inFlight  *inFlight
	breaker   *breaker
	keys      credentials
	notice    keyNotice
	clock     serviceClock

	lastFailure atomic.Pointer[failure] // that may pass
	warned      atomic.Bool             // of a request that was sent again

	isAnswered atomic.Bool // by a reply that was accepted
	isUntried  atomic.Bool // the base URL has never worked, as far as is known

	requests, retries, bytes, throttled atomic.Int64
}

// Stats counts what a client did so far.
type Stats struct {
	Requests  int64         // sent, retries included
	Retries   int64         // sent again
	Bytes     int64         // of replies, decompressed
	Throttled time.Duration // waited because the service asked for it, added up over all reads
}

// NewClient checks the options and makes a client. It sends nothing. Its errors
// are about the configuration and never show the URL's user, password or query.
func NewClient(o Options) (*Client, error) {
	base, err := baseURL(o.BaseURL, o.AllowHTTP)
	if err != nil {
		return nil, err
	}
	if o.Authorize == nil {
		return nil, errors.New("no credentials: Authorize is required")
	}
	if o.Timeout < 0 || o.RetryBudget < 0 || o.PerMinute < 0 || o.MaxBody < 0 {
		return nil, errors.New("a timeout, a budget or a limit is negative")
	}
	c := &Client{
		name:      o.Name,
		base:      base,
		setting:   o.TimeoutName,
		budget:    orDefault(o.RetryBudget, defaultRetryBudget),
		maxBody:   orDefault(o.MaxBody, defaultMaxBody),
		userAgent: orDefault(o.UserAgent, defaultUserAgent),
		service:   o.Service,
		log:       o.Log,
		limit:     newLimiter(o.PerMinute),
		inFlight:  newInFlight(),
	}
	c.keys.authorize, c.keys.reload = o.Authorize, o.Reload
	c.timeout.Store(int64(orDefault(o.Timeout, defaultTimeout)))
	c.breaker = &breaker{budget: c.budget, silent: max(c.budget, 5*time.Duration(c.timeout.Load()))}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = outbound.New(outbound.Options{HeaderTimeout: max(time.Duration(c.timeout.Load()), c.budget)})
	}
	// The transport is asked directly: an http.Client would follow redirects, and
	// carry the credentials to wherever they point.
	c.transport = o.Transport
	return c, nil
}

// Close ends the connections that are kept for further requests. Requests in flight continue.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Answered reports whether the service has answered any question in the expected form.
func (c *Client) Answered() bool { return c.isAnswered.Load() }

// Untried tells the client that its base URL has never worked. Until the service answers, an error that doubts the URL
// (see [ReadError.DoubtsURL]) ends a read after a few attempts: waiting corrects no URL.
func (c *Client) Untried() { c.isUntried.Store(true) }

// Stats is what the client did so far. It is safe to call at any time.
func (c *Client) Stats() Stats {
	return Stats{
		Requests: c.requests.Load(), Retries: c.retries.Load(), Bytes: c.bytes.Load(),
		Throttled: time.Duration(c.throttled.Load()),
	}
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func baseURL(raw string, allowHTTP bool) (*url.URL, error) {
	if strings.TrimSpace(raw) != raw {
		return nil, errors.New("the base URL begins or ends with a space or a line break")
	}
	u, err := url.Parse(raw)
	if err != nil {
		// Not the cause: it quotes the URL, and with it a password.
		return nil, errors.New("the base URL cannot be parsed; its form is https://host/path")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		if strings.ContainsAny(raw, "@?#") { // it may hold a password
			return nil, errors.New("the base URL is not of the form https://host/path")
		}
		return nil, fmt.Errorf("the base URL is not of the form https://host/path: %.100q", raw)
	case u.User != nil:
		return nil, fmt.Errorf("the base URL of %s holds a user name or password; they have settings "+
			"of their own", u.Host)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(raw, "#"):
		return nil, fmt.Errorf("the base URL of %s has a query or a fragment", u.Host)
	case u.Scheme == "http" && !allowHTTP && !outbound.IsLoopback(u.Hostname()):
		return nil, fmt.Errorf("plain http to %s would show the credentials to everyone on the way; use https, or "+
			"set SPENDSYNC_ALLOW_HTTP=true", u.Host)
	}
	return u, nil
}

// credentials are shared by concurrent requests. Each of them may find that they are refused.
type credentials struct {
	mu        sync.RWMutex
	version   int
	good      int // 1 more than the version that was last accepted
	authorize func(*http.Request)
	reload    func() bool
	secrets   atomic.Pointer[redact.Secrets] // of the latest ones
}

// accepted notes that the service accepted a version of the credentials.
func (k *credentials) accepted(version int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.good = version + 1
}

// wereAccepted reports whether the service has accepted a version of the credentials.
func (k *credentials) wereAccepted(version int) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.good == version+1
}

// sign puts the credentials on a request and returns their version.
func (k *credentials) sign(r *http.Request) int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	k.authorize(r)
	return k.version
}

// renew reports whether there are other credentials than those refused. When
// several requests are refused at once, the first reads them again for all.
func (k *credentials) renew(refused int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.version != refused {
		return true
	}
	if k.reload == nil || !k.reload() {
		return false
	}
	k.version++
	return true
}

// question is one resource to read.
type question struct {
	what   string // for errors and logs: "spend 2026-03-08 page 3"
	path   string // below the base URL
	query  url.Values
	accept func(body []byte) error // takes the body in; a *replyError where it cannot
	// headers sees those of a reply that has a whole body, before accept. It may be nil.
	headers func(http.Header)
	// room is overwritten by the body, as far as it fits. What accept and its errors
	// keep of the body is their own.
	room  []byte
	once  bool // it is sent once: the reply is useful but not required
	about subject
}

// send sends one request and reads its whole reply within a timeout. keys is the version of
// the credentials that it carried.
func (c *Client) send(ctx context.Context, q question, timeout time.Duration, m *memory) (body []byte, keys int,
	f *failure) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	u := c.base.JoinPath(q.path)
	u.RawQuery = q.query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, 0, &failure{kind: ErrContract, reason: "the request cannot be built"}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.userAgent)
	keys = c.keys.sign(req)
	if body, f = c.exchange(req, q, timeout, m); f != nil {
		f.hide(c.keys.secretsOf(req))
	}
	return body, keys, f
}

// exchange sends a request and takes its reply in, without what the reply repeats of the
// credentials. The failure may show that.
func (c *Client) exchange(req *http.Request, q question, timeout time.Duration, m *memory) (body []byte, f *failure) {
	c.requests.Add(1)
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, unanswered(c, req, err, timeout)
	}
	defer resp.Body.Close()
	hidden := c.keys.secretsOf(req)
	r := received{status: resp.StatusCode, header: hidden.Header(resp.Header), at: time.Now()}
	c.notice.note(r.header)
	c.clock.note(r.header, r.at)
	if !hasWholeBody(r.status) {
		// An error while reading does not matter: the status is enough.
		r.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		c.bytes.Add(int64(len(r.body)))
		r.body = []byte(hidden.Hide(string(r.body)))
		return nil, judge(q.about, q.query, r).failure(q.about, r)
	}
	if q.headers != nil {
		q.headers(r.header)
	}
	var read int64
	r.body, read, err = m.readBody(req.Context(), resp, q.room, c.maxBody)
	c.bytes.Add(read)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, &failure{
			kind: ErrContract, status: r.status, requestID: requestID(r.header, nil),
			reason: fmt.Sprintf("the reply is larger than the cap of %d bytes", c.maxBody),
		}
	case errors.Is(err, errCrowded):
		return nil, &failure{isCrowded: true}
	case err != nil:
		f := unanswered(c, req, err, timeout)
		f.status, f.requestID = r.status, requestID(r.header, nil)
		return nil, f
	}
	r.body, _ = hidden.Reply(r.body)
	if j := judge(q.about, q.query, r); j.verdict != accepted {
		r.body = []byte(hidden.Hide(string(r.body))) // a failure quotes parts of it
		return nil, j.failure(q.about, r)
	}
	err = q.accept(r.body)
	if err == nil {
		return r.body, nil
	}
	if clean := hidden.Hide(string(r.body)); clean != string(r.body) {
		// The error quotes the reply, and may have cut it within a secret.
		r.body = []byte(clean)
		if err = q.accept(r.body); err == nil {
			err = contractf("the reply repeats the credentials")
		}
	}
	return nil, unread(r, err)
}

// secretsOf returns the secrets of a request's credentials.
func (k *credentials) secretsOf(req *http.Request) *redact.Secrets {
	s := k.secrets.Load()
	if !s.IsOf(req) {
		s = redact.Of(req)
		k.secrets.Store(s)
	}
	return s
}

// hide removes the current credentials from a text.
func (k *credentials) hide(text string) string {
	r := &http.Request{Header: http.Header{}}
	k.sign(r)
	return k.secretsOf(r).Hide(text)
}
