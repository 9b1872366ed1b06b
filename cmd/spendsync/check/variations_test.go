package check_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/check"
	"spendsync/cmd/spendsync/job"
	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/schema/schematest"
)

// noon is the instant of all checks and syncs here: 14:00 in Chicago.
var noon = time.Date(2026, time.November, 21, 20, 0, 0, 0, time.UTC)

func now() time.Time { return noon }

// small makes a service that has a small account and some quirks.
func small(quirks ...string) *adsim.Service {
	s := adsim.New(adsim.Config{
		Seed: 5, Campaigns: 7, CreativesPerCampaign: 3, Sources: 60, RowsPerDay: 30, RateLimit: -1,
		FreezeRestatements: true, Quirks: quirks,
	})
	s.SetNow(noon)
	return s
}

// options returns the options for checking a service. A sync can run the job in these options, too.
func options(t *testing.T, service *adsim.Service, pageSize int) check.Options {
	t.Helper()
	cfg, err := config.Read(t.Context(), []string{
		"SPENDSYNC_ADVERTISER_URL=https://ads.test" + adsim.APIPrefix, "SPENDSYNC_API_KEY=" + adsim.DefaultKey,
		"SPENDSYNC_REPORT_URL=https://report.test" + adsim.ReportPrefix, "SPENDSYNC_REPORT_USER=" + adsim.DefaultUser,
		"SPENDSYNC_REPORT_PASSWORD=" + adsim.DefaultPassword, "SPENDSYNC_RETRY_BUDGET=20ms",
		"SPENDSYNC_HTTP_TIMEOUT=5s", "SPENDSYNC_DATA_DIR=" + filepath.Join(t.TempDir(), "data"),
		"SPENDSYNC_REQUESTS_PER_MINUTE=120", fmt.Sprintf("SPENDSYNC_PAGE_SIZE=%d", pageSize),
	})
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	return check.Options{
		Config: cfg, Client: config.ClientOptions{Log: quiet, Transport: service.Transport()}, Now: now,
		Job: job.Job{
			RunID: "run000001", Account: cfg.Account, DataDir: cfg.DataDir, Version: "test", Service: cfg.Service(),
			Store: load.Options{LockWait: 5 * time.Second, DuckDB: duck.Options{Memory: "256MiB", Threads: 1},
				Version: "test", Now: now},
			Plan:        job.PlanOptions{YoungDays: 3, RereadAfter: 20 * time.Hour, PageSize: pageSize},
			Concurrency: 1, RequestsPerMinute: 120, StopGrace: time.Minute, Now: now, Log: quiet,
		},
	}
}

// sync runs the job of a check as a sync does.
func sync(t *testing.T, o check.Options) *job.Result {
	t.Helper()
	j := o.Job
	var err error
	if j.Report, err = o.Config.ReportClient(o.Client); err != nil {
		t.Fatal(err)
	}
	defer j.Report.Close()
	if j.API, err = o.Config.AdvertiserClient(o.Client); err != nil {
		t.Fatal(err)
	}
	defer j.API.Close()
	result, err := j.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// failed returns the lines of the failed checks.
func failed(a check.Findings) string {
	var lines []string
	for _, l := range a.Checks {
		if l.State == check.Failed {
			lines = append(lines, l.Check+": "+l.Found)
		}
	}
	return strings.Join(lines, "\n")
}

// variations returns the quirks of the simulator that a test tries: by default one in 64, in .ci/run one in 16, and in
// .ci/long all.
func variations() (chosen []adsim.Quirk) {
	of := schematest.Times(64, 16, 1)
	for i, q := range adsim.Quirks() {
		if i%of == 0 {
			chosen = append(chosen, q)
		}
	}
	return chosen
}

// TestRun_AgreesWithSync: with every quirk of the service, check ends with 0 exactly if a first sync stores the report.
// If the sync does not store the report, check and sync end with the same code.
func TestRun_AgreesWithSync(t *testing.T) {
	for _, q := range variations() {
		for _, pageSize := range []int{20, 10_000} {
			if pageSize > 20 && !strings.HasPrefix(q.Name, "pag") && !strings.HasPrefix(q.Name, "report") {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", q.Name, pageSize), func(t *testing.T) {
				t.Parallel()
				o := options(t, small(q.Name), pageSize)
				// The limit ends after some waits. The budget must be long enough for these waits.
				if strings.HasPrefix(q.Name, "limit-") {
					o.Config.RetryBudget = 2 * time.Second
				}
				answer := check.Run(t.Context(), o)
				result := sync(t, o)
				stored := 0
				for _, c := range result.Coverage {
					if c.LastReadAt.Valid {
						stored++
					}
				}
				if stores(answer.ExitCode) != (stored > 0) {
					t.Errorf("check ends with %d, and a sync stores %d days: %s\n%s", answer.ExitCode, stored,
						result.Run.Message.V, failed(answer))
				}
				if stored == 0 && answer.ExitCode != int(result.Run.ExitCode) {
					t.Errorf("check ends with %d, a sync with %d: %s\n%s", answer.ExitCode, result.Run.ExitCode,
						result.Run.Message.V, failed(answer))
				}
			})
		}
	}
}

// stores reports whether a check that ends with this code promises that a sync stores days.
func stores(code int) bool { return code == exit.OK || code == exit.Partial }

// TestRun_BeginsWithWhatIsStored: a sync has stored an account. Then the service changes: for example, it no longer
// names the account, or answers as another account. Check ends with 0 or 4 exactly if the next sync stores days of the
// account. Check ends with 0 only if the sync also ends with 0.
func TestRun_BeginsWithWhatIsStored(t *testing.T) {
	for _, quirk := range []string{
		"", "me-404", "me-unreadable", "other-account", "list-empty", "columns-lack-clicks",
	} {
		t.Run(quirk, func(t *testing.T) {
			t.Parallel()
			o := options(t, small(), 10_000)
			if first := sync(t, o); first.Run.ExitCode != exit.OK {
				t.Fatalf("the first sync ends with %d: %s", first.Run.ExitCode, first.Run.Message.V)
			}
			if quirk != "" {
				o.Client.Transport = small(quirk).Transport()
			}
			later := func() time.Time { return noon.Add(time.Hour) }
			o.Now, o.Job.Now, o.Job.Store.Now, o.Job.RunID = later, later, later, "run000002"
			answer := check.Run(t.Context(), o)
			result := sync(t, o)
			if stores(answer.ExitCode) != (result.Run.Published && result.Run.DaysProven > 0) ||
				answer.ExitCode == exit.OK && result.Run.ExitCode != exit.OK {
				t.Errorf("check ends with %d, a sync with %d: %s\n%s", answer.ExitCode, result.Run.ExitCode,
					result.Run.Message.V, failed(answer))
			}
		})
	}
}
