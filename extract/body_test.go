package extract

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestClient_CapsDecodedBytes(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("gzip is not asked for")
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		_, _ = io.WriteString(z, `{"columns":[`)
		for range 8 {
			if _, err := io.WriteString(z, strings.Repeat(" ", 1<<20)); err != nil {
				return
			}
		}
	}))
	defer service.Close()
	c := newTestClient(t, nil, func(o *Options) { o.BaseURL, o.Transport, o.MaxBody = service.URL, nil, 1<<20 })
	_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
	wantError(t, err, ErrContract, "larger than the cap of 1048576 bytes")
	check(t, "requests", c.Stats().Requests, 1)
	check(t, "bytes read", c.Stats().Bytes, 1<<20+1)
}

func TestClient_ReadsGzip(t *testing.T) {
	body := pageOf(lines(1), placed(1, 3, 1, 1))
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		_, _ = io.WriteString(z, body)
	}))
	defer service.Close()
	c := newTestClient(t, nil, func(o *Options) { o.BaseURL, o.Transport = service.URL, nil })
	got, err := walk(t, dayOf(t.Context(), c, testDay, 3))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "raw", string(got[0].Raw), body)
	check(t, "bytes", c.Stats().Bytes, int64(len(body)))
}

// TestClient_NeverTakesAPrefix: a reply that is cut off is requested again, and never mistaken for a complete reply.
// The test cuts the first page at every byte, later pages at every seventh byte, in each way in which a transport may
// report the cut.
func TestClient_NeverTakesAPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := lines(5)
		for page := 1; page <= 3; page++ {
			whole := len(pageOf(rows[:2], placed(1, 2, 5, 3)))
			for at := 0; at < whole; at += []int{1, 7, 7}[page-1] {
				for _, way := range []string{"length", "chunked", "closed"} {
					s := &report{rows: rows}
					c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
						resp, err := s.RoundTrip(r)
						if n := r.URL.Query().Get("page"); err != nil || n != strconv.Itoa(page) || s.tries[page] > 1 {
							return resp, err
						}
						body, _ := io.ReadAll(resp.Body)
						cut := string(body[:min(at, len(body)-1)])
						switch way {
						case "length":
							resp.Body = brokenBody(cut, nil)
						case "chunked":
							resp.Body, resp.ContentLength = brokenBody(cut, io.ErrUnexpectedEOF), -1
						case "closed":
							resp.Body, resp.ContentLength = brokenBody(cut, nil), -1
						}
						return resp, nil
					}))
					got, err := walk(t, dayOf(t.Context(), c, testDay, 2))
					if err != nil {
						t.Fatalf("%s: page %d cut at byte %d: %v", way, page, at, err)
					}
					if ids := sources(got); ids != "S1 S2 S3 S4 S5" {
						t.Fatalf("%s: page %d cut at byte %d: %s", way, page, at, ids)
					}
					check(t, "retries", c.Stats().Retries, 1)
				}
			}
		}
	})
}

// TestClient_TimesARequestWithItsBody: a request that gets no headers, no body or one byte at a time ends with its
// timeout and is sent again.
func TestClient_TimesARequestWithItsBody(t *testing.T) {
	for name, stall := range map[string]func(*http.Request, *http.Response) (*http.Response, error){
		"headers": func(r *http.Request, _ *http.Response) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"body": func(r *http.Request, resp *http.Response) (*http.Response, error) {
			resp.Body = stalledBody{r, strings.NewReader("")}
			return resp, nil
		},
		"mid-body": func(r *http.Request, resp *http.Response) (*http.Response, error) {
			resp.Body = stalledBody{r, strings.NewReader(`{"columns":`)}
			return resp, nil
		},
		"dribble": func(r *http.Request, resp *http.Response) (*http.Response, error) {
			resp.Body = stalledBody{r, dribble{time.Second}}
			return resp, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &report{rows: lines(5)}
				c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					resp, err := s.RoundTrip(r)
					if s.tries[2] == 1 && r.URL.Query().Get("page") == "2" {
						return stall(r, resp)
					}
					return resp, err
				}), func(o *Options) { o.Timeout = 20 * time.Second })
				start := time.Now()
				got, err := walk(t, dayOf(t.Context(), c, testDay, 2))
				if err != nil {
					t.Fatal(err)
				}
				check(t, "sources", sources(got), "S1 S2 S3 S4 S5")
				if took := time.Since(start); took < 20*time.Second || took > 22*time.Second {
					t.Errorf("took %v, want one timeout of 20s and a short wait", took)
				}
			})
		})
	}
}

// dribble returns one byte per interval, forever.
type dribble struct{ every time.Duration }

func (d dribble) Read(p []byte) (int, error) {
	time.Sleep(d.every)
	p[0] = ' '
	return 1, nil
}

// boundless returns blanks, forever.
type boundless struct{ every time.Duration }

func (e boundless) Read(p []byte) (int, error) {
	time.Sleep(e.every)
	n := min(len(p), 1<<20)
	copy(p[:n], bytes.Repeat([]byte(" "), n))
	return n, nil
}

// TestClient_BoundsAllRepliesTogether: endless replies share one budget of memory, however many arrive at once, and
// each of them is refused for its size. A reply that found no memory is requested again, alone. Short replies are read
// at the same time.
func TestClient_BoundsAllRepliesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, nil)
		c.transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := answerWith(200, `{"a":1}`)
			if !strings.HasSuffix(r.URL.Path, "limits") {
				resp.Body, resp.ContentLength = io.NopCloser(boundless{time.Millisecond}), -1
			}
			return resp, err
		})
		var group sync.WaitGroup
		for i := range 9 {
			group.Go(func() {
				if i%3 == 0 {
					_, err := c.Limits(t.Context())
					check(t, "a short reply", err, nil)
					return
				}
				_, err := c.Balance(t.Context())
				wantError(t, err, ErrContract, "larger than the cap")
			})
		}
		group.Wait()
		check(t, "all is free again", c.inFlight.free.TryAcquire(maxInFlight), true)
	})
}
