package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"spendsync/cmd/spendsync/metrics"
	"spendsync/cmd/spendsync/notice"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/remote"
)

// verifyFrom pulls the whole store of a bucket into a folder below TMPDIR, verifies this copy as 'verify' does, and
// removes the copy. It also checks the bucket's files for readers. A backup that passes is reported to Prometheus.
func (c *verifyCommand) verifyFrom(ctx context.Context, from string) (err error) {
	b, err := c.openBucket(from)
	if err != nil {
		return err
	}
	scratch, err := durable.MakeScratch("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scratch.Remove()) }()
	dir := filepath.Join(scratch.Dir, "store")
	o := remote.PullOptions{Dir: dir, All: true, Log: c.log, Store: c.loadOptions()}
	if _, err := b.Pull(ctx, o); err != nil {
		return bucketErr(err)
	}
	damages, err := b.VerifyParquet(ctx, c.log)
	if err != nil {
		return bucketErr(err)
	}
	if err := c.verify(ctx, dir, damages...); err != nil {
		return err
	}
	m, err := manifest.Read(dir)
	if err != nil {
		return err
	}
	c.warnIfOlder(m)
	if store := c.cfg.DataDir; !isEmpty(store) {
		if err := notice.Write(durable.OS, store, notice.Verified, c.now().UTC()); err != nil {
			c.log.Warn("the verified backup could not be noted beside the store", "error", err)
		}
	}
	if err := c.sendBackup(ctx, m); err != nil {
		c.log.Warn("the verified backup could not be reported", "error", err)
	}
	return nil
}

// warnIfOlder warns if the backup is older than the store on this machine.
func (c *verifyCommand) warnIfOlder(backup *manifest.Manifest) {
	store, err := manifest.ReadRoot(durable.OS, c.cfg.DataDir, nil)
	if err == nil && store.Generation > backup.Generation {
		c.log.Warn("the backup is intact and older than the store: run 'spendsync push'", "backup",
			backup.Generation, "of", backup.PublishedAt.String(), "store", store.Generation, "published",
			store.PublishedAt.String())
	}
}

// sendBackup reports the publication time of the verified generation, in the metrics file and to the Pushgateway.
func (c *verifyCommand) sendBackup(ctx context.Context, m *manifest.Manifest) error {
	gauge := func(labels prometheus.Labels) prometheus.Collector {
		return metrics.OfBackup(m.PublishedAt.Time(), labels)
	}
	gateway, err := c.cfg.Gateway()
	errs := []error{err}
	var all []prometheus.Collector
	for _, name := range m.AccountNames() {
		all = append(all, gauge(prometheus.Labels{"account": name}))
		if gateway != nil {
			errs = append(errs, metrics.Push(ctx, gateway, "account", name, gauge(nil)))
		}
	}
	if c.cfg.MetricsFile != "" {
		errs = append(errs, metrics.Write(besideMetrics(c.cfg.MetricsFile), c.cfg.DataDir, all...))
	}
	return errors.Join(errs...)
}
