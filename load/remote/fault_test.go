package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/loadtest"
	"spendsync/schema/schematest"
)

// TestMain also runs the test binary as a push or pull process, which a test kills.
func TestMain(m *testing.M) {
	if task := os.Getenv("REMOTE_TEST_TASK"); task != "" {
		if err := runTask(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(loadtest.InMemory(m))
}

func runTask(task string) error {
	command, rest, _ := strings.Cut(task, " ")
	url, dir, _ := strings.Cut(rest, " ")
	ctx := context.Background()
	b, err := Open(url, Options{Pause: time.Millisecond})
	if err != nil {
		return err
	}
	if command == "push" {
		_, err = b.Push(ctx, PushOptions{Dir: dir, Page: page, LockWait: time.Minute})
	} else {
		_, err = b.Pull(ctx, PullOptions{Dir: dir, All: command == "all", Store: storeOptions(time.Now())})
	}
	return err
}

// killed runs a task, kills it after some time (0: never), and reports whether it died.
func killed(t *testing.T, task string, after time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	if after == 0 {
		ctx, cancel = context.WithCancel(t.Context())
	}
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), "REMOTE_TEST_TASK="+task)
	out, err := c.CombinedOutput()
	if err != nil && ctx.Err() == nil {
		t.Fatalf("%s: %v: %s", task, err, out)
	}
	return err != nil
}

// TestKills: pushes and pulls that are killed at random moments leave the former generation or the new one. Later
// pushes and pulls succeed as if undisturbed.
func TestKills(t *testing.T) {
	schematest.Long(t) // TestPush_DiesAtEveryRequest and TestPull_DiesAtEveryRequest try each request
	kills := schematest.Times(0, 12, 30)
	eachPlace(t, func(t *testing.T, p *place) {
		s, copied, all := newStore(t), filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "all")
		s.publish(100, 200, 300)
		tasks := []string{"push " + p.url + " " + s.dir, "copy " + p.url + " " + copied, "all " + p.url + " " + all}
		takes := map[string]time.Duration{} // durations without a kill
		for _, task := range tasks {
			began := time.Now()
			killed(t, task, 0)
			takes[task] = time.Since(began)
		}
		former, deaths, rounds := s.published(), 0, 0
		for i := 0; deaths < kills; i++ {
			if rounds++; i%3 == 0 {
				s.publish(101+int64(i), 201)
			}
			for _, task := range tasks {
				began, after := time.Now(), time.Duration(0)
				if i%9 < 8 { // let every ninth task finish, so that the folder does not fall too far behind
					after = time.Duration(1 + rand.Int64N(int64(takes[task])))
				}
				if killed(t, task, after) {
					deaths++
				} else {
					takes[task] = time.Since(began) // resuming takes less time
				}
			}
			dir := t.TempDir()
			if _, err := p.pull(PullOptions{Dir: dir, All: true}); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
			got := (&store{TB: t, dir: dir}).published()
			if now := s.published(); maps.Equal(got, now) {
				former = now
			} else if !maps.Equal(got, former) {
				t.Fatalf("round %d: the bucket has neither the former generation nor the new one", i)
			}
		}
		for _, task := range tasks {
			killed(t, task, 0)
		}
		checkStore(t, all, s.published())
		p.check(s.published())
		if spend(t, copied) != spend(t, s.dir) {
			t.Error("the copy for readers is of another generation")
		}
		t.Logf("%d of %d processes were killed", deaths, 3*rounds)
	})
}

// TestPush_DiesAtEveryRequest: from the n-th request on the storage fails. Then the former generation or the new one
// can be read, and the next push finishes the work.
func TestPush_DiesAtEveryRequest(t *testing.T) {
	for n, isDone := int64(1), false; !isDone; n++ {
		p, s := newS3(t), newStore(t)
		s.publish(100, 200)
		p.mustPush(s)
		former := s.published()
		s.publish(101)
		var seen atomic.Int64
		p.fail(func(w http.ResponseWriter, _ *http.Request) bool {
			if seen.Add(1) >= n {
				w.WriteHeader(http.StatusForbidden)
				return true
			}
			return false
		})
		_, err := p.push(s)
		p.fault.Store(nil)
		if isDone = err == nil; !isDone && !errors.Is(err, ErrDenied) {
			t.Fatalf("request %d: %v", n, err)
		}
		dir := t.TempDir()
		if _, err := p.pull(PullOptions{Dir: dir, All: true}); err != nil {
			t.Fatalf("request %d: %v", n, err)
		}
		if got := (&store{TB: t, dir: dir}).published(); !maps.Equal(got, former) && !maps.Equal(got, s.published()) {
			t.Fatalf("request %d: neither the former generation nor the new one", n)
		}
		p.mustPush(s)
		p.checkGlob(s.published())
		if isDone {
			p.check(s.published())
		}
	}
}

// TestFaults: for each fault of a storage, nothing is lost, and the error describes the fault.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		fault func(n int64, w http.ResponseWriter, r *http.Request) bool
		push  error // nil: it succeeds nevertheless
		pull  error
	}{
		"403": {func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		}, ErrDenied, ErrDenied},
		"500 for good": {func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}, ErrUnavailable, ErrUnavailable},
		"500 now and then": {func(n int64, w http.ResponseWriter, _ *http.Request) bool {
			if n%4 == 0 {
				w.WriteHeader(http.StatusInternalServerError)
			}
			return n%4 == 0
		}, nil, nil},
		"half a body now and then": {func(n int64, w http.ResponseWriter, r *http.Request) bool {
			if n%5 != 0 || r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/objects/") {
				return false
			}
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("half"))
			return true
		}, nil, nil},
		"full": {func(_ int64, w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut {
				return false
			}
			w.WriteHeader(http.StatusInsufficientStorage)
			return true
		}, durable.ErrStorage, nil},
		"412 for good": {func(_ int64, w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, pointerName) {
				return false
			}
			w.WriteHeader(http.StatusPreconditionFailed)
			return true
		}, durable.ErrLocked, nil},
		"a list of long ago": {func(_ int64, w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet || r.URL.Query().Get("list-type") == "" {
				return false
			}
			fmt.Fprint(w, `<ListBucketResult><Name>spend</Name><IsTruncated>false</IsTruncated></ListBucketResult>`)
			return true
		}, nil, nil},
		"a clock that is off": {func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>RequestTimeTooSkewed</Code><Message>the clock is off</Message></Error>")
			return true
		}, ErrDenied, ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			p, s, dir := newS3(t), newStore(t), t.TempDir()
			s.publish(100, 200)
			p.mustPush(s)
			former := s.published()
			s.publish(101, 201)
			var n atomic.Int64
			p.fail(func(w http.ResponseWriter, r *http.Request) bool { return test.fault(n.Add(1), w, r) })
			if _, err := p.push(s); !errors.Is(err, test.push) {
				t.Errorf("push: %v, want %v", err, test.push)
			}
			if _, err := p.pull(PullOptions{Dir: dir, All: true}); !errors.Is(err, test.pull) {
				t.Errorf("pull: %v, want %v", err, test.pull)
			}
			p.fault.Store(nil)
			want := former
			if test.push == nil {
				want = s.published()
			}
			p.check(want)
			p.mustPush(s)
			p.check(s.published())
		})
	}
}

// TestPull_DiesAtEveryRequest: after a fault at any request, the folder has one complete generation.
func TestPull_DiesAtEveryRequest(t *testing.T) {
	p, s, dir := newS3(t), newStore(t), t.TempDir()
	s.publish(100, 200)
	p.mustPush(s)
	if _, err := p.pull(PullOptions{Dir: dir, All: true}); err != nil {
		t.Fatal(err)
	}
	former := s.published()
	s.publish(101, 201)
	p.mustPush(s)
	for n := int64(1); ; n++ {
		var seen atomic.Int64
		p.fail(func(w http.ResponseWriter, _ *http.Request) bool {
			if seen.Add(1) >= n {
				w.WriteHeader(http.StatusForbidden)
				return true
			}
			return false
		})
		_, err := p.pull(PullOptions{Dir: dir, All: true})
		p.fault.Store(nil)
		if err == nil {
			break
		}
		checkStore(t, dir, former)
	}
	checkStore(t, dir, s.published())
	if _, err := load.ReadSnapshot(dir); err != nil {
		t.Fatal(err)
	}
}
