// Package metrics reports runs, pushes, pulls and verified backups to Prometheus. It writes a file for a textfile
// collector, or sends the metrics to a Pushgateway.
package metrics
