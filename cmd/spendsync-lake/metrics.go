package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"spendsync/cmd/spendsync/exit"
	"spendsync/load/catalog"
	"spendsync/load/lake"
)

// writeMetrics writes the file for Prometheus' textfile collector, if one is asked for.
func (a *app) writeMetrics(s *settings, done *lake.Followed, err error) error {
	if s.MetricsFile == "" {
		return nil
	}
	r := prometheus.NewRegistry()
	gauge := func(name, help string, v float64) {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "spendsync_lake_" + name, Help: help})
		g.Set(v)
		r.MustRegister(g)
	}
	gauge("exit_code", "Exit code of the last follow.", float64(codeOf(err)))
	gauge("last_run_timestamp_seconds", "When follow last ended.", float64(a.now().Unix()))
	generation, known := generationBefore(s.MetricsFile)
	if done != nil {
		generation, known = float64(done.Generation), true
		gauge("rows_added", "Rows of the files that the last follow added.", float64(done.Rows))
	}
	if m, manifestErr := catalog.OpenListing(s.DataDir); known && manifestErr == nil {
		m.Close()
		gauge("generations_behind", "Generations of the store that the lake does not have.",
			float64(m.Manifest.Generation)-generation)
	}
	if known {
		gauge("generation", "Generation of the store that the lake has.", generation)
	}
	if err := prometheus.WriteToTextfile(s.MetricsFile, r); err != nil {
		return exit.Usagef("SPENDSYNC_LAKE_METRICS_FILE: %v", err)
	}
	return nil
}

// generationBefore is the generation in a metrics file of before: a lake that can't be reached
// is as far as it was.
func generationBefore(file string) (float64, bool) {
	b, err := os.ReadFile(file)
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
