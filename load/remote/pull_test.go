package remote

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// spend returns the spend in the DuckDB file of a folder.
func spend(t testing.TB, dir string) string {
	t.Helper()
	answer, err := duck.Ask(t.Context(), dir, duck.Query{SQL: "SELECT sum(spend) FROM spend_daily"},
		duck.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	for row, err := range answer.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		return row[0].V
	}
	return ""
}

// TestPull_KeepsACopyForReaders: a copy has only the selected files, no command publishes to a copy, and a store never
// becomes a copy.
func TestPull_KeepsACopyForReaders(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s, dir := newStore(t), t.TempDir()
		s.publish(100, 200)
		p.mustPush(s)
		if _, err := p.pull(PullOptions{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		if got := spend(t, dir); got != "3.000000" {
			t.Errorf("spend is %s", got)
		}
		if parquet, _ := filepath.Glob(filepath.Join(dir, "parquet", "*")); len(parquet) > 0 {
			t.Errorf("%v is there", parquet)
		}
		if _, err := os.Stat(filepath.Join(dir, "raw")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the replies are there: %v", err)
		}
		if _, err := load.Open(t.Context(), dir, "acme", storeOptions(s.now)); !errors.Is(err, durable.ErrIsCopy) {
			t.Errorf("open: %v", err)
		}
		if _, err := load.Verify(t.Context(), dir, storeOptions(s.now), nil); !errors.Is(err, durable.ErrIsCopy) {
			t.Errorf("verify: %v", err)
		}
		run, err := manifest.LastRunThat(dir, "acme", func(*schema.Run) bool { return true })
		if err != nil || run == nil {
			t.Errorf("last run: %v, %v", run, err)
		}
		s.publish(150, 200)
		p.mustPush(s)
		if done, err := p.pull(PullOptions{Dir: dir, Parquet: true}); err != nil || !done.New {
			t.Fatalf("%+v, %v", done, err)
		}
		for path, content := range s.published() {
			if b, err := os.ReadFile(filepath.Join(dir, path)); isParquet(path) && string(b) != content {
				t.Errorf("%s: %v", path, err)
			}
		}
		if got := spend(t, dir); got != "3.500000" {
			t.Errorf("spend is %s", got)
		}
		// Pull the previous generation without the Parquet files: no other file stays.
		if _, err := p.pull(PullOptions{Dir: dir, Generation: 1}); err != nil {
			t.Fatal(err)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "parquet", "*", "*", "*", "*.parquet")); len(files) > 0 {
			t.Errorf("%v is there", files)
		}
		if got := spend(t, dir); got != "3.000000" {
			t.Errorf("spend is %s", got)
		}
		// A copy can become a store, but not the reverse.
		if _, err := p.pull(PullOptions{Dir: dir, All: true}); err != nil {
			t.Fatal(err)
		}
		checkStore(t, dir, s.published())
		if _, err := p.pull(PullOptions{Dir: dir}); !errors.Is(err, durable.ErrIsStore) {
			t.Errorf("%v", err)
		}
	})
}

// TestPull_AgainFetchesNothing: a second pull fetches no file, unless a file of the folder is damaged.
func TestPull_AgainFetchesNothing(t *testing.T) {
	p, s, dir := newS3(t), newStore(t), t.TempDir()
	s.publish(100, 200)
	p.mustPush(s)
	for range 2 {
		if _, err := p.pull(PullOptions{Dir: dir, All: true}); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := p.pull(PullOptions{Dir: dir, All: true}); err != nil || done.New || done.Files > 0 ||
		done.Requests > 2 {
		t.Errorf("%+v, %v", done, err)
	}
	for path := range s.published() {
		if isParquet(path) && strings.Contains(path, "spend_daily") {
			if err := os.WriteFile(filepath.Join(dir, path), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	// 2: one file and the manifest
	if done, err := p.pull(PullOptions{Dir: dir, All: true}); err != nil || done.Files != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	checkStore(t, dir, s.published())
}

// TestPull_RefusesAStoreThatTheBucketDoesNotKnow: a pull over such a store would lose its generation.
func TestPull_RefusesAStoreThatTheBucketDoesNotKnow(t *testing.T) {
	p, s := newFolder(t), newStore(t)
	s.publish(100)
	older := s.copied()
	p.mustPush(s)
	s.publish(101)
	if _, err := p.pull(PullOptions{Dir: s.dir, All: true}); !errors.Is(err, ErrOlder) {
		t.Errorf("a newer store: %v", err)
	}
	stranger := newStore(t)
	stranger.now = stranger.now.Add(time.Second)
	stranger.publish(5)
	if _, err := p.pull(PullOptions{Dir: stranger.dir, All: true}); !errors.Is(err, ErrOtherHistory) {
		t.Errorf("a strange store: %v", err)
	}
	p.mustPush(s)
	if _, err := p.pull(PullOptions{Dir: older.dir, All: true}); err != nil {
		t.Errorf("an earlier moment of the same store: %v", err)
	}
	checkStore(t, older.dir, s.published())
	// A running sync excludes a pull.
	run, err := load.Open(t.Context(), older.dir, "acme", storeOptions(s.now))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if _, err := p.pull(PullOptions{Dir: older.dir, All: true}); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("beside a run: %v", err)
	}
}

// TestPull_NamesAChangedByte: a changed byte of any object is damage, which push --full repairs.
func TestPull_NamesAChangedByte(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		s.publish(100, 200)
		p.mustPush(s)
		good := p.objects()
		for name, content := range good {
			if isParquet(name) || name == pushedName || name == pointerName || strings.HasSuffix(name, ".html") {
				continue // a pull does not read these objects, or nothing has their hash
			}
			changed := []byte(content)
			changed[len(changed)/2] ^= 1
			for what, bytes := range map[string]string{"a byte": string(changed), "half": content[:len(content)/2],
				"more": content + "x"} {
				p.put(name, bytes)
				dir := t.TempDir()
				_, err := p.pull(PullOptions{Dir: dir, All: true})
				if !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s of %s: %v", what, name, err)
				}
				if _, err := os.Stat(filepath.Join(dir, manifest.FileName)); err == nil {
					t.Errorf("%s of %s: a store was published", what, name)
				}
			}
			p.put(name, content)
		}
		for name, content := range good {
			if !isParquet(name) && strings.HasPrefix(name, objectFolder) {
				p.put(name, content[:len(content)-1])
			}
		}
		o := s.pushOptions()
		o.Full = true
		if _, err := p.open().Push(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		p.check(s.published())
	})
}

// TestPull_WritesNothingOutside: a hostile bucket cannot make a pull write outside of the folder.
func TestPull_WritesNothingOutside(t *testing.T) {
	for _, path := range []string{"../x", "/x", "a/../../x", "locks/x", "staging/x", "commit.json", "copy.json", "",
		".", "a//b", "parquet/../../x"} {
		if (File{Path: path, Object: "o"}).isSafe() {
			t.Errorf("%q is written", path)
		}
	}
	for _, path := range []string{"manifest.json", "warehouse.duckdb", "ledger/account=a/2026-11.jsonl",
		"raw/spend_report/account=a/day=2026-11-20/0001.json.zst"} {
		if !(File{Path: path, Object: "o"}).isSafe() {
			t.Errorf("%q is not written", path)
		}
	}
}

// TestPull_RefusesANewerBucket: the bucket was written by a newer version of spendsync.
func TestPull_RefusesANewerBucket(t *testing.T) {
	p, s := newFolder(t), newStore(t)
	s.publish(100)
	p.mustPush(s)
	pointer := p.objects()[pointerName]
	p.put(pointerName, strings.Replace(pointer, `"format": 1`, `"format": 2`, 1))
	if _, err := p.pull(PullOptions{Dir: t.TempDir()}); !errors.Is(err, durable.ErrNewer) {
		t.Errorf("pull: %v", err)
	}
	if _, err := p.push(s); !errors.Is(err, durable.ErrNewer) {
		t.Errorf("push: %v", err)
	}
}

// TestWatch_FollowsThePointer: Watch makes one request if nothing has changed, and continues after a storage has failed
// for a while.
func TestWatch_FollowsThePointer(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s, dir := newStore(t), t.TempDir()
		s.publish(100)
		p.mustPush(s)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var looks []string
		before := int64(0)
		wait := func(context.Context) error {
			switch len(looks) {
			case 1:
				before = p.counted.Load()
			case 2:
				if n := p.counted.Load() - before; p.dir == "" && n != 1 {
					t.Errorf("%d requests to find that nothing has changed", n)
				}
				s.publish(200)
				p.mustPush(s)
			case 3:
				p.fail(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true })
			case 4:
				p.fault.Store(nil)
				s.publish(300)
				p.mustPush(s)
			case 5:
				stop()
				return ctx.Err()
			}
			return nil
		}
		err := p.open().Watch(ctx, PullOptions{Dir: dir, Store: storeOptions(s.now)}, wait,
			func(done *Pulled, err error) {
				look := "nothing"
				if err != nil {
					look = "error"
				} else if done != nil && done.New {
					look = spend(t, dir)
				}
				looks = append(looks, look)
			})
		want := "1.000000 nothing 2.000000 error 3.000000"
		if p.dir != "" {
			want = "1.000000 nothing 2.000000 nothing 3.000000" // a folder does not answer 500
		}
		if got := strings.Join(looks, " "); got != want || !errors.Is(err, context.Canceled) {
			t.Errorf("%s, want %s; %v", got, want, err)
		}
	})
}

// TestOpen_RefusesAddresses: the error for an invalid address lists the valid forms.
func TestOpen_RefusesAddresses(t *testing.T) {
	for _, address := range []string{"", "s3://", "gs://", "azblob://", "gs://b/x?secret=x",
		"gs://b/x?endpoint=http://storage.example.com", "azblob://b/x", "file:///", "file:///..",
		"file:///x#y", "s3://b/x#y", "s3://b?endpoint=https://h:99999",
		"https://b/x", "file://host/x", "file:///x?y=1", "/x",
		"s3://b?use_path_style=maybe", "s3://b?secret=x", "s3://a:b@c/d", "s3://%zz"} {
		if _, err := Open(address, Options{}); !errors.Is(err, ErrAddress) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestBucket_SendsCredentialsNowhereElse: no redirect is followed, and no request goes to another machine without TLS.
func TestBucket_SendsCredentialsNowhereElse(t *testing.T) {
	p, s := newS3(t), newStore(t)
	s.publish(100)
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		p.fail(func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.URL+r.URL.Path, status)
			return true
		})
		if _, err := p.push(s); !errors.Is(err, ErrAddress) || reached {
			t.Errorf("%d: %v, followed: %v", status, err, reached)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://storage.example.com")
	if _, err := Open(p.url, Options{}); !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), "http") {
		t.Errorf("%v", err)
	}
}
