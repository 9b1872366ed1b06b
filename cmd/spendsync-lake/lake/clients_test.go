package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"spendsync/cmd/spendsync-lake/lake/restsim"
	"spendsync/schema/schematest"
)

// thief starts a foreign server, and counts the requests that reach the server.
func thief(t *testing.T) (address string, got *atomic.Int64) {
	got = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Add(1)
		_, _ = io.WriteString(w, `{"defaults":{},"overrides":{},"access_token":"x","token_type":"bearer"}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

// sender starts a server that answers every request with a redirect.
func sender(t *testing.T, code int, to string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Location", to+r.URL.RequestURI())
		w.WriteHeader(code)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestClients_KeepTheirSecrets: no client of the lake follows a redirect of any kind to another host.
func TestClients_KeepTheirSecrets(t *testing.T) {
	schematest.Long(t)
	s := sample(t)
	for name, c := range map[string]struct {
		set  func(t *testing.T, o *Options, redirects string)
		kind error
	}{
		"catalog/token": {func(_ *testing.T, o *Options, to string) { o.Catalog, o.Token = to, "token-canary" },
			ErrElsewhere},
		"catalog/client secret": {func(_ *testing.T, o *Options, to string) {
			o.Catalog, o.Credential = to, "id:secret-canary"
		}, ErrElsewhere},
		"catalog/signed": {func(_ *testing.T, o *Options, to string) { o.Catalog, o.SigV4 = to, "glue" },
			ErrElsewhere},
		"oauth2": {func(_ *testing.T, o *Options, to string) {
			o.OAuthURL, o.Credential = to+"/token", "id:secret-canary"
		}, ErrElsewhere},
		"storage": {func(_ *testing.T, o *Options, to string) { o.S3Endpoint = to }, ErrUnreachable},
		"storage/web identity": {func(t *testing.T, o *Options, to string) {
			token := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(token, []byte("token-canary"), 0o600); err != nil {
				t.Fatal(err)
			}
			o.AccessKey, o.SecretKey = "", ""
			for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
				"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_ROLE_ARN": "arn:aws:iam::1:role/x",
				"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ENDPOINT_URL_STS": to, "AWS_MAX_ATTEMPTS": "1"} {
				t.Setenv(k, v)
			}
		}, ErrUnreachable},
	} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprintf("%s/%d", name, code), func(t *testing.T) {
				t.Setenv("AWS_MAX_ATTEMPTS", "1")
				w := newWorld(t)
				to, stolen := thief(t)
				from := sender(t, code, to)
				o := w.options()
				c.set(t, &o, from)
				l, err := Open(t.Context(), o)
				if err == nil {
					_, err = l.Follow(t.Context(), FollowOptions{Dir: s.Dir})
					l.Close()
				}
				if stolen.Load() > 0 {
					t.Errorf("%d requests reached another host", stolen.Load())
				}
				if !errors.Is(err, c.kind) && !(code < 304 && errors.Is(err, ErrUnreachable)) {
					t.Errorf("%v, want %v", err, c.kind)
				}
				if err != nil && strings.Contains(err.Error(), "canary") {
					t.Errorf("a secret shows: %v", err)
				}
			})
		}
	}
}

// TestCatalog_NamesNoOtherHost: the catalog's configuration may name another host for itself or for OAuth2, but that
// host gets neither our token nor our credentials.
func TestCatalog_NamesNoOtherHost(t *testing.T) {
	schematest.Long(t)
	to, stolen := thief(t)
	for key, kind := range map[string]error{"uri": ErrElsewhere, "oauth2-server-uri": ErrElsewhere,
		"rest.authorization-url": ErrElsewhere} {
		w := newWorld(t)
		catalog := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/config"):
				fmt.Fprintf(rw, `{"defaults":{},"overrides":{%q:%q}}`, key, to+"/x")
			case strings.HasSuffix(r.URL.Path, "/oauth/tokens"):
				rw.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(rw, `{"access_token":"t","token_type":"bearer","expires_in":3600}`)
			default:
				w.Rest.ServeHTTP(rw, r)
			}
		}))
		defer catalog.Close()
		o := w.options()
		o.Catalog, o.Credential = catalog.URL, "id:secret-canary"
		l, err := Open(t.Context(), o)
		if err == nil {
			_, err = l.Verify(t.Context(), sample(t).Dir, false)
			l.Close()
		}
		if stolen.Load() > 0 || !errors.Is(err, kind) {
			t.Errorf("%s: %d requests reached another host: %v, want %v", key, stolen.Load(), err, kind)
		}
	}
}

// TestCatalog_HostileReplies: for each hostile reply of a catalog, the command soon ends with an error.
func TestCatalog_HostileReplies(t *testing.T) {
	schematest.Long(t)
	for name, reply := range map[string]http.HandlerFunc{
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 2000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		},
		"depth": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"defaults":`+strings.Repeat("[", 1<<20))
		},
		"reset": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"defaults":`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"page": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>log in</html>") },
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewUnstartedServer(reply)
			srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			srv.Start()
			defer srv.Close()
			if l, err := Open(context.Background(), optionsOf(srv.URL, "")); !errors.Is(err, ErrUnreachable) {
				t.Errorf("%v, %v", l, err)
			}
		})
	}
}

// TestStorage_HostileReplies: for each hostile reply of the object storage, the command ends with an error and uses
// bounded memory, although the AWS SDK reads the entire body of an error.
func TestStorage_HostileReplies(t *testing.T) {
	schematest.Long(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	s := sample(t)
	for name, reply := range map[string]func(w http.ResponseWriter, status int){
		"bomb": func(w http.ResponseWriter, status int) {
			w.WriteHeader(status)
			_, _ = io.CopyN(w, zeros{}, 512<<20)
		},
		"depth": func(w http.ResponseWriter, status int) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<Error>"+strings.Repeat("<a>", 1<<20))
		},
		"headers": func(w http.ResponseWriter, status int) {
			for i := range 2000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
			w.WriteHeader(status)
		},
		"reset": func(w http.ResponseWriter, status int) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<Error>")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"page": func(w http.ResponseWriter, status int) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>log in</html>")
		},
	} {
		for _, status := range []int{200, 403, 500} {
			t.Run(fmt.Sprintf("%s/%d", name, status), func(t *testing.T) {
				storage := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					reply(w, status)
				}))
				storage.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
				storage.Start()
				defer storage.Close()
				w := newWorld(t)
				o := w.options()
				o.S3Endpoint = storage.URL
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				l, err := Open(t.Context(), o)
				if err == nil {
					_, err = l.Follow(t.Context(), FollowOptions{Dir: s.Dir})
					if err == nil && status == 200 { // for a write, the SDK looks only at the status
						s.Publish()
						_, err = l.Follow(t.Context(), FollowOptions{Dir: s.Dir})
					}
					l.Close()
				}
				runtime.ReadMemStats(&after)
				if err == nil {
					t.Error("it was said to be in the lake")
				}
				if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
					t.Errorf("%d bytes of memory were taken", took)
				}
			})
		}
	}
}

// TestMarkers_ReadNoMoreThanRecorded: if the size of a file of lake_generation differs from its size in the Iceberg
// manifest, the file is refused before it is decoded.
func TestMarkers_ReadNoMoreThanRecorded(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	w.follow(sample(t))
	l := w.open()
	marker, err := l.load(l.storage(t.Context()), l.markerSpec())
	if err != nil {
		t.Fatal(err)
	}
	m, err := marker.markers()
	if err != nil || len(m.files) == 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	object := m.files[0].FilePath()
	whole := w.Read(object)
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"longer":  {append(bytes.Clone(whole), make([]byte, 64<<20)...), "bytes or more"},
		"shorter": {whole[:len(whole)-1], "bytes or more"},
		"other":   {make([]byte, len(whole)), "parquet"},
	} {
		w.Write(object, c.content)
		_, err := marker.markers()
		if !errors.Is(err, ErrForeign) || !strings.Contains(fmt.Sprint(err), object) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpen_AcceptsTheHostThatIsNamed: a redirect to another path of the catalog's host is followed.
func TestOpen_AcceptsTheHostThatIsNamed(t *testing.T) {
	schematest.Long(t)
	rest := &restsim.Catalog{Warehouse: "file://" + t.TempDir()}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, moved := strings.CutPrefix(r.URL.Path, "/old"); moved {
			http.Redirect(w, r, path+"?"+r.URL.RawQuery, http.StatusPermanentRedirect)
			return
		}
		rest.ServeHTTP(w, r)
	}))
	defer srv.Close()
	o := optionsOf(srv.URL+"/old", "")
	o.Token = "token"
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Follow(t.Context(), FollowOptions{Dir: sample(t).Dir}); err != nil {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
