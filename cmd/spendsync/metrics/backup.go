package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Backup is the metric of a verified backup, for each account of the store.
const (
	Backup     = "spendsync_backup_verified_timestamp_seconds"
	backupHelp = "When the generation was published that 'verify --from' last found intact in the bucket."
)

// OfBackup returns the metric with the publication time of a verified backup's generation.
func OfBackup(published time.Time, labels prometheus.Labels) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: Backup, Help: backupHelp, ConstLabels: labels})
	g.Set(Seconds(published))
	return g
}

// BackupHelp returns the help text for the metric of a verified backup.
func BackupHelp() string { return fmt.Sprintf("  %s{account}\n      %s\n", Backup, backupHelp) }
