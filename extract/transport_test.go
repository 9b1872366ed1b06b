package extract

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
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

// issue makes a certificate for 127.0.0.1; edit may change its template.
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

// TestClient_TrustsOnlyTheService: the client sends nothing to a server whose certificate is expired, is for another
// host or is from an unknown authority, or whose version of TLS is too old.
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
			_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
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

// trusting returns a transport that trusts this authority, too.
func (a *authority) trusting(timeout time.Duration) http.RoundTripper {
	a.t.Helper()
	if err := outbound.Trust(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})); err != nil {
		a.t.Fatal(err)
	}
	return outbound.New(outbound.Options{HeaderTimeout: timeout})
}
