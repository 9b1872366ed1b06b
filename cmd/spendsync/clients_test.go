package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/spendsync/metrics"
	"spendsync/cmd/spendsync/notice"
	"spendsync/load/remote"
	"spendsync/schema"
)

// TestClients_KeepTheirSecrets: of all clients of spendsync, none follows any kind of redirect to
// another host. Those of spendsync-lake have the same test in load/lake.
func TestClients_KeepTheirSecrets(t *testing.T) {
	read := func(t *testing.T, to string) *config.Config {
		c, err := config.Read(t.Context(), []string{"SPENDSYNC_REPORT_URL=" + to, "SPENDSYNC_ADVERTISER_URL=" + to,
			"SPENDSYNC_REPORT_USER=ann", "SPENDSYNC_REPORT_PASSWORD=canary-p", "SPENDSYNC_API_KEY=canary-k",
			"SPENDSYNC_RETRY_BUDGET=1ms"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, ask := range map[string]func(t *testing.T, to string) error{
		"report": func(t *testing.T, to string) error {
			c, err := read(t, to).ReportClient(config.ClientOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range c.Spend(t.Context(), schema.DateOf(time.Now()), 10, nil, nil) {
				return err
			}
			return nil
		},
		"advertiser API": func(t *testing.T, to string) error {
			c, err := read(t, to).AdvertiserClient(config.ClientOptions{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Me(t.Context())
			return err
		},
		"pushgateway": func(t *testing.T, to string) error {
			to = strings.Replace(to, "http://", "http://ann:canary@", 1)
			c, err := config.Read(t.Context(), []string{"SPENDSYNC_PUSHGATEWAY_URL=" + to})
			if err != nil {
				t.Fatal(err)
			}
			u, err := c.Gateway()
			if err != nil {
				t.Fatal(err)
			}
			return metrics.Push(t.Context(), u, "account", "acme", &metrics.Facts{End: time.Now()})
		},
		"heartbeat": func(t *testing.T, to string) error {
			c, err := config.Read(t.Context(), []string{"SPENDSYNC_HEARTBEAT_URL=" + to + "/canary"})
			if err != nil {
				t.Fatal(err)
			}
			u, err := c.Heartbeat()
			if err != nil {
				t.Fatal(err)
			}
			return notice.NewHeartbeat(u, "").End(t.Context(), 0)
		},
		"gs://": func(t *testing.T, to string) error {
			t.Setenv("AWS_ACCESS_KEY_ID", "key")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "canary")
			return pullOnce(t, "gs://spend/store?endpoint="+to)
		},
		"the server of a container's role": func(t *testing.T, to string) error {
			t.Setenv("AWS_ACCESS_KEY_ID", "")
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", to)
			t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "canary")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
			return pullOnce(t, "s3://spend/store")
		},
	} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprintf("%s/%d", name, code), func(t *testing.T) {
				var asked, stolen atomic.Int64
				other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					stolen.Add(1)
				}))
				defer other.Close()
				first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Location", other.URL+r.URL.RequestURI())
					w.WriteHeader(code)
				}))
				defer first.Close()
				err := ask(t, first.URL)
				if err == nil || asked.Load() == 0 || stolen.Load() > 0 || strings.Contains(err.Error(), "canary") {
					t.Errorf("%d requests, %d of them to another host: %v", asked.Load(), stolen.Load(), err)
				}
			})
		}
	}
}

// pullOnce pulls from a bucket. That of S3 has tests of its own in load/remote.
func pullOnce(t *testing.T, address string) error {
	b, err := remote.Open(address, remote.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = b.Pull(t.Context(), remote.PullOptions{Dir: t.TempDir()}); !errors.Is(err, remote.ErrAddress) &&
		!errors.Is(err, remote.ErrDenied) {
		t.Errorf("%v", err)
	}
	return err
}

// clientMakers are the libraries that make HTTP clients of their own unless they are given one, and the
// files that give them ours. TestClients_KeepTheirSecrets of these packages asks each of the clients.
var clientMakers = map[string][]string{
	"github.com/prometheus/client_golang/prometheus/push": {"cmd/spendsync/metrics/"},
	"github.com/minio":                              {"load/remote/"},
	"github.com/apache/iceberg-go/catalog/rest":     {"load/lake/"},
	"github.com/aws/aws-sdk-go-v2":                  {"load/lake/"},
	"github.com/apache/iceberg-go/io/gocloud":       {"load/lake/lake.go", "load/lake/clouds.go"},
	"golang.org/x/oauth2":                           {"load/clouds/", "load/lake/"},
	"google.golang.org/api":                         {"load/clouds/"},
	"gocloud.dev":                                   {"load/clouds/", "load/lake/"},
	"gocloud.dev/gcp":                               nil,
	"go.opentelemetry.io":                           nil,
	"github.com/hashicorp":                          nil,
	"cloud.google.com/go":                           {"load/clouds/"},
	"github.com/Azure":                              {"load/clouds/"},
	"github.com/apache/iceberg-go/catalog/glue":     nil,
	"github.com/apache/iceberg-go/io/gocloud/azure": nil,
	"github.com/apache/iceberg-go/io/gocloud/gcs":   nil,
}

// simulated are the packages of the simulated service and lake and of the benchmark: what they send holds no
// secret of anybody.
var simulated = []string{"extract/adsim", "cmd/adsim", "cmd/bench", "load/lake/laketest"}

func isSimulated(pkg string) bool {
	return slices.ContainsFunc(simulated, func(s string) bool { return pkg == s || strings.HasPrefix(pkg, s+"/") })
}

// TestHouse_ClientsAreMadeInOnePlace: extract/outbound alone makes HTTP clients and transports, and
// libraries that make their own are used only where they are given ours.
func TestHouse_ClientsAreMadeInOnePlace(t *testing.T) {
	made := 0
	goFiles(t, func(pkg, path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") || isSimulated(pkg) {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours := strings.TrimPrefix(path, "../../")
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			for maker, in := range clientMakers {
				isOne := imported == maker || strings.HasPrefix(imported, maker+"/")
				if isOne && !slices.ContainsFunc(in, func(f string) bool { return strings.HasPrefix(ours, f) }) &&
					!strings.HasSuffix(imported, "/types") {
					t.Errorf("%s imports %s, which makes HTTP clients of its own", ours, imported)
				}
			}
			if imported == "net/http" && spec.Name != nil {
				t.Errorf("%s imports net/http by another name", ours)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if what := clientIn(n); what != "" {
				if made++; pkg != "extract/outbound" {
					t.Errorf("%s makes or uses a client that is not of extract/outbound: %s", ours, what)
				}
			}
			return true
		})
	})
	if made == 0 {
		t.Error("extract/outbound makes no client either: this test looks for the wrong thing")
	}
}

// clientIn is what a node makes or uses of net/http's own clients; "": nothing.
func clientIn(n ast.Node) string {
	name := func(e ast.Node) string {
		if s, ok := e.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "http" {
				return s.Sel.Name
			}
		}
		return ""
	}
	switch n := n.(type) {
	case *ast.CompositeLit:
		if s := name(n.Type); s == "Client" || s == "Transport" {
			return s
		}
	case *ast.ValueSpec:
		if s := name(n.Type); s == "Client" || s == "Transport" {
			return s
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "new" && len(n.Args) == 1 {
			if s := name(n.Args[0]); s == "Client" || s == "Transport" {
				return s
			}
		}
	case *ast.SelectorExpr:
		if s := name(n); slices.Contains([]string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post",
			"PostForm"}, s) {
			return s
		}
	}
	return ""
}
