package metrics

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"spendsync/cmd/internal/exit"
)

// Transfer is one push or pull that has ended: what its metrics are made from.
type Transfer struct {
	Command, Bucket string
	Dir             string // of the store or the copy, which holds no metrics
	End             time.Time
	Err             error
}

// Transfers are what a push or pull reports to Prometheus, with the address of the bucket. COMMAND stands for
// push or pull.
var Transfers = []struct {
	Name, Help string
	value      func(*Transfer) float64
}{
	{"spendsync_COMMAND_timestamp_seconds", "When the last COMMAND ended.",
		func(t *Transfer) float64 { return Seconds(t.End) }},
	{"spendsync_COMMAND_exit_code", "Exit code of the last COMMAND.",
		func(t *Transfer) float64 { return float64(exit.Of(t.Err)) }},
}

// Of is a text of [Transfers] for a command.
func Of(command, text string) string { return strings.ReplaceAll(text, "COMMAND", command) }

// Gauges are the values, with labels if they go into a file.
func (t *Transfer) Gauges(labels prometheus.Labels) (all []prometheus.Collector) {
	for _, m := range Transfers {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: Of(t.Command, m.Name), Help: Of(t.Command, m.Help),
			ConstLabels: labels})
		g.Set(m.value(t))
		all = append(all, g)
	}
	return all
}

// Backup is what a verified backup reports, for each account of the store.
const (
	Backup     = "spendsync_backup_verified_timestamp_seconds"
	backupHelp = "When the generation was published that 'verify --from' last found intact in the bucket."
)

// OfBackup says when the generation of a verified backup was published.
func OfBackup(published time.Time, labels prometheus.Labels) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: Backup, Help: backupHelp, ConstLabels: labels})
	g.Set(Seconds(published))
	return g
}

// TransferHelp lists the metrics of the bucket, for people.
func TransferHelp() string {
	var b strings.Builder
	for _, command := range []string{"push", "pull"} {
		for _, m := range Transfers {
			fmt.Fprintf(&b, "  %s{bucket}\n      %s\n", Of(command, m.Name), Of(command, m.Help))
		}
	}
	fmt.Fprintf(&b, "  %s{account}\n      %s\n", Backup, backupHelp)
	return b.String()
}
