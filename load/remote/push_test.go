package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// TestPush_AllComesBack: a store from pull --all has the same bytes as the pushed store, is intact, and can publish.
func TestPush_AllComesBack(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		for i := range int64(3) {
			s.publish(100+i, 200)
			if done := p.mustPush(s); !done.New || done.Generation != i+1 || done.Readable != int(i)+1 {
				t.Fatalf("%+v", done)
			}
			p.check(s.published())
		}
		restored := s.at(filepath.Join(t.TempDir(), "restored"))
		if _, err := p.pull(PullOptions{Dir: restored.dir, All: true}); err != nil {
			t.Fatal(err)
		}
		// Both stores continue in the same way.
		s.publish(111)
		restored.publish(111)
		got, want := restored.published(), s.published()
		for _, files := range []map[string]string{got, want} {
			for name := range files {
				if !isParquet(name) || strings.Contains(name, "ops_") {
					delete(files, name)
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Error("the restored store goes on otherwise than the one that was never lost")
		}
		p.mustPush(restored)
		p.check(restored.published())
		if names := p.unnamed(); len(names) > 0 {
			t.Errorf("nothing names %v", names)
		}
	})
}

// TestPush_AgainDoesNothing: a second push of the same generation makes at most three requests.
func TestPush_AgainDoesNothing(t *testing.T) {
	p, s := newS3(t), newStore(t)
	s.publish(100)
	p.mustPush(s)
	before := p.objects()
	p.counted.Store(0)
	if done := p.mustPush(s); done.New || done.Uploaded > 0 || p.counted.Load() > 3 || done.Requests > 3 {
		t.Errorf("%+v with %d requests", done, p.counted.Load())
	}
	if !maps.Equal(before, p.objects()) {
		t.Error("the bucket has changed")
	}
}

// TestPush_BeginsAgainWithWhatItHas: if the pointer is refused because of another push, the push starts again without
// reading a list twice.
func TestPush_BeginsAgainWithWhatItHas(t *testing.T) {
	p, s := newS3(t), newStore(t)
	s.publish(100, 200)
	p.mustPush(s)
	s.publish(101, 200)
	var mu sync.Mutex
	refused, lists := 0, map[string]int{}
	p.fail(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/"+generationFolder) {
			lists[r.URL.Path]++
		}
		if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/"+pointerName) || refused == 2 {
			return false
		}
		refused++
		w.WriteHeader(http.StatusPreconditionFailed)
		return true
	})
	done, err := p.open().Push(t.Context(), s.pushOptions())
	p.fault.Store(nil)
	if err != nil || !done.New || refused != 2 {
		t.Errorf("%+v, %v: %d pointers refused", done, err, refused)
	}
	if len(lists) == 0 {
		t.Error("no list was read")
	}
	for name, n := range lists {
		if n > 1 {
			t.Errorf("%s was read %d times", name, n)
		}
	}
	p.check(s.published())
	p.checkGlob(s.published())
}

// TestPush_FullRepairsTheFilesThatReadersGlob: no hash shows that files below parquet/ are damaged, so only a full push
// repairs them.
func TestPush_FullRepairsTheFilesThatReadersGlob(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		s.publish(100, 200)
		p.mustPush(s)
		for name := range s.published() {
			if isParquet(name) {
				p.put(name, "spoiled")
			}
		}
		o := s.pushOptions()
		o.Full = true
		if _, err := p.open().Push(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		p.checkGlob(s.published())
	})
}

// TestPush_UploadsOnlyWhatTheBucketLacks: files of unchanged days are not sent again.
func TestPush_UploadsOnlyWhatTheBucketLacks(t *testing.T) {
	p, s := newS3(t), newStore(t)
	s.publish(100, 200, 300)
	p.mustPush(s)
	s.publish(101)
	var put []string
	var mu sync.Mutex
	p.fail(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") == "" {
			mu.Lock()
			put = append(put, r.URL.Path)
			mu.Unlock()
		}
		return false
	})
	done := p.mustPush(s)
	p.fault.Store(nil)
	for name := range s.published() {
		if strings.Contains(name, "day=2026-11-18") || strings.Contains(name, "day=2026-11-17") {
			f := p.fileOf(name)
			if slices.ContainsFunc(put, func(path string) bool { return strings.HasSuffix(path, f.Object) }) {
				t.Errorf("%s was sent again", name)
			}
		}
	}
	if done.Uploaded > 20 {
		t.Errorf("%d objects: %q", done.Uploaded, put)
	}
	p.check(s.published())
}

// fileOf returns the file at a path in the newest list.
func (p *place) fileOf(path string) File {
	p.Helper()
	b := p.open()
	is, err := b.readPointer(context.Background())
	if err != nil {
		p.Fatal(err)
	}
	l, err := b.readList(context.Background(), is.Entry)
	if err != nil {
		p.Fatal(err)
	}
	i := slices.IndexFunc(l.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		p.Fatalf("the list lacks %s", path)
	}
	return l.Files[i]
}

// TestPush_RefusesToGoBack: some stores must not replace what is in the bucket: an older store, a store that has lost
// history, a store of another account, and a store with another generation of the same number.
func TestPush_RefusesToGoBack(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		s.publish(100, 200)
		first := s.copied()
		s.publish(101)
		fork := s.copied()
		s.publish(102)
		p.mustPush(s)
		fork.now = fork.now.Add(time.Minute)
		fork.publish(999)
		further := fork.copied()
		further.now = further.now.Add(time.Minute)
		further.publish(998)
		stranger := newStore(t)
		stranger.pinned = "B2"
		for range 4 {
			stranger.publish(1, 2)
		}
		young := newStore(t)
		young.pinned = "another"
		young.publish(1, 2)
		before := p.objects()
		for name, test := range map[string]struct {
			s    *store
			want error
		}{
			"older":                  {first, ErrOlder},
			"the same number":        {fork, ErrOtherHistory},
			"a fork that went on":    {further, ErrOtherHistory},
			"of another advertiser":  {stranger, ErrOtherHistory},
			"of another, and young":  {young, ErrOlder},
			"a store of no manifest": {s.at(t.TempDir()), durable.ErrEmpty},
		} {
			if _, err := p.push(test.s); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
		if !maps.Equal(before, p.objects()) {
			t.Error("a push that was refused has changed the bucket")
		}
		o := fork.pushOptions()
		o.AcceptLoss = true
		if _, err := p.open().Push(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		p.check(fork.published())
		// The replaced generation stays readable.
		dir := t.TempDir()
		if _, err := p.pull(PullOptions{Dir: dir, All: true, At: s.now.Add(time.Second)}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestPush_TwoAtOnce: after many concurrent pushes of different generations the bucket has the newest one.
func TestPush_TwoAtOnce(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		s.publish(100, 200)
		p.mustPush(s)
		var moments []*store
		for i := range int64(3) {
			s.publish(101+i, 201+i)
			moments = append(moments, s.copied())
		}
		var all sync.WaitGroup
		for i := range 9 {
			all.Go(func() {
				_, err := p.push(moments[i%3])
				if err != nil && !errors.Is(err, ErrOlder) && !errors.Is(err, durable.ErrLocked) {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
		p.mustPush(s)
		p.check(s.published())
	})
}

// TestPush_WhileTheStorePublishes: a push reads the store without a lock, and the bucket gets one consistent
// generation.
func TestPush_WhileTheStorePublishes(t *testing.T) {
	p, s := newS3(t), newStore(t)
	s.publish(100, 200, 300)
	var published atomic.Bool
	p.fail(func(_ http.ResponseWriter, r *http.Request) bool {
		// The store publishes in the middle of the push.
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/restore/") &&
			published.CompareAndSwap(false, true) {
			s.publish(110, 210, 310)
		}
		return false
	})
	done := p.mustPush(s)
	p.fault.Store(nil)
	if !published.Load() || done.Generation != 2 {
		t.Errorf("generation %d is pushed", done.Generation)
	}
	p.check(s.published())
}

// TestPush_NamesADamagedFile: a damaged file of the store is not pushed.
func TestPush_NamesADamagedFile(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		s.publish(100)
		path := manifest.TablePath(schema.SpendDaily.Table, "acme", schema.DateOf(s.now)-1)
		b, err := os.ReadFile(filepath.Join(s.dir, path))
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(filepath.Join(s.dir, path), b, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := p.push(s); !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v", err)
		}
		for name, content := range p.objects() {
			if content == string(b) {
				t.Errorf("%s has the damaged bytes", name)
			}
		}
	})
}

// TestPush_Retains: the bucket keeps all generations of the last day, and one for each day of the last week. It keeps
// no objects of other generations.
func TestPush_Retains(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		var last *store
		for i := range int64(14) {
			s.now = s.now.Add(19 * time.Hour)
			s.publish(100+i, 200)
			p.mustPush(s)
			last = s
		}
		is, err := p.open().readPointer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(is.Generations); n < 8 || n > 10 {
			t.Errorf("%d generations are readable", n)
		}
		for _, e := range is.Generations {
			dir := t.TempDir()
			if _, err := p.pull(PullOptions{Dir: dir, All: true, Generation: e.Generation}); err != nil {
				t.Errorf("generation %d: %v", e.Generation, err)
			}
		}
		if _, err := p.pull(PullOptions{Dir: t.TempDir(), Generation: 1}); !errors.Is(err, ErrNoGeneration) {
			t.Errorf("generation 1: %v", err)
		}
		p.check(last.published())
	})
}

func TestRetain(t *testing.T) {
	newest := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var all []Entry
	for h := range 24 * 20 {
		all = append(all, Entry{Generation: int64(1000 - h),
			PublishedAt: schema.InstantOf(newest.Add(-time.Duration(h) * time.Hour))})
	}
	kept := retain(all)
	if len(kept) != 24+7 {
		t.Errorf("%d are kept of hourly generations", len(kept))
	}
	// If retain runs after every hourly push, it keeps the same days.
	var hourly []Entry
	for _, e := range slices.Backward(all) {
		hourly = retain(slices.Insert(hourly, 0, e))
	}
	if len(hourly) < 24+7 || len(hourly) > 24+8 {
		t.Errorf("%d are kept, hour by hour", len(hourly))
	}
	days := map[schema.Date]int{}
	for _, e := range hourly {
		days[schema.DateOf(e.PublishedAt.Time())]++
	}
	if len(days) < 8 {
		t.Errorf("of %d days something is kept", len(days))
	}
	// A generation with a wrong clock is removed only if it is far from the newest.
	odd := []Entry{{Generation: 3, PublishedAt: schema.InstantOf(newest.AddDate(1, 0, 0))},
		{Generation: 2, PublishedAt: schema.InstantOf(newest)}, {Generation: 1, PublishedAt: schema.InstantOf(newest)}}
	if kept := retain(odd); len(kept) != 2 || kept[1].Generation != 2 {
		t.Errorf("%v", kept)
	}
}

// TestPush_RemovesWhatNothingNames: the first push of a day removes objects of interrupted pushes and of generations
// that are no longer kept. It removes a DuckDB file of a later generation once the file is a day old. It leaves objects
// of other programs.
func TestPush_RemovesWhatNothingNames(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		s.publish(100, 200)
		p.mustPush(s)
		p.put("mine.txt", "x")
		for i := range 14 { // two days, so that some generations retire
			s.now = s.now.Add(3 * time.Hour)
			s.publish(int64(101+i), 200)
			if i%3 == 0 { // the interrupted push leaves its objects, and another generation follows
				o := s.pushOptions()
				ctx, cancel := context.WithCancel(t.Context())
				o.Page = func(context.Context) ([]byte, error) { cancel(); return nil, ctx.Err() }
				if _, err := p.open().Push(ctx, o); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				s.publish(int64(501+i), 200)
			}
			p.mustPush(s)
		}
		s.now = s.now.Add(24 * time.Hour) // the first push of a day sweeps
		s.publish(99)
		p.mustPush(s)
		if left, want := p.unnamed(), []string{"mine.txt"}; !slices.Equal(left, want) {
			t.Errorf("left are %v, want %v", left, want)
		}
		p.check(s.published())
		if p.dir == "" {
			return // the age of an object is by the storage's clock
		}
		for name, age := range map[string]time.Duration{"old": 50 * time.Hour, "young": 0} {
			name = "warehouse/99-" + name + ".duckdb"
			at := time.Now().Add(-age)
			p.put(name, "x")
			if err := os.Chtimes(filepath.Join(p.dir, name), at, at); err != nil {
				t.Fatal(err)
			}
		}
		s.now = s.now.Add(24 * time.Hour)
		s.publish(1)
		p.mustPush(s)
		names := p.unnamed()
		if slices.Contains(names, "warehouse/99-old.duckdb") || !slices.Contains(names, "warehouse/99-young.duckdb") {
			t.Errorf("left are %v", names)
		}
	})
}

// TestPush_BeginsNothingWhereAllIsGone: if an earlier push has succeeded and the bucket is empty now, a push is
// refused.
func TestPush_BeginsNothingWhereAllIsGone(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		s.publish(100)
		o := s.pushOptions()
		o.Begun = true
		if _, err := p.open().Push(t.Context(), o); !errors.Is(err, ErrVanished) {
			t.Errorf("%v, want ErrVanished", err)
		}
		if names := p.names(); len(names) > 0 {
			t.Errorf("it has begun %v", names)
		}
		p.mustPush(s)
		if _, err := p.open().Push(t.Context(), o); err != nil {
			t.Error(err)
		}
	})
}

// TestBucket_Notes: a note is kept beside a generation and survives pushes. A bucket without a generation stays empty.
func TestBucket_Notes(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		wantNote := func(want string) {
			t.Helper()
			if text, err := p.open().ReadNote(t.Context(), "notices/a.json"); err != nil || string(text) != want {
				t.Errorf("%q, %v, want %q", text, err, want)
			}
		}
		for _, text := range []string{"one", "two", "three"} {
			if err := p.open().WriteNote(t.Context(), "notices/a.json", []byte(text)); err != nil {
				t.Fatal(err)
			}
			if text == "one" {
				wantNote("")
			} else {
				wantNote(text)
			}
			s.now = s.now.Add(24 * time.Hour) // the first push of a day removes objects that nothing names
			s.publish(100)
			p.mustPush(s)
		}
		wantNote("three")
		p.check(s.published())
	})
}

// TestPush_WithoutPage: a page that cannot be made is reported, and the push succeeds.
func TestPush_WithoutPage(t *testing.T) {
	p, s := newFolder(t), newStore(t)
	s.publish(100)
	o := s.pushOptions()
	o.Page = func(context.Context) ([]byte, error) { return nil, errors.New("no view of that name") }
	done, err := p.open().Push(t.Context(), o)
	if err != nil || done.PageErr == nil || !done.New {
		t.Errorf("%+v, %v", done, err)
	}
	p.check(s.published())
}

// TestPush_SecretsStayHere: no object and no error contains a secret.
func TestPush_SecretsStayHere(t *testing.T) {
	p, s := newS3(t), newStore(t)
	s.publish(100)
	p.mustPush(s)
	for name, content := range p.objects() {
		if strings.Contains(content, canary) {
			t.Errorf("%s holds the secret key", name)
		}
	}
	p.fail(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>AccessDenied</Code><Message>%s %s</Message></Error>", canary,
			r.Header.Get("Authorization"))
		return true
	})
	_, err := p.push(s)
	if !errors.Is(err, ErrDenied) || strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
	if _, err := Open("s3://key:"+canary+"@spend/store", Options{}); !errors.Is(err, ErrAddress) ||
		strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
}

// TestPush_RepairsUnreadablePointerAndList: only AcceptLoss replaces a damaged pointer, and only Full a damaged list.
// Every push replaces a damaged pushed.json.
func TestPush_RepairsUnreadablePointerAndList(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := newStore(t)
		s.publish(100, 200)
		p.mustPush(s)
		for _, step := range []struct {
			name   func(*Pointer) string
			repair func(*PushOptions)
		}{
			{func(*Pointer) string { return pointerName }, func(o *PushOptions) { o.AcceptLoss = true }},
			{func(is *Pointer) string { return is.Files.Name }, func(o *PushOptions) { o.Full = true }},
			{func(*Pointer) string { return pushedName }, nil},
		} {
			is, err := p.open().readPointer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			name := step.name(is.Pointer)
			p.put(name, "{spoiled")
			s.publish(101, 201)
			o := s.pushOptions()
			if step.repair != nil {
				if _, err := p.push(s); !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s: %v", name, err)
				}
				step.repair(&o)
			}
			if _, err := p.open().Push(t.Context(), o); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			p.check(s.published())
		}
	})
}

// TestFolder_ShowsWholeObjects: an object gets its name only when it is complete, and the next push removes the staged
// files of a dead push.
func TestFolder_ShowsWholeObjects(t *testing.T) {
	p, s := newFolder(t), newStore(t)
	s.publish(100)
	p.mustPush(s)
	shown := p.objects()
	name := "parquet/spend/data.parquet"
	cut := errors.New("the power is cut")
	source := io.MultiReader(strings.NewReader("half"), readerFunc(func([]byte) (int, error) {
		for name := range p.objects() {
			if shown[name] == "" && !strings.HasPrefix(name, stagingFolder) {
				t.Error(name, "is there while an object is written")
			}
		}
		return 0, cut
	}))
	err := p.open().put(t.Context(), name, content{open: func() (io.ReadCloser, error) {
		return io.NopCloser(source), nil
	}})
	if !errors.Is(err, cut) || !maps.Equal(p.objects(), shown) {
		t.Errorf("%v; %d objects, want the %d", err, len(p.objects()), len(shown))
	}
	left := filepath.Join(p.dir, stagingFolder, name+".1.tmp")
	err = errors.Join(os.MkdirAll(filepath.Dir(left), 0o755), os.WriteFile(left, []byte("half"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	s.publish(200)
	p.mustPush(s)
	if durable.Exists(left) {
		t.Error("what a dead push has left is still there")
	}
}
