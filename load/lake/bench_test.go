package lake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"spendsync/load/lake"
	"spendsync/load/lake/laketest"
	"spendsync/load/loadtest"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// childOptions is set where this test binary is the follower that a benchmark measures: its
// catalog and its storage are in another process.
const childOptions = "SPENDSYNC_LAKE_BENCH_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childOptions); text != "" {
		if err := followAsChild(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(loadtest.InMemory(m))
}

func optionsOf(catalog, s3 string) lake.Options {
	return lake.Options{Catalog: catalog, Warehouse: "wh", Namespace: laketest.Namespace, S3Endpoint: s3,
		Region: "us-east-1", AccessKey: laketest.AccessKey, SecretKey: laketest.SecretKey, Version: "test"}
}

type store = laketest.Store

type childTask struct {
	Catalog, S3 string
	Command     string
	Dir         string // of the store
}

type childResult struct {
	Followed  *lake.Followed
	CPU, Wall float64 // seconds
	MaxRSS    float64 // MiB
}

func followAsChild(text string) error {
	var task childTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return err
	}
	start := time.Now()
	l, err := lake.Open(context.Background(), optionsOf(task.Catalog, task.S3))
	if err != nil {
		return err
	}
	r := childResult{}
	switch task.Command {
	case "follow":
		r.Followed, err = l.Follow(context.Background(), lake.FollowOptions{Dir: task.Dir})
	case "verify", "deep":
		_, err = l.Verify(context.Background(), task.Dir, task.Command == "deep")
	}
	if err != nil {
		return err
	}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return err
	}
	r.Wall = time.Since(start).Seconds()
	r.CPU = time.Duration(use.Utime.Nano() + use.Stime.Nano()).Seconds()
	// Maxrss of a process begins with that of its parent, which holds the catalog and the storage.
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		_, peak, _ := strings.Cut(string(b), "VmHWM:")
		fmt.Sscan(peak, &r.MaxRSS)
		r.MaxRSS /= 1024
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// histories are how many days the benchmarks' stores have.
func histories() []int {
	if testing.Short() {
		return []int{40}
	}
	return []int{110, 1095}
}

// BenchmarkLake is an hour of a store of 200 accounts: each has one changed day. The history lies
// in the lake as metadata alone; the changed days are real files. The follower is a process of its
// own; its requests are counted where they arrive.
func BenchmarkLake(b *testing.B) {
	for _, days := range histories() {
		b.Run(fmt.Sprintf("accounts=200/days=%d", days), func(b *testing.B) { benchLake(b, 200, days) })
	}
}

// BenchmarkUpkeep verifies the lake of the same store, also byte by byte.
func BenchmarkUpkeep(b *testing.B) {
	for _, days := range histories() {
		b.Run(fmt.Sprintf("accounts=200/days=%d", days), func(b *testing.B) {
			w, s := filled(b, 200, days)
			child(w, "follow", s)
			sum := map[string]float64{}
			for _, command := range []string{"verify", "deep"} {
				r, _, _ := child(w, command, s)
				sum[command+"-MiB"], sum[command+"-cpu-s"] = r.MaxRSS, r.CPU
			}
			report(b, sum)
		})
	}
}

// BenchmarkFirst is what a lake costs that has nothing yet: all days of all accounts are uploaded, those of closed
// months as one file. The days of a month are links to one file.
func BenchmarkFirst(b *testing.B) {
	for _, days := range histories() {
		b.Run(fmt.Sprintf("accounts=200/days=%d", days), func(b *testing.B) {
			w, s := laketest.New(b), laketest.NewStore(b)
			s.Now = today.Start()
			for a := range 200 {
				linked(s, fmt.Sprintf("account-%03d", a), today-schema.Date(days), today)
			}
			s.Publish()
			sum := map[string]float64{}
			r, catalogRequests, objects := child(w, "follow", s)
			r.addTo(sum, 1)
			sum["files"], sum["requests"] = float64(r.Followed.Added), catalogRequests+objects
			report(b, sum)
		})
	}
}

// linked names days of an account whose files are one file a month.
func linked(s *store, account string, from, to schema.Date) {
	a, month := s.M.Of(account), ""
	var first string
	for d := from; d < to; d++ {
		path := manifest.PartPath(schema.SpendDaily.Table, account, d)
		if is := d.String()[:7]; is != month {
			s.Spend(account, d.String(), 3, int64(d))
			month, first = is, path
			continue
		}
		info := *a.Files[first]
		info.Day, a.Days[d], a.Files[path] = d, &manifest.Day{}, &info
		dir := filepath.Dir(filepath.Join(s.Dir, path))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			s.Fatal(err)
		}
		if err := os.Link(filepath.Join(s.Dir, first), filepath.Join(s.Dir, path)); err != nil {
			s.Fatal(err)
		}
	}
}

// today is the day of the benchmarks.
var today = laketest.Day("2026-11-20")

// filled is a lake that has a history.
func filled(b testing.TB, accounts, days int) (*laketest.World, *store) {
	w, s := laketest.New(b), laketest.NewStore(b)
	s.Now = today.Start()
	for a := range accounts {
		history(s, fmt.Sprintf("account-%03d", a), today-schema.Date(days), today)
	}
	s.Publish()
	lake.Fill(b, w, s)
	return w, s
}

// addTo adds the figures of one of n runs.
func (r childResult) addTo(sum map[string]float64, n int) {
	sum["cpu-s"] += r.CPU
	sum["wall-s"] += r.Wall
	sum["MiB"] = max(sum["MiB"], r.MaxRSS*float64(n))
}

func report(b *testing.B, sum map[string]float64) {
	for name, v := range sum {
		b.ReportMetric(v/float64(b.N), name)
	}
	b.ReportMetric(0, "ns/op")
}

func benchLake(b *testing.B, accounts, days int) {
	w, s := filled(b, accounts, days)
	sum := map[string]float64{}
	for hour := range b.N {
		for a := range accounts {
			s.Spend(fmt.Sprintf("account-%03d", a), (today - 1).String(), 3, int64(hour+1))
		}
		s.Publish()
		r, catalogRequests, objects := child(w, "follow", s)
		if r.Followed.Added != accounts || r.Followed.Removed != accounts {
			b.Fatalf("%+v", r.Followed)
		}
		r.addTo(sum, b.N)
		sum["catalog-requests"] += catalogRequests
		sum["requests/account"] += (catalogRequests + objects - float64(accounts)) / float64(accounts)
		r, catalogRequests, objects = child(w, "follow", s)
		if !r.Followed.IsNothing() {
			b.Fatalf("%+v", r.Followed)
		}
		sum["noop-cpu-s"] += r.CPU
		sum["noop-requests"] += catalogRequests + objects
	}
	report(b, sum)
}

// child runs a command for a store in a process of its own.
func child(w *laketest.World, command string, s *store) (r childResult, catalogRequests, objects float64) {
	w.Helper()
	task, err := json.Marshal(childTask{w.URL, w.S3, command, s.Dir})
	if err != nil {
		w.Fatal(err)
	}
	fromCatalog, fromStorage := w.Rest.Requests(), w.Objects.Load()
	cmd := exec.Command(os.Args[0])
	// As spendsync-lake has it.
	cmd.Env = append(os.Environ(), childOptions+"="+string(task), "GOGC=200", "GOMEMLIMIT=170MiB")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		w.Fatal(err)
	}
	return r, float64(w.Rest.Requests() - fromCatalog), float64(w.Objects.Load() - fromStorage)
}

// history names files of an account that nobody has made.
func history(s *store, account string, from, to schema.Date) {
	a := s.M.Of(account)
	for d := from; d < to; d++ {
		a.Days[d] = &manifest.Day{}
		a.Files[manifest.PartPath(schema.SpendDaily.Table, account, d)] = &manifest.File{Kind: manifest.KindParquet,
			Table: "spend_daily", Day: d, Rows: 3, Bytes: int64(len(lake.SampleBytes(d))), RunID: s.Run(),
			SHA256: manifest.HashLedger(lake.SampleBytes(d))}
	}
}
