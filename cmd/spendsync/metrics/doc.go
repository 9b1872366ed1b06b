// Package metrics is what a run, a push, a pull and a verified backup report to Prometheus: by a file for a textfile
// collector, or to a Pushgateway.
package metrics
