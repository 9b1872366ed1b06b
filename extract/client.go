package extract

import (
	"cmp"
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
	defaultTimeout   = 60 * time.Second
	defaultUserAgent = "spendsync"

	maxErrorBody = 64 << 10
)

// Options describe how a Client reaches one API.
type Options struct {
	// Name names the interface in errors, for example "report".
	Name string
	// BaseURL is the address of the API. It may have a path, with or without a trailing slash. A URL with a user name,
	// a query or a fragment is refused. Plain http to another machine is refused unless AllowHTTP is set.
	BaseURL string
	// Authorize sets the Authorization header. It is never called at the same
	// time as Reload.
	Authorize func(*http.Request)
	// Beside returns the Authorization header for the service's other API (report or advertiser). The credentials in
	// that header are removed from replies, too. Beside may be nil.
	Beside func() string
	// Reload is called after a 401. It reads the credentials again and reports whether they changed; if so, the request
	// is sent once more. Reload may be nil.
	Reload func() bool
	// Timeout bounds one request from dialling to the last byte of the body. After a timeout, the next request of the
	// same read may take twice as long, within RetryBudget.
	Timeout time.Duration // 0: one minute
	// TimeoutName is the name of the variable that sets Timeout, for error messages. It may be empty.
	TimeoutName string
	// RetryBudget is how long all requests of the client together may wait for a service that fails. If a request is
	// answered at a later attempt, the budget is full again. Once the budget is used up, failed requests are not
	// repeated.
	RetryBudget time.Duration
	// PerMinute is the largest number of requests in any 60 seconds, retries included.
	PerMinute int // 0: no limit
	// MaxBody bounds a reply in decompressed bytes. All replies being read share 64 MiB.
	MaxBody   int64 // 0: 30 MiB
	AllowHTTP bool
	UserAgent string
	Service   *service.Service // assumptions about the API; nil: the embedded assumptions
	Log       *slog.Logger     // nil: silent
	// Transport sends the requests. By default the client makes a transport with timeouts on every step. The default
	// transport honors HTTPS_PROXY and NO_PROXY, which many clusters need for outbound traffic. It never sends plain
	// http through a proxy, because the proxy could read the credentials.
	Transport http.RoundTripper
}

// Client sends requests to one API with one set of credentials. It is safe for concurrent use. All requests of a client
// share one rate limit. If the service asks one request to wait, all requests wait.
type Client struct {
	name      string
	base      *url.URL
	transport http.RoundTripper
	timeout   atomic.Int64 // a [time.Duration]; grows beyond Options.Timeout if an answer took longer
	setting   string       // see [Options.TimeoutName]
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

	lastFailure atomic.Pointer[failure] // the last failure that may be temporary
	warned      atomic.Bool             // whether the log has a warning about retries

	isAnswered atomic.Bool // whether a reply was accepted
	isUntried  atomic.Bool // whether no earlier run has used the base URL successfully

	requests, retries, bytes, throttled atomic.Int64
}

// Stats counts what a client did so far.
type Stats struct {
	Requests  int64         // requests sent, retries included
	Retries   int64         // requests sent again
	Bytes     int64         // bytes of replies, decompressed
	Throttled time.Duration // pauses that the service asked for, added up over all reads
}

// NewClient checks the options and makes a client. NewClient sends nothing. An error is about the configuration, and
// never shows the URL's user, password or query.
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
		budget:    o.RetryBudget,
		maxBody:   cmp.Or(o.MaxBody, defaultMaxBody),
		userAgent: cmp.Or(o.UserAgent, defaultUserAgent),
		service:   o.Service,
		log:       o.Log,
		inFlight:  newInFlight(),
	}
	c.keys.authorize, c.keys.reload, c.keys.beside = o.Authorize, o.Reload, o.Beside
	c.timeout.Store(int64(cmp.Or(o.Timeout, defaultTimeout)))
	c.breaker = &breaker{budget: c.budget, silent: max(c.budget, 5*time.Duration(c.timeout.Load()))}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.limit = newLimiter(o.PerMinute, c.log)
	if o.Transport == nil {
		o.Transport = outbound.New(outbound.Options{HeaderTimeout: max(time.Duration(c.timeout.Load()), c.budget)})
	}
	// The transport is used directly: an http.Client would follow redirects, and send the credentials to their targets.
	c.transport = o.Transport
	return c, nil
}

// Close ends the connections that are kept for further requests. Requests in flight continue.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Answered reports whether the service has answered any request of this client in the expected form.
func (c *Client) Answered() bool { return c.isAnswered.Load() }

// Untried records that no earlier run has used this base URL successfully. Until the service answers, an error that
// suggests a wrong URL (see [ReadError.DoubtsURL]) ends a read after a few attempts, because waiting does not correct a
// URL.
func (c *Client) Untried() { c.isUntried.Store(true) }

// WaitsUntil returns the time at which waiting requests may be sent. They wait for the limit per minute, or for a pause
// that the service asked for. WaitsUntil returns the zero time if no request waits. It is safe to call at any time.
func (c *Client) WaitsUntil() time.Time {
	until := c.limit.waitsUntil()
	if pause := c.breaker.paused(); pause > 0 {
		until = latest(until, time.Now().Add(pause))
	}
	return until
}

// Stats returns what the client has done so far. It may be called at any time.
func (c *Client) Stats() Stats {
	return Stats{
		Requests: c.requests.Load(), Retries: c.retries.Load(), Bytes: c.bytes.Load(),
		Throttled: time.Duration(c.throttled.Load()),
	}
}

func baseURL(raw string, allowHTTP bool) (*url.URL, error) {
	if strings.TrimSpace(raw) != raw {
		return nil, errors.New("the base URL begins or ends with a space or a line break")
	}
	u, err := outbound.ParseURL(raw)
	if err != nil {
		return nil, fmt.Errorf("the base URL %w; its form is https://host/path", err)
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		if strings.ContainsAny(raw, "@?#") { // the text may hold a password
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

// credentials are shared by concurrent requests. The first request that the service refuses makes the client read the
// credentials again.
type credentials struct {
	mu      sync.RWMutex
	version int
	// The version of the credentials that the service last accepted, plus 1. It is 0 if no version was accepted, or if
	// the last accepted version has been refused since.
	good      int
	authorize func(*http.Request)
	reload    func() bool
	beside    func() string                  // see [Options.Beside]
	secrets   atomic.Pointer[redact.Secrets] // the secrets of the latest request
}

// judged records whether the service accepted a version of the credentials.
func (k *credentials) judged(version int, isAccepted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if isAccepted {
		k.good = version + 1
	} else if k.good == version+1 {
		k.good = 0
	}
}

// wereAccepted reports whether the service has accepted a version of the credentials, and not refused it since.
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

// renew reports whether credentials newer than the refused version exist, and reads them again if necessary. If several
// requests are refused at once, only the first reads the credentials again.
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

// question is one resource to read. It may take several requests until it is answered.
type question struct {
	what   string // for errors and logs: "spend 2026-03-08 page 3"
	path   string // below the base URL
	query  url.Values
	accept func(body []byte) error // decodes the body; its error is a *replyError
	// room is memory for the body, which the next read may overwrite. So accept() must copy every part of the body that
	// it keeps, including the parts that an error quotes.
	room  []byte
	about subject
}

// send sends one request and reads its whole reply within a timeout. The second result is the version of the
// credentials that the request carried.
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

// exchange sends a request and decodes its reply. If the service repeats credentials in the reply, they are removed
// before decoding. The returned failure may still contain credentials; the caller removes them.
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
		// A read error does not matter here: the status is enough.
		r.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		c.bytes.Add(int64(len(r.body)))
		r.body = []byte(hidden.Hide(string(r.body)))
		return nil, judge(q.about, q.query, r).failure(q.about, r)
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
		r.body = []byte(hidden.Hide(string(r.body))) // because a failure quotes parts of the body
		return nil, j.failure(q.about, r)
	}
	err = q.accept(r.body)
	if err == nil {
		return r.body, nil
	}
	if clean := hidden.Hide(string(r.body)); clean != string(r.body) {
		// The decoder's error quotes the reply. The quotation may end within a secret, and part of a secret would not
		// be found. So remove the secrets from the whole reply and decode it again.
		r.body = []byte(clean)
		if err = q.accept(r.body); err == nil {
			err = contractf("the reply repeats the credentials")
		}
	}
	return nil, unread(r, err)
}

// secretsOf returns the secrets in the credentials of a request and in the credentials of the other interface.
func (k *credentials) secretsOf(req *http.Request) *redact.Secrets {
	headers := []string{req.Header.Get("Authorization")}
	if k.beside != nil {
		headers = append(headers, k.beside())
	}
	s := k.secrets.Load()
	if !s.IsOf(headers...) {
		s = redact.Of(headers...)
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
