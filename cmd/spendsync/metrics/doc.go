// Package metrics reports to Prometheus about a run, a push, a pull and a verified backup, by a file for a textfile
// collector or through a Pushgateway.
package metrics
