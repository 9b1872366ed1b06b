package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/remote"
)

// backupMetric is what a verified backup reports, for each account of the store.
const (
	backupMetric     = "spendsync_backup_verified_timestamp_seconds"
	backupMetricHelp = "When the generation was published that 'verify --from' last found intact in the bucket."
)

// verifyFrom pulls the whole store of a bucket into a folder below TMPDIR, verifies it there as 'verify'
// does, and removes it. A backup that passes is reported to Prometheus.
func (a *app) verifyFrom(ctx context.Context, url string, verify func(dir string) error) (err error) {
	b, err := a.openBucket(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	dir, err := os.MkdirTemp("", "spendsync-verify-")
	if err != nil {
		return durable.Storage(err)
	}
	defer func() { err = errors.Join(err, durable.OS.RemoveTree(dir)) }()
	o := remote.PullOptions{Dir: dir, All: true, Log: a.log, Store: a.loadOptions()}
	if _, err := b.Pull(ctx, o); err != nil {
		return bucketErr(err)
	}
	if err := verify(dir); err != nil {
		return err
	}
	m, err := manifest.Read(dir)
	if err != nil {
		return err
	}
	if err := a.sendBackup(ctx, m); err != nil {
		a.log.Warn("the verified backup could not be reported", "error", err)
	}
	return nil
}

// sendBackup writes and pushes when the verified generation was published.
func (a *app) sendBackup(ctx context.Context, m *manifest.Manifest) error {
	gauge := func(labels prometheus.Labels) prometheus.Collector {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: backupMetric, Help: backupMetricHelp, ConstLabels: labels})
		g.Set(seconds(m.PublishedAt.Time()))
		return g
	}
	var errs []error
	if a.cfg.MetricsFile != "" {
		reg := prometheus.NewRegistry()
		for _, name := range m.AccountNames() {
			errs = append(errs, reg.Register(gauge(prometheus.Labels{"account": name})))
		}
		errs = append(errs, prometheus.WriteToTextfile(a.cfg.MetricsFile, reg))
	}
	if a.cfg.Pushgateway != "" {
		for _, name := range m.AccountNames() {
			errs = append(errs, pushMetrics(ctx, metricsTo{account: name, gateway: a.cfg.Pushgateway}, gauge(nil)))
		}
	}
	return errors.Join(errs...)
}

// endIncomplete ends a command that did what matters and could not do the rest.
func (a *app) endIncomplete(happened string) error {
	happened = phrase.OneLine(happened)
	a.lastLine(slog.LevelWarn, happened, exit.Partial)
	return &exit.Outcome{Code: exit.Partial, Happens: happened}
}
