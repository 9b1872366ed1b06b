package adsim

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	img "image"
	"image/color"
	"image/gif"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
)

func picture(w, h int) img.Image {
	m := img.NewPaletted(img.Rect(0, 0, w, h), color.Palette{color.White, color.Black})
	m.SetColorIndex(w/2, h/2, 1)
	return m
}

func pngOf(w, h int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, picture(w, h)); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func gifOf(w, h int) []byte {
	var b bytes.Buffer
	if err := gif.Encode(&b, picture(w, h), nil); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func upload(kind string, data []byte, contentType string) string {
	return string(must(json.Marshal(map[string]string{"kind": kind,
		"data_base64": base64.StdEncoding.EncodeToString(data), "content_type": contentType})))
}

// imageHost serves images over TLS, and lets a service ask it though its address
// is not public.
func imageHost(t testing.TB, h http.HandlerFunc) (*httptest.Server, config.Config) {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return server, config.Config{
		RateLimit:    -1,
		FetchTLS:     &tls.Config{RootCAs: roots},
		FetchAddress: netip.Addr.IsLoopback,
	}
}

func TestUploadImage_AsksOnlyPublicAddresses(t *testing.T) {
	asked := 0
	server, cfg := imageHost(t, func(http.ResponseWriter, *http.Request) { asked++ })
	cfg.FetchAddress = nil
	s := sim(cfg)
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "https://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1",
		"169.254.169.254",
		"0.0.0.0", "[fe80::1]", "[fd00::1]", "224.0.0.1"} {
		refusedAs(t, host, tell(t, s, "POST", "/v1/images", `{"kind":"icon","image_url":"https://`+host+":"+port+
			`/a.png"}`), 400, "validation_failed", "image_url")
	}
	if asked > 0 {
		t.Errorf("asked %d times", asked)
	}
}
