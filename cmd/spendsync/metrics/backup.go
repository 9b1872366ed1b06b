package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Backup is the name of a metric: when the generation was published that the last verified backup contains.
const (
	Backup     = "spendsync_backup_verified_timestamp_seconds"
	backupHelp = "When the generation was published that 'verify --from' last found intact in the bucket."
)

// OfBackup returns the metric [Backup]. The parameter published is when the generation in the backup was published.
func OfBackup(published time.Time, labels prometheus.Labels) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: Backup, Help: backupHelp, ConstLabels: labels})
	g.Set(Seconds(published))
	return g
}

// BackupHelp returns the help text for the metric [Backup].
func BackupHelp() string { return fmt.Sprintf("  %s{account}\n      %s\n", Backup, backupHelp) }
