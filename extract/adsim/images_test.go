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
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/fetch"
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

func jpegOf(w, h int) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture(w, h), nil); err != nil {
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

func TestUploadImage_DecodesPNGJPEGAndGIF(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	form := regexp.MustCompile(`^[0-9a-f]{24}$`)
	seen := map[string]bool{}
	for contentType, data := range map[string][2][]byte{
		"image/png": {pngOf(300, 300), pngOf(400, 200)}, "image/jpeg": {jpegOf(50, 50), jpegOf(500, 250)},
		"image/gif": {gifOf(1, 1), gifOf(2, 1)},
	} {
		for i, kind := range []string{"icon", "image"} {
			a := tell(t, s, "POST", "/v1/images", upload(kind, data[i], contentType))
			got := a.one()
			if a.status != 201 || !form.MatchString(a.id()) || seen[a.id()] || got["kind"] != kind ||
				got["content_type"] != contentType || got["size_bytes"] != float64(len(data[i])) {
				t.Errorf("%s %s: %d %v", contentType, kind, a.status, a.body)
			}
			seen[a.id()] = true
		}
	}
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

func TestUploadImage_FetchesAURLOnce(t *testing.T) {
	asked := 0
	server, cfg := imageHost(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/a.png":
			w.Header().Set("Content-Type", "text/plain") // the type is read from the file
			_, _ = w.Write(pngOf(300, 300))
		case "/moved":
			http.Redirect(w, r, "/a.png", http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, advertiser.MostImageBytes+1))
		case "/html":
			_, _ = w.Write([]byte("<html>"))
		default:
			http.NotFound(w, r)
		}
	})
	s := sim(cfg)
	url := func(path string) string { return `{"kind":"icon","image_url":"` + server.URL + path + `"}` }
	if got := mustTell(t, s, "POST", "/v1/images", url("/a.png")); got["content_type"] != "image/png" ||
		got["width"] != 300.0 || asked != 1 {
		t.Errorf("got %v, asked %d times", got, asked)
	}
	for i, path := range []string{"/moved", "/large", "/html", "/nothing"} {
		refusedAs(t, path, tell(t, s, "POST", "/v1/images", url(path)), 400, "validation_failed", "image_url")
		if asked != i+2 {
			t.Errorf("%s: asked %d times", path, asked-i-1)
		}
	}
	server.Close()
	refusedAs(t, "gone", tell(t, s, "POST", "/v1/images", url("/a.png")), 400, "validation_failed", "image_url")
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

func TestUploadImage_GivesUpInTime(t *testing.T) {
	gone := make(chan struct{})
	server, cfg := imageHost(t, func(_ http.ResponseWriter, r *http.Request) { <-gone })
	defer close(gone)
	s := sim(cfg)
	if s.files.Time != fetch.FetchTime || fetch.FetchTime != 10*time.Second {
		t.Errorf("it waits %v", s.files.Time)
	}
	s.files.Time = 50 * time.Millisecond
	a := tell(t, s, "POST", "/v1/images", `{"kind":"icon","image_url":"`+server.URL+`/a.png"}`)
	refusedAs(t, "too slow", a, 400, "validation_failed", "image_url")
}
