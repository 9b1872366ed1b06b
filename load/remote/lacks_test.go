package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/load/durable"
	"spendsync/schema/schematest"
)

// TestStorages_ThatLackSomething: a proxy refuses requests that some storages do not support. Push and pull work
// nevertheless, and warn if they must rely on something unchecked. If the missing feature is indispensable, the error
// names the feature.
func TestStorages_ThatLackSomething(t *testing.T) {
	refuse := func(w http.ResponseWriter, status int, code, says string) bool {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, says)
		return true
	}
	hasHeader := func(r *http.Request, names ...string) bool {
		for name := range r.Header {
			if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(strings.ToLower(name), n) }) {
				return true
			}
		}
		return false
	}
	for name, lack := range map[string]struct {
		fault fault
		warns string
	}{
		"chunked bodies": {fault: func(w http.ResponseWriter, r *http.Request) bool {
			chunked := strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") ||
				strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") || len(r.TransferEncoding) > 0
			return chunked && refuse(w, 501, "NotImplemented", "Transfering payloads in multiple chunks")
		}},
		"checksums": {fault: func(w http.ResponseWriter, r *http.Request) bool {
			return hasHeader(r, "x-amz-checksum-", "x-amz-sdk-checksum", "x-amz-trailer") &&
				refuse(w, 400, "InvalidArgument", "x-amz-checksum is not supported")
		}},
		"conditional writes": {fault: func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPut && hasHeader(r, "if-match", "if-none-match") &&
				refuse(w, 501, "NotImplemented", "A header you provided implies functionality that is not implemented")
		}, warns: "no conditional writes"},
		"conditional writes, by 400": {fault: func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPut && hasHeader(r, "if-match", "if-none-match") &&
				refuse(w, 400, "InvalidArgument", "Invalid header: If-None-Match")
		}, warns: "no conditional writes"},
		"deletion of many": {fault: func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPost && r.URL.Query().Has("delete") &&
				refuse(w, 501, "NotImplemented", "multi-object delete")
		}},
	} {
		if !schematest.Drawn(name, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p, s := newS3(t), newStore(t)
			p.fail(lack.fault)
			var log bytes.Buffer
			for i := range int64(schematest.Times(6, 12, 12)) {
				s.now = s.now.Add(20 * time.Hour)
				s.publish(100+i, 200)
				o := s.pushOptions()
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
				if _, err := p.open().Push(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			p.check(s.published())
			if warned := strings.Contains(log.String(), "level=WARN"); warned != (lack.warns != "") ||
				!strings.Contains(log.String(), lack.warns) {
				t.Errorf("the log is %s", log.String())
			}
		})
	}
	t.Run("writing", func(t *testing.T) {
		p, s := newS3(t), newStore(t)
		s.publish(100)
		for status, code := range map[int]string{501: "NotImplemented", 405: "MethodNotAllowed",
			400: "InvalidRequest"} {
			p.fail(func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPut && refuse(w, status, code, "no PUT here")
			})
			if _, err := p.push(s); !errors.Is(err, ErrLacking) || errors.Is(err, ErrUnavailable) ||
				!strings.Contains(err.Error(), "no PUT here") {
				t.Errorf("%d: %v", status, err)
			}
		}
	})
}

// TestGoogle: gs:// uses Google's S3 endpoint, without conditional writes. Without HMAC keys the push fails for lack of
// credentials.
func TestGoogle(t *testing.T) {
	p, s := newS3(t), newStore(t)
	u := strings.Replace(p.url, "s3://", "gs://", 1) + "?endpoint=" + urlOf(p)
	p.fail(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(strings.ToLower(r.Header.Get("Authorization")), "aws4-hmac") {
			r.Header.Del("If-None-Match")
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	p.url = u
	for i := range int64(3) {
		s.publish(100+i, 200)
		p.mustPush(s)
	}
	p.check(s.published())
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, err := p.push(s); !errors.Is(err, ErrDenied) {
		t.Errorf("without keys: %v", err)
	}
}

func urlOf(*place) string {
	at, _ := firstSet("AWS_ENDPOINT_URL")
	return at
}

// TestStorages_ThatLoseWrites: an object that the storage has confirmed and lost is damage, and a full push repairs it.
func TestStorages_ThatLoseWrites(t *testing.T) {
	for _, lost := range []string{"/" + objectFolder, "/" + generationFolder, "/" + pointerName,
		"/" + warehouseFolder} {
		t.Run(lost, func(t *testing.T) {
			p, s := newS3(t), newStore(t)
			s.publish(100, 200)
			p.mustPush(s)
			s.publish(101, 201)
			p.fail(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, lost) ||
					r.Header.Get("X-Amz-Copy-Source") != "" {
					return false
				}
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
				return true
			})
			_, err := p.push(s)
			p.fault.Store(nil)
			if err == nil { // a push does not read this object, but a pull does
				_, err = p.pull(PullOptions{Dir: t.TempDir(), All: true})
			}
			var damage *durable.Damage
			if !errors.As(err, &damage) || damage.Repair != "spendsync push --full" {
				t.Errorf("%v", err)
			}
			o := s.pushOptions()
			o.Full = true
			if _, err := p.open().Push(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			p.check(s.published())
		})
	}
}

// TestPull_NeverGoesBack: a copy for readers goes back to an older generation only if that generation is selected.
func TestPull_NeverGoesBack(t *testing.T) {
	p, s, dir := newFolder(t), newStore(t), t.TempDir()
	s.publish(100)
	older := s.copied()
	s.publish(101)
	p.mustPush(s)
	if _, err := p.pull(PullOptions{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	o := older.pushOptions()
	o.AcceptLoss = true
	if _, err := p.open().Push(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := p.pull(PullOptions{Dir: dir}); !errors.Is(err, ErrOlder) {
		t.Errorf("%v", err)
	}
	if _, err := p.pull(PullOptions{Dir: dir, Generation: 1}); err != nil {
		t.Error(err)
	}
}

// TestS3_EncryptsAsTheAddressSays: every write asks for the encryption that the address states.
func TestS3_EncryptsAsTheAddressSays(t *testing.T) {
	for query, want := range map[string]string{"?sse=AES256": "AES256 ", "?sse=aws:kms&sse_key=k1": "aws:kms k1",
		"": " "} {
		p, s := newS3(t), newStore(t)
		s.publish(100)
		p.url += query
		var writes atomic.Int64
		p.fail(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut {
				return false
			}
			writes.Add(1)
			if got := r.Header.Get("X-Amz-Server-Side-Encryption") + " " +
				r.Header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"); got != want {
				t.Errorf("%s: %s %s asks for %q, want %q", query, r.Method, r.URL.Path, got, want)
			}
			return false
		})
		p.mustPush(s)
		if writes.Load() < 5 {
			t.Errorf("%d writes", writes.Load())
		}
	}
	for _, query := range []string{"?sse=rot13", "?sse_key=k1", "?sse=AES256&sse_key=k1"} {
		if _, err := Open("s3://spend/store"+query, Options{}); !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v, want ErrAddress", query, err)
		}
	}
}
