package job_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	"spendsync/cmd/spendsync/job"
	"spendsync/extract"
	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/load/duck"
)

// Copy a simulated account twice. The first run reads and publishes every day that the report still reaches; the second
// run finds that nothing has changed.
func Example() {
	dir, err := os.MkdirTemp("", "spendsync")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	service := adsim.New(adsim.Config{Campaigns: 3, CreativesPerCampaign: 2, Sources: 40, RowsPerDay: 20,
		RateLimit: -1, FreezeRestatements: true})
	service.SetNow(time.Date(2026, time.November, 21, 20, 0, 0, 0, time.UTC))
	client := func(prefix string, authorize func(*http.Request)) *extract.Client {
		c, err := extract.NewClient(extract.Options{BaseURL: "https://service.example" + prefix,
			Authorize: authorize, Transport: service.Transport()})
		if err != nil {
			log.Fatal(err)
		}
		return c
	}
	report := client(adsim.ReportPrefix, func(r *http.Request) {
		r.SetBasicAuth(adsim.DefaultUser, adsim.DefaultPassword)
	})
	api := client(adsim.APIPrefix, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+adsim.DefaultKey)
	})
	defer report.Close()
	defer api.Close()

	quiet := slog.New(slog.DiscardHandler)
	for _, runID := range []string{"run1", "run2"} {
		result, err := job.Job{
			RunID: runID, Account: "acme", DataDir: dir, Report: report, API: api,
			Store:       load.Options{DuckDB: duck.Options{Memory: "256MiB", Threads: 1}, Log: quiet, Now: service.Now},
			Plan:        job.PlanOptions{YoungDays: 3, PageSize: 1000},
			Concurrency: 4, RequestsPerMinute: 100_000, Log: quiet, Now: service.Now,
		}.Sync(context.Background())
		if err != nil {
			log.Fatal(err) // the run did not begin
		}
		run := result.Run
		fmt.Printf("exit %d, %d days proven, %d changed, generation %d\n", run.ExitCode, run.DaysProven,
			run.DaysChanged, run.Generation)
	}
	// Output:
	// exit 0, 33 days proven, 33 changed, generation 1
	// exit 0, 33 days proven, 0 changed, generation 2
}
