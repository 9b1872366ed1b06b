package lake

import (
	"os"
	"testing"

	"spendsync/load/lake/laketest"
	"spendsync/load/loadtest"
)

// world is a lake in this process, with followers.
type world struct{ *laketest.World }

type store = laketest.Store

var (
	newStore, sample, day = laketest.NewStore, laketest.Sample, laketest.Day
	errDied, diesAt       = laketest.ErrDied, laketest.DiesAt
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

// dying is a lake whose steps end in deaths.
func (w *world) dying(c *laketest.Chaos, percent int) *Lake {
	l := w.open()
	l.opts.Step = c.Dies(percent)
	return l
}

// follow follows a store and checks that the lake then holds just what the store does.
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

// check compares the lake with a store, and with what lake_generation says.
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
