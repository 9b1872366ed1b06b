package extract

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"spendsync/extract/outbound"
)

// authority is a certificate authority for one test.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{t: t}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// issue makes a certificate for 127.0.0.1 that edit changes.
func (a authority) issue(edit func(*x509.Certificate)) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "service"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if edit != nil {
		edit(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}

// Who cannot prove to be the service is not asked: not with an expired certificate,
// nor one for another host, of an unknown authority, or over an old TLS.
func TestClient_TrustsOnlyTheService(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	for name, tc := range map[string]struct {
		config *tls.Config
		want   string // empty: trusted
	}{
		"good": {&tls.Config{Certificates: []tls.Certificate{a.issue(nil)}}, ""},
		"expired": {&tls.Config{Certificates: []tls.Certificate{a.issue(func(c *x509.Certificate) {
			c.NotAfter = time.Now().Add(-time.Minute)
		})}}, "expired"},
		"not-yet": {&tls.Config{Certificates: []tls.Certificate{a.issue(func(c *x509.Certificate) {
			c.NotBefore = time.Now().Add(30 * time.Minute)
		})}}, "not yet valid"},
		"host": {&tls.Config{Certificates: []tls.Certificate{a.issue(func(c *x509.Certificate) {
			c.IPAddresses,
				c.DNSNames = nil, []string{"other.test"}
		})}}, "127.0.0.1"},
		"authority": {&tls.Config{Certificates: []tls.Certificate{stranger.issue(nil)}}, "unknown authority"},
		"old-tls": {&tls.Config{Certificates: []tls.Certificate{a.issue(nil)}, MaxVersion: tls.VersionTLS11,
			MinVersion: tls.VersionTLS10}, "tls: "},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				_, _ = w.Write([]byte(pageOf(lines(1), placed(1, 3, 1, 1))))
			}))
			service.TLS = tc.config
			service.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			service.StartTLS()
			defer service.Close()
			transport := a.trusting(time.Second)
			c := newTestClient(t, transport, func(o *Options) {
				o.BaseURL, o.RetryBudget = service.URL,
					time.Millisecond
			})
			defer c.Close()
			_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
			if tc.want == "" {
				if err != nil || asked.Load() != 1 {
					t.Errorf("%d requests, error %v", asked.Load(), err)
				}
				return
			}
			wantError(t, err, ErrUnavailable, tc.want)
			check(t, "requests that the stranger saw", asked.Load(), 0)
		})
	}
}

// trusting is a transport that trusts the authority alone.
func (a *authority) trusting(timeout time.Duration) http.RoundTripper {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return outbound.New(outbound.Options{HeaderTimeout: timeout, TLS: &tls.Config{RootCAs: roots}})
}

// A server that goes away between two requests, over HTTP/2, costs a try and no more.
func TestClient_SurvivesAServerThatGoesAway(t *testing.T) {
	a := newAuthority(t)
	var asked atomic.Int64
	s := &report{rows: lines(5)}
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 2 {
			w.Header().Set("Connection", "close") // over HTTP/2 this is a GOAWAY
		}
		resp, err := s.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		if asked.Load() == 3 {
			panic(http.ErrAbortHandler) // a reset of the stream
		}
		buf := make([]byte, resp.ContentLength)
		_, _ = resp.Body.Read(buf)
		_, _ = w.Write(buf)
	}))
	service.TLS = &tls.Config{Certificates: []tls.Certificate{a.issue(nil)}}
	service.EnableHTTP2 = true
	service.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	service.StartTLS()
	defer service.Close()
	transport := a.trusting(5 * time.Second)
	c := newTestClient(t, transport, func(o *Options) { o.BaseURL = service.URL })
	defer c.Close()
	pages, err := walk(t, c.Spend(t.Context(), testDay, 2, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "sources", sources(pages), "S1 S2 S3 S4 S5")
}

// storm refuses with 429 whatever goes beyond its own, lower limit, in one of the
// forms of Retry-After.
func TestRetryAfter_AStormPasses(t *testing.T) {
	for _, header := range []string{"", "5", "0", "-7", "Sat, 01 Jan 2000 00:00:00 GMT", "nonsense"} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var taken, sent []time.Time
			c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				now := time.Now()
				sent = append(sent, now)
				for len(taken) > 0 && now.Sub(taken[0]) >= time.Minute {
					taken = taken[1:]
				}
				if len(taken) >= 40 {
					return answerWith(429, "", "Retry-After", header)
				}
				taken = append(taken, now)
				return answerWith(200, `{}`)
			}), func(o *Options) { o.PerMinute = 120 })
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 60 {
						if _, err := c.Limits(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			for i := 120; i < len(sent); i++ {
				if sent[i].Sub(sent[i-120]) < time.Minute {
					t.Fatalf("requests %d to %d lie within %v", i-120, i, sent[i].Sub(sent[i-120]))
				}
			}
		})
	}
}
