package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/explain"
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
func (c *verifyCommand) verifyFrom(ctx context.Context, from string) (err error) {
	b, err := c.app.openBucket(from)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "spendsync-verify-")
	if err != nil {
		return durable.Storage(err)
	}
	defer func() { err = errors.Join(err, durable.OS.RemoveTree(dir)) }()
	o := remote.PullOptions{Dir: dir, All: true, Log: c.app.log, Store: c.app.loadOptions()}
	if _, err := b.Pull(ctx, o); err != nil {
		return bucketErr(err)
	}
	shown, err := b.CheckShown(ctx)
	if err != nil {
		return bucketErr(err)
	}
	if err := c.verify(ctx, dir, shown...); err != nil {
		return err
	}
	m, err := manifest.Read(dir)
	if err != nil {
		return err
	}
	c.compareAge(m)
	if err := c.app.noteBackup(); err != nil {
		c.app.log.Warn("the verified backup could not be noted beside the store", "error", err)
	}
	if err := c.sendBackup(ctx, m); err != nil {
		c.app.log.Warn("the verified backup could not be reported", "error", err)
	}
	return nil
}

// compareAge warns if the backup is older than the store on this machine.
func (c *verifyCommand) compareAge(backup *manifest.Manifest) {
	store, err := manifest.ReadRoot(durable.OS, c.app.cfg.DataDir, nil)
	if err == nil && store.Generation > backup.Generation {
		c.app.log.Warn("the backup is intact and older than the store: run 'spendsync push'", "backup",
			backup.Generation, "of", backup.PublishedAt.String(), "store", store.Generation, "published",
			store.PublishedAt.String())
	}
}

// sendBackup writes and pushes when the verified generation was published.
func (c *verifyCommand) sendBackup(ctx context.Context, m *manifest.Manifest) error {
	gauge := func(labels prometheus.Labels) prometheus.Collector {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: backupMetric, Help: backupMetricHelp, ConstLabels: labels})
		g.Set(seconds(m.PublishedAt.Time()))
		return g
	}
	gateway, err := c.app.cfg.Gateway()
	errs := []error{err}
	var all []prometheus.Collector
	for _, name := range m.AccountNames() {
		all = append(all, gauge(prometheus.Labels{"account": name}))
		if gateway != nil {
			errs = append(errs, pushMetrics(ctx, gateway, "account", name, gauge(nil)))
		}
	}
	errs = append(errs, c.app.writeMetricsOf("verify", c.app.cfg.DataDir, all))
	return errors.Join(errs...)
}

// endIncomplete ends a command that did what matters and could not do the rest.
func (a *app) endIncomplete(happened string) error {
	happened = phrase.OneLine(happened)
	a.lastLines(slog.LevelWarn, explain.Sentence(happened, exit.Partial), exit.Partial)
	return &exit.Outcome{Code: exit.Partial, Happens: happened}
}
