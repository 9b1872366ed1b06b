package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Backup is the name of a metric: the publication time of the generation in the last verified backup.
const (
	Backup     = "spendsync_backup_verified_timestamp_seconds"
	backupHelp = "When the generation was published that 'verify --from' last found intact in the bucket."
)

// OfBackup returns the metric [Backup] for a generation that was published at the given time.
func OfBackup(published time.Time, labels prometheus.Labels) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: Backup, Help: backupHelp, ConstLabels: labels})
	g.Set(Seconds(published))
	return g
}

// BackupHelp returns the help text for the metric [Backup].
func BackupHelp() string { return fmt.Sprintf("  %s{account}\n      %s\n", Backup, backupHelp) }
