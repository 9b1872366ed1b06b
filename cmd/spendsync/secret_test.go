package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// The secrets that the tests below look for. They must not appear in any output, whatever fails.
const (
	canaryKey      = "adv_cAn4ryKey0123456789"
	canaryPassword = `cAn4ryPass"wörd/&<+ %`
)

// ofSecrets returns a world with these secrets. At its end, the test checks that the store contains none of them.
func ofSecrets(t *testing.T) *world {
	t.Helper()
	w := makeWorld(t, small, func(c *adsim.Config) { c.APIKey, c.ReportPassword = canaryKey, canaryPassword })
	w.env["API_KEY"], w.env["REPORT_PASSWORD"], w.env["LOG_LEVEL"] = canaryKey, canaryPassword, "debug"
	return w
}

// runLogged runs a command and returns all of stderr, too. No output shows a secret.
func (w *world) runLogged(args ...string) (code int, stderr, lastLine string) {
	w.t.Helper()
	code, stdout, stderr := w.execute(w.t.Context(), args)
	if i := strings.Index(stdout+stderr, "cAn4ry"); i >= 0 {
		w.t.Errorf("%q shows a secret: %s", args, (stdout + stderr)[max(0, i-100):])
	}
	return code, stderr, ending(stderr)
}

// TestSecret_AServiceThatRepeatsIt: a service repeats the credentials in the bodies and headers of its errors, in HTML
// pages, in redirects, and in its reply about the key. They must not appear in an output, a file of the store, the
// stored replies, or any text of the warehouse.
func TestSecret_AServiceThatRepeatsIt(t *testing.T) {
	t.Parallel()
	w := ofSecrets(t).synced()
	w.env["LOG_FORMAT"], w.env["HTTP_TIMEOUT"] = "json", "5s"
	var asked atomic.Int64
	w.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		said := repeatSecrets(r)
		resp.Header.Set("Service-Api-Key-Expiry-Warning", "your key "+said)
		resp.Header.Set("X-Request-Id", said)
		path := strings.TrimPrefix(r.URL.Path, adsim.APIPrefix)
		n := int(asked.Add(1))
		switch {
		case path == "/v1/me":
			body, _ := io.ReadAll(resp.Body)
			return replyWith(resp, 200, strings.Replace(string(body), "{", `{"key_value":"`+canaryKey+`",`, 1)), nil
		case strings.HasSuffix(path, "/sources"):
			return replyWith(resp, 400, `{"error":{"message":"`+strings.ReplaceAll(said, `"`, `\"`)+`","request_id":"`+
				canaryKey+`"}}`), nil
		case strings.HasSuffix(path, "/creatives"):
			resp.Header.Set("Location", "https://"+canaryKey+".evil.test/?key="+url.QueryEscape(said))
			return replyWith(resp, 302, said), nil
		case strings.HasPrefix(path, "/v1/campaigns/"):
			return replyWith(resp, 200, "<pre>"+said+"</pre>"), nil
		case path == "/v1/balance":
			resp.Header.Set("Retry-After", canaryKey)
			return replyWith(resp, 503, said), nil
		case r.URL.Query().Get("start_date") == (w.today() - 2).String():
			return replyWith(resp, 500, strings.Repeat("x", n%300)+said), nil
		case r.URL.Query().Get("start_date") == (w.today() - 1).String():
			return replyWith(resp, 200, strings.Repeat(" ", n%3)+`{"`+strings.Repeat("x", n%90)+strings.ReplaceAll(said,
				`"`, `\"`)+`":`+said), nil
		}
		return resp, nil
	})
	code, stderr, _ := w.runLogged("sync")
	if code != exit.Partial {
		t.Errorf("exit %d", code)
	}
	if !strings.Contains(stderr, "[redacted]") {
		t.Error("nothing was redacted: the service did not repeat anything")
	}
	for line := range strings.Lines(stderr) {
		if !json.Valid([]byte(line)) {
			t.Errorf("this is no line of JSON: %s", line)
		}
	}
	w.runLogged("status")
	w.runLogged("verify")
	w.wantNoCanaryAnywhere()
}

// repeatSecrets returns the credentials of a request in several spellings.
func repeatSecrets(r *http.Request) string {
	header := r.Header.Get("Authorization")
	both := header
	if basic, ok := strings.CutPrefix(header, "Basic "); ok {
		plain, _ := base64.StdEncoding.DecodeString(basic)
		both = string(plain)
	}
	return strings.Join([]string{header, both, url.QueryEscape(both), html.EscapeString(both)}, " ")
}

// replyWith returns a reply with another status and body.
func replyWith(resp *http.Response, status int, body string) *http.Response {
	resp.Body.Close()
	resp.StatusCode, resp.Body, resp.ContentLength = status, io.NopCloser(strings.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp
}

// wantNoCanaryAnywhere looks for the secrets in the stored replies, which it decompresses, and in every text of every
// table.
func (w *world) wantNoCanaryAnywhere() {
	w.t.Helper()
	hides := func(text string) bool {
		token := base64.StdEncoding.EncodeToString([]byte(adsim.DefaultUser + ":" + canaryPassword))
		return strings.Contains(text, "cAn4ry") || strings.Contains(text, token[30:50])
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer d.Close()
	files := 0
	err = filepath.WalkDir(w.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".zst") {
			b, err = d.DecodeAll(b, nil)
		}
		if hides(string(b)) {
			w.t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil || files < 50 {
		w.t.Errorf("%d files, %v", files, err)
	}
	columns := strings.Split(w.ask("SELECT table_schema || '|' || table_name || '|' || column_name FROM "+
		"information_schema.columns WHERE data_type = 'VARCHAR' AND regexp_full_match(column_name, '[a-z0-9_]+') AND "+
		"table_schema IN ('main', 'ops')"), "\n")
	if len(columns) < 50 {
		w.t.Errorf("only %d columns of text", len(columns))
	}
	var questions []string
	for _, c := range columns {
		p := strings.Split(c, "|")
		questions = append(questions, fmt.Sprintf(`SELECT '%s.%s.%s' FROM "%[1]s"."%[2]s" WHERE "%[3]s" LIKE
			'%%cAn4ry%%'`, p[0], p[1], p[2]))
	}
	if found := w.ask(strings.Join(questions, " UNION ")); found != "" {
		w.t.Errorf("secrets in %s", found)
	}
}

// TestSecret_TheCanaryIsHeard: the checks of these tests do find a secret if there is one.
func TestSecret_TheCanaryIsHeard(t *testing.T) {
	w := ofSecrets(t)
	w.env["ACCOUNT"] = "cAn4ry"
	if _, stderr := w.stderr("sync"); !strings.Contains(stderr, "cAn4ry") {
		t.Errorf("stderr: %s", stderr)
	}
}
