package main

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"
	"github.com/prometheus/common/expfmt"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/files"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract/outbound"
)

// reporting returns the configuration by which a run reports how it ended. It is known even if the run's own is wrong:
// a run that fails for a wrong variable must be seen, too.
func (r *runner) reporting() *config.Config {
	if r.cfg != nil {
		return r.cfg
	}
	return config.OfNotices(r.environ)
}

// sendMetrics writes and pushes the metrics of a run that has ended. What goes
// wrong is a warning: the run's own end does not depend on who watches it.
func (r *runner) sendMetrics(ctx context.Context, f *runFacts) {
	to, log := r.reporting(), r.logOrDefault()
	gateway, err := to.Gateway()
	if err != nil {
		log.Warn("the metrics could not be pushed", "error", err)
	}
	if to.MetricsFile == "" && gateway == nil {
		return
	}
	f.end = r.now()
	if err := f.readStore(to.DataDir, to.Account); err != nil {
		log.Warn("the metrics lack what the store holds", "error", err)
	}
	if f.breaks, err = r.readBreaks(ctx, to, f.manifest); err != nil {
		log.Warn("the metrics lack what broke", "error", err)
	}
	if to.MetricsFile != "" {
		err := files.CheckReplaceable(config.Prefix+"METRICS_FILE", to.MetricsFile, to.DataDir)
		if err == nil {
			err = writeMetrics(to.MetricsFile, to.Account, f)
		}
		if err != nil {
			log.Warn("the metrics could not be written", "file", to.MetricsFile, "error", err)
		}
	}
	if gateway != nil {
		ctx, cancel := r.lastCall(ctx)
		defer cancel()
		if err := pushMetrics(ctx, gateway, "account", to.Account, f); err != nil {
			log.Warn("the metrics could not be pushed", "error", err)
		}
	}
}

// writeMetrics writes a file for a textfile collector: under another name, then renamed, so that no
// reader sees half of it.
func writeMetrics(path, account string, f *runFacts) error {
	reg := prometheus.NewRegistry()
	if err := prometheus.WrapRegistererWith(prometheus.Labels{"account": account}, reg).Register(f); err != nil {
		return err
	}
	return prometheus.WriteToTextfile(path, reg)
}

// maxReply is more than a Pushgateway or a collector of traces answers.
const maxReply = 4 << 20

// briefly returns the first 1000 bytes of an error in one line: those of the libraries for metrics and traces
// contain the whole reply.
func briefly(err error) string {
	text := err.Error()
	return phrase.OneLine(strings.ToValidUTF8(text[:min(len(text), 1000)], ""))
}

// pushMetrics adds the metrics to the Pushgateway, in a group of the job and one label, the account or the
// bucket. What this run does not know stays there as an earlier one pushed it.
func pushMetrics(ctx context.Context, gateway *url.URL, label, value string, all ...prometheus.Collector) error {
	reg := prometheus.NewRegistry()
	for _, c := range all {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	u, user := *gateway, gateway.User
	u.User = nil // it would show in errors
	p := push.New(u.String(), "spendsync").Grouping(label, value).Gatherer(reg).
		Format(expfmt.NewFormat(expfmt.TypeTextPlain)).
		Client(outbound.Client(outbound.Options{MaxBody: maxReply}, 0))
	if user != nil {
		password, _ := user.Password()
		p = p.BasicAuth(user.Username(), password)
	}
	if err := p.AddContext(ctx); err != nil {
		return errors.New(briefly(err))
	}
	return nil
}
