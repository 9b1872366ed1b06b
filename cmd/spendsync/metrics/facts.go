package metrics

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Metric is a gauge that describes the last run. There are no counters: each run is a process of its own, so a count
// would start at zero in every run.
type Metric struct {
	Name, Help string
	Label      string // name of a second label besides the account; empty if there is none
	// This function returns the metric's numbers. The keys of the map are the texts of the second label, or "" if there
	// is no second label. An empty map means that the number is not known.
	values func(f *Inputs) map[string]float64
}

// All lists the metrics of a run. Times are in seconds, sizes in bytes, and money in US dollars.
var All = []Metric{
	{"spendsync_last_run_timestamp_seconds", "When the last sync ended.", "",
		func(f *Inputs) map[string]float64 {
			return one(Seconds(f.End))
		}},
	{"spendsync_last_success_timestamp_seconds", "When the last run ended that published everything planned (exit 0).",
		"", func(f *Inputs) map[string]float64 {
			return onlyIf(f.Success != 0, Seconds(f.Success.Time()))
		}},
	{"spendsync_last_run_duration_seconds", "How long the last run took.", "", func(f *Inputs) map[string]float64 {
		return one(f.End.Sub(f.Start).Seconds())
	}},
	{"spendsync_last_run_exit_code", "Exit code of the last run.", "", func(f *Inputs) map[string]float64 {
		return one(float64(f.Code))
	}},
	{"spendsync_last_run_failures", "Things that the last run could not read.", "",
		func(f *Inputs) map[string]float64 {
			return one(float64(f.Failures))
		}},
	{"spendsync_last_run_steps", "Report days that the last run planned, proved complete, and found changed.",
		"outcome", func(f *Inputs) map[string]float64 {
			return map[string]float64{"planned": float64(f.Run.DaysPlanned), "proven": float64(f.Run.DaysProven),
				"changed": float64(f.Run.DaysChanged)}
		}},
	{"spendsync_last_run_rows", "Rows of the report that the last run proved.", "",
		func(f *Inputs) map[string]float64 {
			return one(float64(f.Run.RowsRead))
		}},
	{"spendsync_last_run_restated_rows", "Rows of finished days that the last run found different from before.", "",
		func(f *Inputs) map[string]float64 {
			return one(float64(f.Run.Restatements))
		}},
	{"spendsync_last_run_requests", "HTTP requests that the last run sent, retries included.", "",
		func(f *Inputs) map[string]float64 {
			return one(float64(f.Run.Requests))
		}},
	{"spendsync_last_run_retries", "HTTP requests of the last run that repeated one.", "",
		func(f *Inputs) map[string]float64 {
			return one(float64(f.Run.Retries))
		}},
	{"spendsync_last_run_throttled_seconds", "Time that requests of the last run waited because the service asked " +
		"for it, added up.", "", func(f *Inputs) map[string]float64 {
		return one(float64(f.Run.ThrottledMs) / 1000)
	}},
	{"spendsync_last_run_read_bytes", "Bytes of the replies to the last run, decompressed.", "",
		func(f *Inputs) map[string]float64 {
			return one(float64(f.Run.BytesRead))
		}},
	{"spendsync_quarantined_days", "Report days that could not be proven and whose replies are kept for 'spendsync " +
		"repair replay'.", "", func(f *Inputs) map[string]float64 {
		return onlyIf(f.Ended, float64(f.Quarantined))
	}},
	{"spendsync_settings_fields_not_understood", "Values of campaigns, creatives and sources that the last run could " +
		"not read, though the service did not say that it could not: the last known ones stand.", "",
		func(f *Inputs) map[string]float64 {
			return onlyIf(f.Unread.Valid, float64(f.Unread.V))
		}},
	{"spendsync_coverage", "Report days by what is known of them: open, complete, final, partial, missing, lost.",
		"state", func(f *Inputs) map[string]float64 {
			days := map[string]float64{}
			for _, state := range []string{schema.StateOpen, schema.StateComplete, schema.StateFinal,
				schema.StatePartial, schema.StateMissing, schema.StateLost} {
				days[state] = 0
			}
			for _, c := range f.Coverage {
				days[c.State]++
			}
			return onlyMap(f.Coverage != nil, days)
		}},
	{"spendsync_oldest_unproven_day_lost_timestamp_seconds", "When the oldest day that is not proven complete leaves " +
		"the reach of the report and is lost; today counts as not proven.", "", func(f *Inputs) map[string]float64 {
		for _, c := range f.Coverage {
			if c.DaysUntilUnreachable > 0 && slices.Contains([]string{schema.StateMissing, schema.StatePartial,
				schema.StateOpen}, c.State) {
				return one(Seconds((schema.DateOf(f.End) + schema.Date(c.DaysUntilUnreachable) - 1).End()))
			}
		}
		return nil
	}},
	{"spendsync_stored_rows", "Rows of spend_daily that are stored of the account.", "",
		func(f *Inputs) map[string]float64 {
			var rows int64
			for _, c := range f.Coverage {
				rows += c.Rows
			}
			return onlyIf(f.Coverage != nil, float64(rows))
		}},
	{"spendsync_warehouse_bytes", "Size of warehouse.duckdb, which all accounts share.", "",
		func(f *Inputs) map[string]float64 {
			return f.ofManifest(func(m *manifest.Manifest) float64 { return float64(m.Warehouse.Bytes) })
		}},
	{"spendsync_balance_dollars", "US dollars that the advertiser account has left, as last seen.", "",
		func(f *Inputs) map[string]float64 {
			return onlyIf(f.Money.Balance.Valid, dollars(f.Money.Balance.V))
		}},
	{"spendsync_balance_runway_seconds", "How long the balance lasts at the pace of the last 7 days, as the service " +
		"last said.", "", func(f *Inputs) map[string]float64 {
		return onlyIf(f.Money.DaysLeft.Valid, dollars(f.Money.DaysLeft.V)*24*60*60)
	}},
	{"spendsync_breaks", "Campaigns that something broke at lately, by kind, as in the view mart.breaks.", "kind",
		func(f *Inputs) map[string]float64 { return f.Breaks }},
	{"spendsync_api_key_expiry_timestamp_seconds", "When the API key expires.", "",
		func(f *Inputs) map[string]float64 {
			return onlyIf(f.Expires.Valid, Seconds(f.Expires.V.Time()))
		}},
}

func one(v float64) map[string]float64 { return map[string]float64{"": v} }

func onlyIf(known bool, v float64) map[string]float64 { return onlyMap(known, one(v)) }

func onlyMap(known bool, m map[string]float64) map[string]float64 {
	if !known {
		return nil
	}
	return m
}

// Seconds converts a time to the number that Prometheus expects: seconds since 1970.
func Seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// dollars converts money to a float. Use it only for metrics, which are always floats.
func dollars(m schema.Money) float64 { return float64(m) / float64(schema.Dollar) }

// Inputs has the data from which the metrics of one run are computed.
type Inputs struct {
	Start, End  time.Time
	Code        int
	Failures    int
	Run         schema.Run // the run's line in the ledger; incomplete if the run ended early
	Expires     schema.Null[schema.Instant]
	Ended       bool               // whether the job returned a result; only then are the next two fields set
	Quarantined int                // days whose replies are in quarantine after the run
	Unread      schema.Null[int64] // fields of the settings without a usable value in the reply

	// The fields below come from the store. If the store cannot be read, they stay empty.
	Manifest *manifest.Manifest
	Coverage []schema.DayCoverage
	Success  schema.Instant
	Money    schema.AccountSnapshot
	Breaks   map[string]float64 // by kind; nil if not known
}

func (f *Inputs) ofManifest(v func(*manifest.Manifest) float64) map[string]float64 {
	if f.Manifest == nil {
		return nil
	}
	return one(v(f.Manifest))
}

// Describe implements [prometheus.Collector].
func (f *Inputs) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range All {
		ch <- m.desc()
	}
}

// Collect implements [prometheus.Collector]. Metrics whose value is not known are left out.
func (f *Inputs) Collect(ch chan<- prometheus.Metric) {
	for _, m := range All {
		for label, v := range m.values(f) {
			var labels []string
			if m.Label != "" {
				labels = []string{label}
			}
			ch <- prometheus.MustNewConstMetric(m.desc(), prometheus.GaugeValue, v, labels...)
		}
	}
}

func (m Metric) desc() *prometheus.Desc {
	var labels []string
	if m.Label != "" {
		labels = []string{m.Label}
	}
	return prometheus.NewDesc(m.Name, m.Help, labels, nil)
}

// ReadStore sets the fields that come from the store. It takes no lock, so it also works during a run.
func (f *Inputs) ReadStore(dir, account string) error {
	dir, err := filepath.Abs(dir)
	if err != nil || !schema.AccountName.MatchString(account) {
		return err
	}
	m, err := manifest.ReadAccounts(durable.OS, dir, nil, account)
	if errors.Is(err, durable.ErrEmpty) {
		// Nothing is stored: every day that the report covers is missing.
		f.Coverage = manifest.NewAccount(job.ReachFrom(f.End)).Coverage(account, f.End)
		return nil
	}
	if err != nil {
		return err
	}
	f.Manifest = m
	known := m.Accounts[account]
	if known == nil {
		known = manifest.NewAccount(job.ReachFrom(f.End))
	}
	f.Coverage = known.Coverage(account, f.End)
	run, err := manifest.LastRunThat(dir, account, func(r *schema.Run) bool {
		return r.ExitCode == exit.OK &&
			r.Command == "sync"
	})
	if run != nil {
		f.Success = run.FinishedAt
	}
	money, moneyErr := lastMoney(dir, account, known)
	f.Money = money
	return errors.Join(err, moneyErr)
}

// BreakKinds lists the values of the column kind in the view mart.breaks.
var BreakKinds = []string{"conversions_stopped", "conversions_fell", "spend_jumped", "spend_fell",
	"ctr_collapsed", "delivery_stopped"}

// Breaks returns the number of rows of the view mart.breaks for an account, by kind. The result is nil if the view does
// not exist: there is no warehouse yet, or an older release made it.
func Breaks(ctx context.Context, dir, account string, o duck.Options) (map[string]float64, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	question := "SELECT b.kind, count(*) FROM mart.breaks AS b WHERE b.account_id = " + schema.QuoteText(account) +
		" GROUP BY ALL"
	result, err := duck.Ask(ctx, dir, duck.Query{SQL: question}, o)
	var unknown *duck.QueryError
	if errors.As(err, &unknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	for _, kind := range BreakKinds {
		counts[kind] = 0
	}
	for row, rowErr := range result.Rows(ctx) {
		if rowErr != nil {
			return nil, errors.Join(rowErr, result.Close())
		}
		n, _ := strconv.ParseFloat(row[1].V, 64)
		counts[row[0].V] = n
	}
	return counts, result.Close()
}

// lastMoney returns the newest stored snapshot of the account's balance, or a zero value if none is stored.
func lastMoney(dir, account string, known *manifest.Account) (last schema.AccountSnapshot, err error) {
	path := "parquet/" + schema.AccountSnapshots.Name + "/account=" + account + "/data.parquet"
	if known.Files[path] == nil {
		return last, nil
	}
	rows, err := parquet.ReadRows(filepath.Join(dir, path), schema.AccountSnapshots)
	if err != nil || len(rows) == 0 {
		return last, err
	}
	return rows[len(rows)-1], nil
}

// Help returns the help text that lists the metrics.
func Help() string {
	var b strings.Builder
	for _, m := range All {
		labels := "account"
		if m.Label != "" {
			labels += ", " + m.Label
		}
		fmt.Fprintf(&b, "  %s{%s}\n      %s\n", m.Name, labels, m.Help)
	}
	return b.String()
}
