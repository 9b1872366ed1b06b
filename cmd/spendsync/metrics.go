package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"spendsync/cmd/spendsync/metrics"
)

// sendMetrics writes and pushes the metrics of a run that has ended. A failure is only a warning, because monitoring
// must not affect the exit code of the run.
func (r *runner) sendMetrics(ctx context.Context, f *metrics.Inputs) {
	to, log := r.cfg, r.log
	gateway, err := to.Gateway()
	if err != nil {
		log.Warn("the metrics could not be pushed", "error", err)
	}
	if to.MetricsFile == "" && gateway == nil {
		return
	}
	f.End = r.now()
	if err := f.ReadStore(to.DataDir, to.Account); err != nil {
		log.Warn("the metrics lack what the store holds", "error", err)
	}
	if f.Manifest != nil && r.screen != nil && ctx.Err() == nil {
		if f.Breaks, err = metrics.Breaks(ctx, to.DataDir, to.Account, r.loadOptions().DuckDB); err != nil {
			log.Warn("the metrics lack what broke", "error", err)
		}
	}
	if to.MetricsFile != "" {
		err := metrics.Write(to.MetricsFile, to.DataDir, prometheus.WrapCollectorWith(
			prometheus.Labels{"account": to.Account}, f))
		if err != nil {
			log.Warn("the metrics could not be written", "file", to.MetricsFile, "error", err)
		}
	}
	if gateway != nil {
		ctx, cancel := r.lastCall(ctx)
		defer cancel()
		if err := metrics.Push(ctx, gateway, "account", to.Account, f); err != nil {
			log.Warn("the metrics could not be pushed", "error", err)
		}
	}
}

// besideMetrics returns the metrics file that 'verify --from' writes: spendsync-verify.prom if sync writes
// spendsync.prom. So neither command replaces the other's metrics.
func besideMetrics(file string) string {
	ending := filepath.Ext(file)
	return strings.TrimSuffix(file, ending) + "-verify" + ending
}
