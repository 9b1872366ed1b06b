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
	"sync/atomic"
	"testing"

	"spendsync/schema/schematest"
)

// behind serves the world's catalog behind a function that may answer requests itself. It returns the options for
// connecting to this server.
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

// TestFollow_FindsDoneAfterALostAnswer: the connection breaks after the commit has happened.
func TestFollow_FindsDoneAfterALostAnswer(t *testing.T) {
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
	if err != nil || !cut || !done.IsNothing() {
		t.Fatalf("%+v, %v", done, err)
	}
	w.check(w.open(), s)
	if done, err := followWith(t, o, s); err != nil || !done.IsNothing() {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestFollow_WithoutTheEndpointOfTransactions: if the catalog answers 404 or 501 to a transaction, Follow commits each
// table on its own.
func TestFollow_WithoutTheEndpointOfTransactions(t *testing.T) {
	schematest.Long(t)
	for _, status := range []int{http.StatusNotFound, http.StatusNotImplemented} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			w, s := newWorld(t), sample(t)
			o := w.behind(func(rw http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/transactions/commit") {
					return false
				}
				return refuse(rw, status, "no such page")
			})
			if _, err := followWith(t, o, s); err != nil {
				t.Fatal(err)
			}
			w.check(w.open(), s)
		})
	}
}

// refuse writes an error reply of a catalog.
func refuse(rw http.ResponseWriter, status int, text string) bool {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	fmt.Fprintf(rw, `{"error":{"message":%q,"type":"BadRequestException","code":%d}}`, text, status)
	return true
}

func TestFollow_SaysWhatTheCatalogRefuses(t *testing.T) {
	schematest.Long(t)
	for status, kind := range map[int]error{http.StatusBadRequest: ErrRejected,
		http.StatusUnprocessableEntity: ErrRejected, http.StatusNotAcceptable: ErrRejected,
		http.StatusTooManyRequests: ErrUnreachable} {
		w, s := newWorld(t), sample(t)
		o := w.behind(func(rw http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/transactions/commit") &&
				refuse(rw, status, "snapshot-id too large\n\tat java.lang.Thread")
		})
		_, err := followWith(t, o, s)
		if !errors.Is(err, kind) || kind == ErrRejected &&
			!strings.Contains(err.Error(), "BadRequestException: snapshot-id too large") {
			t.Errorf("%d: %v", status, err)
		}
		if kind == ErrRejected && strings.Contains(err.Error(), "http://") {
			t.Errorf("%v", err)
		}
	}
}

// noSecondSchema returns a function for behind that refuses, like Nessie, to add a second schema to a table.
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

// TestCreate_WithoutASecondSchema: our tables can't be made in a catalog that refuses a second schema. The error
// contains the catalog's own text.
func TestCreate_WithoutASecondSchema(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	o := w.behind(noSecondSchema(t))
	_, err := followWith(t, o, s)
	if !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "add-schema: no") {
		t.Fatalf("%v", err)
	}
	if w.Rest.Metadata("spendsync", MarkerTable) != nil {
		t.Error("a table stays")
	}
}

// TestFollow_StandsATokenThatIsWithdrawn: if the token becomes invalid during a run, the run is refused and changes
// nothing. The next run gets a new token and succeeds.
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
