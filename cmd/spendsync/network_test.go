package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/extract/adsim"
)

// companyHost is the host of the service in a company's network: only the proxy knows its address.
const companyHost = "ads.company.test"

// company serves the service of a world over TLS, with a certificate of a company's own authority, and only through a
// proxy. It returns the file with the authority's certificate, the proxy's address, and a counter of the proxy's
// connections.
func (w *world) company() (caFile, proxy string, connected *atomic.Int64) {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Company CA"},
		NotBefore: worldNow.AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(10, 0, 0), IsCA: true,
		BasicConstraintsValid: true, DNSNames: []string{companyHost}, KeyUsage: x509.KeyUsageCertSign |
			x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		w.t.Fatal(err)
	}
	caFile = filepath.Join(w.t.TempDir(), "company.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(caFile, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(w.service)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	w.t.Cleanup(s.Close)
	connected = new(atomic.Int64)
	p := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.URL.Hostname() != companyHost {
			http.Error(rw, "<html>Access denied</html>", http.StatusForbidden)
			return
		}
		to, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadGateway)
			return
		}
		from, buffered, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			to.Close()
			return
		}
		connected.Add(1)
		_, _ = io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(to, buffered); to.Close() }()
		go func() { _, _ = io.Copy(from, to); from.Close() }()
	}))
	w.t.Cleanup(p.Close)
	w.env["ADVERTISER_URL"] = "https://" + companyHost + adsim.APIPrefix
	w.env["REPORT_URL"] = "https://" + companyHost + adsim.ReportPrefix
	return caFile, p.URL, connected
}

// TestSync_ThroughACompanysNetwork: all requests go through the proxy of HTTPS_PROXY, and with SPENDSYNC_CA_FILE a
// certificate of the company's own authority is trusted. Without this variable, the error message names it.
func TestSync_ThroughACompanysNetwork(t *testing.T) {
	w := newWorld(t, small)
	caFile, proxy, connected := w.company()
	sync := func() (code int, text string) {
		cmd := w.start(t.Context(), "sync")
		cmd.Env = append(cmd.Env, "HTTPS_PROXY="+proxy, "NO_PROXY=")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), out.String()
	}
	if code, text := sync(); code != 5 || !strings.Contains(text, "SPENDSYNC_CA_FILE") {
		t.Errorf("an unknown authority: exit %d: %s", code, text)
	}
	w.env["CA_FILE"] = caFile
	if code, text := sync(); code != 0 {
		t.Fatalf("exit %d: %s", code, text)
	}
	if connected.Load() < 2 {
		t.Errorf("the proxy made %d connections", connected.Load())
	}
	w.checkTruth()
	if err := os.WriteFile(caFile, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := sync(); code != 2 || !strings.Contains(text, "SPENDSYNC_CA_FILE "+caFile+": it holds no cert") {
		t.Errorf("a file without a certificate: exit %d: %s", code, text)
	}
}
