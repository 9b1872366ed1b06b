package lake

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/johannesboyne/gofakes3"

	"spendsync/cmd/spendsync-lake/lake/laketest"
	"spendsync/cmd/spendsync-lake/lake/restsim"
	"spendsync/load/loadtest"
)

// world is a lake in this process, with the options to connect to it.
type world struct{ *laketest.World }

type store = laketest.Store

var (
	newStore, sample, day = laketest.NewStore, laketest.Sample, laketest.Day

	// errDied is the error with which a test interrupts a commit at a step.
	errDied = errors.New("died")
)

func TestMain(m *testing.M) { os.Exit(loadtest.InMemory(m)) }

func newWorld(t testing.TB) *world { return &world{laketest.New(t)} }

func (w *world) options() Options { return optionsOf(w.URL, w.S3) }

func optionsOf(catalog, s3 string) Options {
	return Options{Catalog: catalog, Warehouse: "wh", Namespace: laketest.Namespace, S3Endpoint: s3,
		Region: "us-east-1", AccessKey: laketest.AccessKey, SecretKey: laketest.SecretKey, Version: "test"}
}

func (w *world) open() *Lake {
	w.Helper()
	l, err := Open(w.Context(), w.options())
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { l.Close() })
	return l
}

// dying returns a lake whose commits are interrupted at random steps.
func (w *world) dying(c *chaos, percent int) *Lake {
	l := w.open()
	l.opts.Step = c.Dies(percent)
	return l
}

// follow calls Follow for a store, and checks that the lake is then equal to the store.
func (w *world) follow(s *store) *Followed {
	w.Helper()
	l := w.open()
	done, err := l.Follow(w.Context(), FollowOptions{Dir: s.Dir})
	if err != nil {
		w.Fatal(err)
	}
	w.check(l, s)
	return done
}

// check compares the files and lake_generation with a store.
func (w *world) check(l *Lake, s *store) {
	w.Helper()
	w.Check(s)
	status, err := l.Status(w.Context(), s.Dir)
	if err != nil || status.Behind != 0 {
		w.Errorf("status: %+v, %v", status, err)
		return
	}
	files, rows := map[string]int64{}, map[string]int64{}
	for _, f := range w.Live() {
		files[f.Account()]++
		rows[f.Account()] += f.Count()
	}
	for _, m := range status.Accounts {
		if m.Files != files[m.AccountID] || m.Rows != rows[m.AccountID] {
			w.Errorf("%s says %d files and %d rows of %s, and there are %d and %d", MarkerTable, m.Files, m.Rows,
				m.AccountID, files[m.AccountID], rows[m.AccountID])
		}
	}
}

// Read returns the bytes of an object.
func (w *world) Read(object string) []byte {
	w.Helper()
	_, key, _ := strings.Cut(object, "s3://lake/")
	o, err := w.Backend.GetObject("lake", key, nil)
	if err != nil {
		w.Fatal(err)
	}
	defer o.Contents.Close()
	b, err := io.ReadAll(o.Contents)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// Write writes an object directly to the storage. It also removes the checksum of an object that it replaces.
func (w *world) Write(object string, b []byte) {
	w.Helper()
	w.Remove(object)
	_, key, _ := strings.Cut(object, "s3://lake/")
	if _, err := w.Backend.PutObject("lake", key, map[string]string{}, bytes.NewReader(b), int64(len(b)),
		nil); err != nil {
		w.Fatal(err)
	}
}

// Remove removes an object directly from the storage.
func (w *world) Remove(object string) {
	w.Helper()
	_, key, _ := strings.Cut(object, "s3://lake/")
	if _, err := w.Backend.DeleteObject("lake", key); err != nil {
		w.Fatal(err)
	}
}

// Keys returns the keys of all objects.
func (w *world) Keys() (all []string) {
	w.Helper()
	objects, err := w.Backend.ListBucket("lake", nil, gofakes3.ListBucketPage{})
	if err != nil {
		w.Fatal(err)
	}
	for _, o := range objects.Contents {
		all = append(all, o.Key)
	}
	return all
}

// Snapshots returns the snapshots of a table.
func (w *world) Snapshots(name string) []table.Snapshot {
	return w.Rest.Metadata(laketest.Namespace, name).Snapshots()
}

// diesAt returns a function for Options.Step that interrupts a commit when it reaches the step for the n-th time.
func diesAt(step string, nth int) func(string) error {
	var mu sync.Mutex // concurrent uploads call the function
	return func(s string) error {
		mu.Lock()
		defer mu.Unlock()
		if s == step {
			if nth--; nth == 0 {
				return errDied
			}
		}
		return nil
	}
}

// chaos makes a world fail at random until it is stopped: it interrupts commits, and the catalog reports conflicts and
// loses replies.
type chaos struct {
	*world
	Quiet  bool
	Deaths int

	mu   sync.Mutex
	rand *rand.Rand
}

// disturb starts the random failures of a world, and logs the seed.
func (w *world) disturb() *chaos {
	seed := uint64(time.Now().UnixNano())
	w.Logf("seed %d", seed)
	c := &chaos{world: w, rand: rand.New(rand.NewPCG(seed, 1))}
	w.Rest.Before = func([]string) error {
		if !c.Quiet && c.Chance(15) {
			return restsim.ErrConflict
		}
		return nil
	}
	w.Rest.After = func([]string) error {
		if !c.Quiet && c.Chance(15) {
			return errors.New("lost")
		}
		return nil
	}
	return c
}

// Chance returns true with a probability of percent.
func (c *chaos) Chance(percent int) bool { return c.Below(100) < percent }

// Below returns a random number from 0 to n-1.
func (c *chaos) Below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.IntN(n)
}

// Dies returns a function that fails with errDied with a probability of percent.
func (c *chaos) Dies(percent int) func(string) error {
	return func(string) error {
		if !c.Quiet && c.Chance(percent) {
			return errDied
		}
		return nil
	}
}

// Try calls a function that may fail with errDied, and counts these failures.
func (c *chaos) Try(do func() error) {
	c.Helper()
	if err := do(); errors.Is(err, errDied) {
		c.Deaths++
	} else if err != nil {
		c.Fatal(err)
	}
}
