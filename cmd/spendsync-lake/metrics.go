package main

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync-lake/lake"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// gauges are the metrics of one run.
type gauges struct{ *prometheus.Registry }

func (g gauges) set(name, help string, v float64) {
	m := prometheus.NewGauge(prometheus.GaugeOpts{Name: "spendsync_lake_" + name, Help: help})
	m.Set(v)
	g.MustRegister(m)
}

// write writes the file for Prometheus' textfile collector.
func (g gauges) write(s *settings) error {
	if err := cli.CheckMetrics("SPENDSYNC_LAKE_METRICS_FILE", s.MetricsFile, s.DataDir); err != nil {
		return err
	}
	if err := prometheus.WriteToTextfile(s.MetricsFile, g); err != nil {
		return exit.Usagef("SPENDSYNC_LAKE_METRICS_FILE: %v", err)
	}
	return nil
}

// writeMetrics writes the metrics of a run of 'spendsync-lake follow', if SPENDSYNC_LAKE_METRICS_FILE is set. For a
// failed run, the [lake.Followed] is nil. Then the file keeps the generation that an earlier run has written.
func (a *app) writeMetrics(s *settings, done *lake.Followed, err error) error {
	if s.MetricsFile == "" {
		return nil
	}
	g := gauges{prometheus.NewRegistry()}
	g.set("exit_code", "Exit code of the last follow.", float64(codeOf(err)))
	g.set("last_run_timestamp_seconds", "When follow last ended.", float64(a.now().Unix()))
	generation, exists := generationBefore(s.MetricsFile)
	if done != nil {
		generation, exists = float64(done.Generation), true
		g.set("rows_added", "Rows of the files that the last follow added.", float64(done.Rows))
		g.set("foreign_changes", "Tables that another program had written to and the last follow made ours again.",
			float64(len(done.Changed)))
	}
	if m, manifestErr := manifest.ReadRoot(durable.OS, s.DataDir, nil); exists && manifestErr == nil {
		g.set("generations_behind", "Generations of the store that the lake does not have.",
			float64(m.Generation)-generation)
	}
	if exists {
		g.set("generation", "Generation of the store that the lake has.", generation)
	}
	return g.write(s)
}

// generationBefore returns the generation that the previous run wrote to the metrics file, and false if there is none.
// While the lake is unreachable, new runs write this value again.
func generationBefore(file string) (float64, bool) {
	b, err := cli.ReadFile(file, cli.MaxSecret)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "spendsync_lake_generation "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			return v, err == nil
		}
	}
	return 0, false
}
