package lake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/schema/schematest"
)

// behind serves the world's catalog behind a handler that may answer itself, and returns its options.
func (w *world) behind(answers func(rw http.ResponseWriter, r *http.Request) bool) Options {
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !answers(rw, r) {
			w.Rest.ServeHTTP(rw, r)
		}
	}))
	w.Cleanup(srv.Close)
	o := w.options()
	o.Catalog = srv.URL
	return o
}

func followWith(t *testing.T, o Options, s *store) (*Followed, error) {
	t.Helper()
	l, err := Open(t.Context(), o)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return l.Follow(t.Context(), FollowOptions{Dir: s.Dir})
}

func TestReplies_WaitWhereTheCatalogAsks(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	var waited sync.Map // by request: each is sent twice
	o := w.behind(func(rw http.ResponseWriter, r *http.Request) bool {
		if _, sent := waited.LoadOrStore(r.Method+r.URL.String(), true); sent {
			return false
		}
		rw.Header().Set("Retry-After", "0")
		rw.WriteHeader(http.StatusTooManyRequests)
		return true
	})
	if _, err := followWith(t, o, s); err != nil {
		t.Fatal(err)
	}
	w.check(w.open(), s)
	always := w.behind(func(rw http.ResponseWriter, r *http.Request) bool {
		rw.Header().Set("Retry-After", "0")
		rw.WriteHeader(http.StatusTooManyRequests)
		return true
	})
	if _, err := followWith(t, always, s); !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v, want ErrUnreachable", err)
	}
}

func TestRetryAfter(t *testing.T) {
	schematest.Long(t)
	now := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": time.Second, "7": 7 * time.Second, "86400": time.Minute,
		"-3": 0, "Tue, 03 Nov 2026 12:00:30 GMT": 30 * time.Second, "soon": time.Second} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestFollow_SaysCommittedAfterALostAnswer: the connection ends after the commit was done.
func TestFollow_SaysCommittedAfterALostAnswer(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	cut := false
	o := w.behind(func(rw http.ResponseWriter, r *http.Request) bool {
		if cut || !strings.HasSuffix(r.URL.Path, "/transactions/commit") {
			return false
		}
		cut = true
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.Rest.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
	done, err := followWith(t, o, s)
	if err != nil || !cut || done.IsNothing() || done.Rows == 0 || done.Tries != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	w.check(w.open(), s)
	if done, err := followWith(t, o, s); err != nil || !done.IsNothing() {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestFollow_WithoutTheEndpointOfTransactions: a catalog that does not list its endpoints may lack this one.
func TestFollow_WithoutTheEndpointOfTransactions(t *testing.T) {
	schematest.Long(t)
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			w, s := newWorld(t), sample(t)
			o := w.behind(func(rw http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/transactions/commit") {
					return false
				}
				http.Error(rw, "no such page", status)
				return true
			})
			if _, err := followWith(t, o, s); err != nil {
				t.Fatal(err)
			}
			w.check(w.open(), s)
			l, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if found, err := l.Check(t.Context(), s.Dir); err != nil || found.Transactions {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// refuse answers with a catalog's error.
func refuse(rw http.ResponseWriter, status int, text string) bool {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	fmt.Fprintf(rw, `{"error":{"message":%q,"type":"BadRequestException","code":%d}}`, text, status)
	return true
}

func TestFollow_SaysWhatTheCatalogRefuses(t *testing.T) {
	schematest.Long(t)
	for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotAcceptable} {
		w, s := newWorld(t), sample(t)
		o := w.behind(func(rw http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/transactions/commit") &&
				refuse(rw, status, "snapshot-id too large\n\tat java.lang.Thread")
		})
		_, err := followWith(t, o, s)
		said, ok := errors.AsType[*RefusedError](err)
		if !errors.Is(err, ErrRejected) || !ok || said.Status != status ||
			!strings.HasSuffix(err.Error(), "BadRequestException: snapshot-id too large") {
			t.Errorf("%d: %v", status, err)
		}
		if strings.Contains(err.Error(), "http://") {
			t.Errorf("%v", err)
		}
	}
}

// noSecondSchema is a catalog like Nessie's, which refuses to add a schema to a table.
func noSecondSchema(t *testing.T) func(rw http.ResponseWriter, r *http.Request) bool {
	return func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		return strings.Count(string(body), `"add-schema"`) > 1 && refuse(rw, http.StatusBadRequest, "add-schema: no")
	}
}

// TestCreate_WithoutASecondSchema: a table whose ids the catalog would leave unchanged is made with one schema; of
// one that it numbers anew nothing stays.
func TestCreate_WithoutASecondSchema(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	o := w.behind(noSecondSchema(t))
	_, err := followWith(t, o, s)
	if !errors.Is(err, ErrRejected) || !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "add-schema: no") {
		t.Fatalf("%v", err)
	}
	if w.Rest.Metadata("spendsync", MarkerTable) == nil {
		t.Error("lake_generation, whose ids count from 1, is not there")
	}
	if w.Rest.Metadata("spendsync", "campaign_delivery_history") != nil {
		t.Error("a table with other ids stays")
	}
}

// withTokens is a catalog that serves tokens to client credentials, each good for some requests, and says that they are
// good for some seconds.
func withTokens(good, seconds int) (answers func(rw http.ResponseWriter, r *http.Request) bool, issued *atomic.Int64) {
	issued = new(atomic.Int64)
	var mu sync.Mutex
	used := map[string]int{}
	return func(rw http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/oauth/tokens") {
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(rw, `{"access_token":"token-%d","token_type":"bearer","expires_in":%d}`, issued.Add(1),
				seconds)
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		token := r.Header.Get("Authorization")
		if used[token]++; strings.HasPrefix(token, "Bearer token-") && used[token] <= good {
			return false
		}
		rw.WriteHeader(http.StatusUnauthorized)
		return true
	}, issued
}

// TestFollow_RenewsItsToken: tokens that expire at once, so that each request of a follow needs another; and the
// credentials go to the endpoint of tokens alone.
func TestFollow_RenewsItsToken(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	answers, issued := withTokens(1, 1)
	o := w.behind(answers)
	o.Credential = "id:secret"
	done, err := followWith(t, o, s)
	if err != nil || done.IsNothing() || issued.Load() < done.Requests/2 {
		t.Fatalf("%+v, %v; %d tokens", done, err, issued.Load())
	}
	w.check(w.open(), s)
}

// TestFollow_ReplacesARefusedToken: if the catalog refuses a token long before it expires, a follow continues with
// another, one for each that is refused, and a token that is refused at once is a refusal.
func TestFollow_ReplacesARefusedToken(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	answers, issued := withTokens(20, 3600)
	o := w.behind(answers)
	o.Credential = "id:secret"
	done, err := followWith(t, o, s)
	if err != nil || done.IsNothing() || done.Tries > 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	w.check(w.open(), s)
	if few, many := done.Requests/25, done.Requests/20+1; issued.Load() < max(few, 2) || issued.Load() > many {
		t.Errorf("%d tokens for %d requests", issued.Load(), done.Requests)
	}
	answers, issued = withTokens(0, 3600)
	o = w.behind(answers)
	o.Credential = "id:secret"
	if _, err := Open(t.Context(), o); !errors.Is(err, ErrDenied) || issued.Load() != 2 {
		t.Errorf("%v after %d tokens", err, issued.Load())
	}
}

// TestFollow_StandsATokenThatIsWithdrawn: a token that no longer holds is a refusal, which changes nothing; the next
// run, which asks for a token of its own, ends.
func TestFollow_StandsATokenThatIsWithdrawn(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	w.follow(s)
	for from := 2; ; from += 4 {
		s.Spend("acme", "2026-11-02", 4, int64(from))
		s.Publish()
		var requests atomic.Int64
		o := w.behind(func(rw http.ResponseWriter, r *http.Request) bool {
			withdrawn := requests.Add(1) >= int64(from)
			if withdrawn {
				rw.WriteHeader(http.StatusUnauthorized)
			}
			return withdrawn
		})
		o.Token = "token"
		before := w.State()
		_, err := followWith(t, o, s)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrDenied) || !maps.Equal(before, w.State()) {
			t.Errorf("withdrawn at request %d: %v", from, err)
		}
		w.follow(s)
	}
	w.check(w.open(), s)
}
