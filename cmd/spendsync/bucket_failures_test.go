package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"spendsync/cmd/internal/exit"
	"spendsync/load/remote"
	"spendsync/schema/schematest"
)

// s3 is an S3 storage in memory. Tests can replace its replies.
type s3 struct {
	http.Handler
	replies atomic.Pointer[http.HandlerFunc] // replaces replies of the storage; nil: no reply is replaced
}

// newS3 serves a bucket "spend", and sets the variables for access to the bucket.
func newS3(t *testing.T) (s *s3, url string) {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("spend"); err != nil {
		t.Fatal(err)
	}
	s = &s3{Handler: gofakes3.New(memory, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := s.replies.Load(); h != nil {
			(*h)(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // gofakes3 writes some headers twice
	server.Start()
	t.Cleanup(server.Close)
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": bucketCanary,
		"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": server.URL, "AWS_CONFIG_FILE": none,
		"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	return s, "s3://spend/store"
}

// bucketCanary is the secret key of the bucket, which no command may show.
const bucketCanary = "bucket-canary-0123456789"

// answer makes the storage answer all requests with a given method, or all requests if the method is empty, with a
// status and an error code of S3.
func (s *s3) answer(method string, status int, code string) {
	s.reply(func(w http.ResponseWriter, r *http.Request) bool {
		if method != "" && r.Method != method {
			return false
		}
		w.WriteHeader(status)
		if code != "" {
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as the storage says</Message></Error>", code)
		}
		return true
	})
}

// reply replaces the replies for which h returns true.
func (s *s3) reply(h func(http.ResponseWriter, *http.Request) bool) {
	var f http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		if !h(w, r) {
			s.ServeHTTP(w, r)
		}
	}
	s.replies.Store(&f)
}

// answers returns a function that makes the storage answer with an error, for [bucketFailures].
func answers(method string, status int, code string) func(*testing.T, *s3) string {
	return func(_ *testing.T, s *s3) string { s.answer(method, status, code); return "" }
}

// loginPage makes the storage answer like a proxy that demands a login.
func loginPage(_ *testing.T, s *s3) string {
	s.reply(func(w http.ResponseWriter, _ *http.Request) bool {
		fmt.Fprint(w, "<html>log in</html>")
		return true
	})
	return ""
}

// silent makes the storage accept requests and never answer.
func silent(_ *testing.T, s *s3) string {
	s.reply(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body) // without this, the server does not notice that the client has disconnected
		<-r.Context().Done()
		return true
	})
	return ""
}

// endpoint makes the client use another server.
func endpoint(url string) func(*testing.T, *s3) string {
	return func(t *testing.T, _ *s3) string { t.Setenv("AWS_ENDPOINT_URL", url); return "" }
}

func withoutTLS(t *testing.T, _ *s3) string {
	t.Setenv("AWS_ENDPOINT_URL", strings.Replace(os.Getenv("AWS_ENDPOINT_URL"), "http:", "https:", 1))
	return ""
}

func unknownCertificate(t *testing.T, s *s3) string {
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	return ""
}

func nothingListens(t *testing.T, s *s3) string {
	server := httptest.NewServer(s)
	server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	return ""
}

func noCredentials(t *testing.T, s *s3) string {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	s.answer("", 403, "AccessDenied")
	return ""
}

func notAFolder(t *testing.T, _ *s3) string {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + path + "/store"
}

func at(url string) func(*testing.T, *s3) string { return func(*testing.T, *s3) string { return url } }

// bucketFailures lists failures of a storage and how push and pull then end: the exit code, and texts in the first and
// the last line. Exit code 0 means that the failure does not affect the command, -1 that the command is not run.
var bucketFailures = []struct {
	name        string
	breaks      func(*testing.T, *s3) string // may return another address
	push, pull  int
	first, last string
}{
	{"403", answers("", 403, "AccessDenied"), exit.Auth, exit.Auth,
		"The storage of s3://spend/store refuses access to current.json (403 AccessDenied)", "check the credentials"},
	{"read only", answers("PUT", 403, "AccessDenied"), exit.Auth, exit.OK,
		"The storage of s3://spend/store refuses access to ", "'push' reads, writes, lists and deletes"},
	{"an archive", answers("GET", 403, "InvalidObjectState"), exit.Storage, exit.Storage,
		"into an archive (403 InvalidObjectState)", "end the lifecycle rule"},
	{"a lock", answers("PUT", 400, "ObjectLocked"), exit.Auth, exit.OK,
		"A lock or a retention of s3://spend/store keeps ", "without object lock"},
	{"no credentials", noCredentials, exit.Auth, exit.Auth, "There are no credentials for s3://spend/store",
		"set AWS_ACCESS_KEY_ID"},
	{"no bucket", at("s3://nowhere/store"), exit.Usage, exit.Usage,
		"There is no bucket of s3://nowhere/store (404 NoSuchBucket)", "or create the bucket"},
	{"nothing pushed", at("s3://spend/other"), -1, exit.Usage, "s3://spend/other: nothing has been pushed there",
		"correct the address, or run 'spendsync push' first"},
	{"500", answers("", 500, "InternalError"), exit.Unreachable, exit.Unreachable,
		"The storage of s3://spend/store keeps failing (500 InternalError): current.json", "wait for the storage"},
	{"full", answers("PUT", 507, ""), exit.Storage, exit.OK,
		"The storage of s3://spend/store is full, or the quota of the bucket is used up (507 Insufficient Storage)",
		"make room or raise the quota"},
	{"a clock that is off", answers("", 403, "RequestTimeTooSkewed"), exit.Auth, exit.Auth,
		"refuses the time of the request (RequestTimeTooSkewed)", "set the clock that is wrong"},
	{"a redirect", answers("", 301, "PermanentRedirect"), exit.Usage, exit.Usage,
		"The region or the endpoint is not that of s3://spend/store (301 PermanentRedirect)", "correct AWS_REGION"},
	{"DNS", endpoint("https://nowhere.invalid"), exit.Unreachable, exit.Unreachable, "nowhere.invalid", "run it again"},
	{"no TLS", withoutTLS, exit.Unreachable, exit.Unreachable,
		"AWS_ENDPOINT_URL begins with https, and its port does not speak TLS", "correct the port in AWS_ENDPOINT_URL"},
	{"a certificate", unknownCertificate, exit.Unreachable, exit.Unreachable,
		"The certificate behind AWS_ENDPOINT_URL is not trusted", "let SPENDSYNC_CA_FILE name a file"},
	{"nothing listens", nothingListens, exit.Unreachable, exit.Unreachable,
		"Nothing listens at AWS_ENDPOINT_URL (connection refused)", "check host and port in AWS_ENDPOINT_URL"},
	{"silence", silent, exit.Unreachable, exit.Unreachable, "No reply from AWS_ENDPOINT_URL in time",
		"check the network policy"},
	{"plain http", endpoint("http://storage.example.com"), exit.Usage, exit.Usage,
		"The storage of s3://spend/store is asked for nothing", "use https in AWS_ENDPOINT_URL"},
	{"a login page", loginPage, exit.Damaged, exit.Damaged,
		"s3://spend/store/current.json: it is not readable", "spendsync push"},
	{"an address of something else", at("ftp://spend/store"), exit.Usage, exit.Usage,
		"gs://BUCKET/PREFIX or file:///FOLDER, not ftp://spend/store", "correct"},
	{"a file for a folder", notAFolder, exit.Storage, exit.Storage, "a file, not a folder", "name a folder"},
}

// TestBucket_EachFailureNamesItsCauseFirst: the first line names the cause, the last line names what to do, and no line
// shows the secret. The bucket keeps its generation. After the failure is over, the next push and pull succeed.
func TestBucket_EachFailureNamesItsCauseFirst(t *testing.T) {
	schematest.Long(t)
	w := makeWorld(t, small).withMarts()
	w.bucket = remote.Options{Pause: time.Millisecond, Patience: 200 * time.Millisecond}
	w.must("sync")
	s, url := newS3(t)
	w.must("push", url)
	w.restate(w.today() - 1)
	w.env["REREAD_AFTER"] = "1ms"
	w.must("sync")
	for _, f := range bucketFailures {
		t.Run(f.name, func(t *testing.T) {
			defer s.replies.Store(nil)
			bad := f.breaks(t, s)
			if bad == "" {
				bad = url
			}
			w := *w
			w.t = t
			if f.push >= 0 {
				w.wantEnd(f.push, f.first, f.last, "push", bad)
			}
			w.wantEnd(f.pull, f.first, f.last, "pull", bad, filepath.Join(t.TempDir(), "copy"))
		})
	}
	copied := filepath.Join(t.TempDir(), "copy")
	w.must("pull", "--all", url, copied)
	w.must("push", url)
	w.must("verify", "--data-dir", copied)
}

// wantEnd runs a command, and checks its exit code and texts in its first and last lines.
func (w *world) wantEnd(code int, first, last string, args ...string) {
	w.t.Helper()
	got, stderr := w.stderr(args...)
	if strings.Contains(stderr, bucketCanary) {
		w.t.Errorf("%s shows the secret: %s", args[0], stderr)
	}
	if got != code {
		w.t.Errorf("%s: exit %d, want %d: %s", args[0], got, code, stderr)
		return
	}
	if code == exit.OK {
		return
	}
	lines := strings.Split(strings.TrimSpace(stderr[strings.LastIndex("\n"+stderr, "\nspendsync: "):]), "\n")
	if !strings.Contains(lines[0], first) {
		w.t.Errorf("%s: the first line is %q, without %q", args[0], lines[0], first)
	}
	if do := lines[len(lines)-1]; !strings.HasPrefix(do, "  do: ") || !strings.Contains(do, last) ||
		!strings.HasSuffix(do, fmt.Sprintf(" (exit %d)", code)) {
		w.t.Errorf("%s: the last line is %q, without %q", args[0], do, last)
	}
	w.t.Logf("%s", strings.Join(lines, "\n"))
}
