package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/files"
)

// transfer is one push or pull that has ended: what its metrics are made from.
type transfer struct {
	command, bucket string
	dir             string // of the store or the copy, which holds no metrics
	end             time.Time
	err             error
}

// transferMetrics are what a push or pull reports to Prometheus, with the address of the bucket. COMMAND stands for
// push or pull.
var transferMetrics = []struct {
	name, help string
	value      func(*transfer) float64
}{
	{"spendsync_COMMAND_timestamp_seconds", "When the last COMMAND ended.",
		func(t *transfer) float64 { return seconds(t.end) }},
	{"spendsync_COMMAND_exit_code", "Exit code of the last COMMAND.",
		func(t *transfer) float64 { return float64(exit.Of(t.err)) }},
}

// of is a text of [transferMetrics] for a command.
func of(command, text string) string { return strings.ReplaceAll(text, "COMMAND", command) }

func (t *transfer) gauges(labels prometheus.Labels) (all []prometheus.Collector) {
	for _, m := range transferMetrics {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: of(t.command, m.name), Help: of(t.command, m.help),
			ConstLabels: labels})
		g.Set(m.value(t))
		all = append(all, g)
	}
	return all
}

// metricsFileOf returns the file of a command of the bucket: next to the file of sync, which it would otherwise
// replace. spendsync.prom becomes spendsync-push.prom.
func (c *call) metricsFileOf(command string) string {
	file := c.cfg.MetricsFile
	if file == "" {
		return ""
	}
	ending := filepath.Ext(file)
	return strings.TrimSuffix(file, ending) + "-" + command + ending
}

// writeMetricsOf replaces the metrics file of a command of the bucket, if one is configured.
func (c *call) writeMetricsOf(command, dir string, all []prometheus.Collector) error {
	file := c.metricsFileOf(command)
	if file == "" {
		return nil
	}
	if err := files.CheckReplaceable(config.Prefix+"METRICS_FILE", file, dir); err != nil {
		return err
	}
	reg := prometheus.NewRegistry()
	for _, g := range all {
		if err := reg.Register(g); err != nil {
			return err
		}
	}
	return prometheus.WriteToTextfile(file, reg)
}

// reportTransfer writes and sends the metrics of a push or pull. What goes wrong is a warning.
func (c *call) reportTransfer(ctx context.Context, t *transfer) {
	t.end = c.now()
	err := c.writeMetricsOf(t.command, t.dir, t.gauges(prometheus.Labels{"bucket": t.bucket}))
	if err != nil {
		c.log.Warn("the metrics could not be written", "file", c.metricsFileOf(t.command), "error", err)
	}
	gateway, err := c.cfg.Gateway()
	if err == nil && gateway == nil {
		return
	}
	ctx, cancel := c.lastCall(ctx)
	defer cancel()
	if err == nil {
		err = pushMetrics(ctx, gateway, "bucket", t.bucket, t.gauges(nil)...)
	}
	if err != nil {
		c.log.Warn("the metrics could not be pushed", "error", err)
	}
}

// transferHelp lists the metrics of the bucket, for people.
func transferHelp() string {
	var b strings.Builder
	for _, command := range []string{"push", "pull"} {
		for _, m := range transferMetrics {
			fmt.Fprintf(&b, "  %s{bucket}\n      %s\n", of(command, m.name), of(command, m.help))
		}
	}
	fmt.Fprintf(&b, "  %s{account}\n      %s\n", backupMetric, backupMetricHelp)
	return b.String()
}
