package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/load/durable"
	"spendsync/schema/schematest"
)

// TestStorages_ThatLackSomething: a proxy takes from a storage what some do not have. Push and pull work all the same,
// with a warning where they take something for granted; what they cannot do without is named.
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
		"conditional reads": {fault: func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet {
				r.Header.Del("If-None-Match")
			}
			return false
		}},
	} {
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

// TestGoogle: gs:// is Google's S3 endpoint, which knows no conditional writes; without HMAC keys there are no
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

// TestStorages_ThatLoseWrites: a write that was answered and is not there ends in damage, and a full push mends it.
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
			if err == nil { // nothing that a push reads: a pull does
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

// TestPush_MendsWhatReadersGlob: once a day also a push with nothing new compares the Parquet files at their store's
// names, and CheckShown names what it would mend.
func TestPush_MendsWhatReadersGlob(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		s.publish(100, 200, 300)
		p.mustPush(s)
		var names []string
		for name := range s.published() {
			if isParquet(name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		good := p.objects()
		flipped := []byte(good[names[0]])
		flipped[len(flipped)/2] ^= 1
		second := strings.Replace(names[0], "data.parquet", "second.parquet", 1)
		p.put(names[0], string(flipped))
		p.put(names[1], good[names[1]]+"x")
		p.put(second, good[names[0]])
		if err := p.open().remove(t.Context(), []string{names[2]}); err != nil {
			t.Fatal(err)
		}
		faults, err := p.open().CheckShown(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var named []string
		for _, f := range faults {
			named = append(named, strings.TrimPrefix(f.Path, p.open().Address()+"/"))
		}
		slices.Sort(named)
		want := []string{names[0], names[1], names[2], second}
		if slices.Sort(want); !slices.Equal(named, want) {
			t.Errorf("named are %q, want %q", named, want)
		}
		if done := p.mustPush(s); done.Mended > 0 {
			t.Errorf("%+v on the same day", done)
		}
		s.now = s.now.Add(25 * time.Hour)
		if done := p.mustPush(s); done.New || done.Mended != 4 {
			t.Errorf("%+v", done)
		}
		p.checkGlob(s.published())
		if faults, err := p.open().CheckShown(t.Context()); err != nil || len(faults) > 0 {
			t.Errorf("%v, %v", faults, err)
		}
	})
}

// TestPull_NeverGoesBack: a reader's copy follows a bucket to an older generation only where it is named, and of a list
// that names more than the manifest nothing is written.
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

// TestS3_SendsLargeObjectsInParts: one that cannot be read to its end becomes no object.
func TestS3_SendsLargeObjectsInParts(t *testing.T) {
	p := newS3(t)
	b, text := p.open(), bytes.Repeat([]byte("0123456789abcde\n"), onePiece/16+1)
	c := textOf("application/octet-stream", text)
	parts := 0
	p.fail(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && r.URL.Query().Has("partNumber") {
			parts++
			if parts == 2 { // and is sent again
				w.WriteHeader(http.StatusInternalServerError)
				return true
			}
		}
		return false
	})
	if err := b.put(t.Context(), "objects/large", c); err != nil || parts != onePiece/partSize+2 {
		t.Fatalf("%v, %d parts", err, parts)
	}
	sum, size := sha256.New(), int64(0)
	if err := b.get(t.Context(), "objects/large", func(r io.Reader) (err error) {
		size, err = io.Copy(sum, r)
		return err
	}); err != nil || size != c.bytes || hex.EncodeToString(sum.Sum(nil)) != c.sha256 {
		t.Errorf("%d bytes, want %d; %v", size, c.bytes, err)
	}
	cut := errors.New("the disk fails")
	c.open = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(text[:partSize+1]), readerFunc(func([]byte) (int, error) {
			return 0, cut
		}))), nil
	}
	if err := b.put(t.Context(), "objects/cut", c); !errors.Is(err, cut) {
		t.Errorf("%v", err)
	}
	if names := p.names(); !slices.Equal(names, []string{"objects/large"}) {
		t.Errorf("there are %q", names)
	}
}
