package outbound

import (
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The five status codes of redirects.
var codes = []int{301, 302, 303, 307, 308}

// signing adds credentials to each request below the http.Client, as iceberg-go does. An http.Client removes its own
// credentials after a redirect, but not these.
type signing struct{ http.RoundTripper }

func (s signing) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer canary")
	return s.RoundTripper.RoundTrip(r)
}

// TestTransport_RefusesRedirectsToOthers: a library's client that uses our transport and follows redirects sends
// nothing to another host. It still follows a redirect to the same host.
func TestTransport_RefusesRedirectsToOthers(t *testing.T) {
	var stolen, arrived atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer other.Close()
	var to string
	var code int
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/arrived" {
			arrived.Add(1)
			return
		}
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}))
	defer first.Close()
	for _, code = range codes {
		for _, method := range []string{"GET", "POST"} {
			for _, to = range []string{other.URL + "/x?token=canary",
				"https" + strings.TrimPrefix(first.URL, "http") + "/",
				"//" + strings.TrimPrefix(other.URL, "http://") + "/"} {
				err := sendOnce(t, method, first.URL, &http.Client{Transport: signing{New(Options{})}})
				if !errors.Is(err, ErrRefused) {
					t.Errorf("%d %s to %s: %v", code, method, to, err)
				}
			}
			to = "/arrived"
			if err := sendOnce(t, method, first.URL, &http.Client{Transport: New(Options{})}); err != nil {
				t.Errorf("%d %s to the same host: %v", code, method, err)
			}
		}
	}
	if stolen.Load() != 0 || arrived.Load() != 2*int64(len(codes)) {
		t.Errorf("%d requests reached another host, %d the same host", stolen.Load(), arrived.Load())
	}
}

// TestTransport_NeverLeavesHTTPS: a redirect from https to http is refused, also on the same host.
func TestTransport_NeverLeavesHTTPS(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"https://a.test/x", "https://a.test/y", true}, {"https://a.test", "https://A.test:443/y", true},
		{"https://a.test", "http://a.test", false}, {"https://a.test:443", "http://a.test:443", false},
		{"http://a.test", "https://a.test", true}, {"http://a.test:8080", "https://a.test:8080", false},
		{"https://a.test", "https://b.a.test", false}, {"https://a.test", "https://a.test:8443", false},
		{"https://a.test", "https://a.test.evil.test", false}, {"https://a.test", "https://a.test@evil.test", false},
	} {
		from, err := url.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := url.Parse(c.to)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{Method: "GET", URL: to, Response: &http.Response{Request: &http.Request{URL: from}}}
		if err := New(Options{}).check(r); (err == nil) != c.ok {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
		r.Response = nil
		if err := New(Options{Hosts: []*url.URL{from}}).check(r); (err == nil) != c.ok {
			t.Errorf("%s with only %s: %v", c.to, c.from, err)
		}
	}
	// A reply without its request does not show which host sent it.
	to, _ := url.Parse("https://a.test")
	if err := New(Options{}).check(&http.Request{URL: to, Response: &http.Response{}}); !errors.Is(err, ErrRefused) {
		t.Errorf("without the first request: %v", err)
	}
}

func TestTransport_RequiresTLS(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://s3.test": true, "http://s3.test": false, "http://127.0.0.1:9000": true, "http://[::1]:9000": true,
		"http://localhost:9000": true, "http://169.254.169.254/latest": true, "http://[fd00:ec2::254]/latest": true,
		"http://10.0.0.1": false, "http://127.0.0.1.evil.test": false, "http://localhost.evil.test": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := New(Options{RequireTLS: true}).check(&http.Request{URL: u}); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestClient_FollowsNothing: our own clients return the redirect itself.
func TestClient_FollowsNothing(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	resp, err := Client(Options{}, time.Minute).Post(s.URL, "text/plain", strings.NewReader("x"))
	if err != nil || resp.StatusCode != 307 || asked.Load() != 1 {
		t.Fatalf("%v, %v, %d requests", resp, err, asked.Load())
	}
	resp.Body.Close()
}

// TestTransport_IsBounded: every step of a request is bounded, and no proxy sees a request that is not encrypted.
func TestTransport_IsBounded(t *testing.T) {
	u, _ := url.Parse("http://report.test/x")
	b := New(Options{HeaderTimeout: 7 * time.Second}).base
	if b.TLSClientConfig.MinVersion != tls.VersionTLS12 || b.TLSClientConfig.InsecureSkipVerify ||
		b.ResponseHeaderTimeout != 7*time.Second || b.MaxResponseHeaderBytes != 1<<20 ||
		b.TLSHandshakeTimeout == 0 || b.IdleConnTimeout == 0 || b.DialContext == nil {
		t.Errorf("%+v leaves a step without a bound", b)
	}
	if proxy, err := b.Proxy(&http.Request{URL: u}); proxy != nil || err != nil {
		t.Errorf("plain http goes through %v, %v", proxy, err)
	}
	if New(Options{}).base.ResponseHeaderTimeout == 0 {
		t.Error("the headers are waited for without an end")
	}
}

// TestTransport_HostileReplies: a flood of headers, a gzip bomb and an HTTP/2 reset end with an error. No reply is cut
// off without an error.
func TestTransport_HostileReplies(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/flood":
			for range 2000 {
				w.Header().Add("X-Flood", strings.Repeat("x", 1000))
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 64 {
				_, _ = z.Write(make([]byte, 1<<20))
			}
			z.Close()
		case "/zstd": // no request asked for zstd, so the body stays compressed
			w.Header().Set("Content-Encoding", "zstd")
			_, _ = w.Write([]byte("\x28\xb5\x2f\xfd"))
		case "/error": // longer than the limit for errors
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write(make([]byte, maxErrorBody+1))
		case "/reset":
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/just": // exactly the allowed size
			_, _ = w.Write(make([]byte, 1<<20))
		}
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	trusted.Store(roots)
	defer trusted.Store(nil)
	client := Client(Options{MaxBody: 1 << 20}, time.Minute)
	free := Client(Options{}, time.Minute) // without MaxBody, as for object storage
	for path, want := range map[string]string{"/flood": "header", "/bomb": "too large", "/reset": "stream error",
		"/just": "", "/zstd": "", "/error": "too large"} {
		from := client
		if path == "/error" {
			from = free
		}
		resp, err := from.Get(s.URL + path)
		var n int64
		if err == nil {
			if resp.ProtoMajor != 2 {
				t.Fatalf("%s came by %s", path, resp.Proto)
			}
			n, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if n > 1<<20 || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d bytes, %v", path, n, err)
		}
		if path == "/just" && n != 1<<20 {
			t.Errorf("%s: %d bytes", path, n)
		}
	}
}

func sendOnce(t *testing.T, method, address string, client *http.Client) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err == nil {
		resp.Body.Close()
	}
	return err
}
