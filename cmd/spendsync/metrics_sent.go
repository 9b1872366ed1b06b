package main

import (
	"context"
	"errors"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"
	"github.com/prometheus/common/expfmt"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/files"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract/outbound"
)

// metricsTo is where the metrics go. It is known even where the configuration is
// not: a run that fails for a wrong variable must be seen, too.
type metricsTo struct {
	account, dir string
	file         string
	gateway      config.Secret
}

func (r *runner) metricsTo() metricsTo {
	if c := r.app.cfg; c != nil {
		return metricsTo{c.Account, c.DataDir, c.MetricsFile, c.Pushgateway}
	}
	env := config.FromEnviron(r.app.environ)
	to := metricsTo{env["ACCOUNT"], env["DATA_DIR"], env["METRICS_FILE"], config.Secret(env["PUSHGATEWAY_URL"])}
	if to.account == "" {
		to.account = "default"
	}
	if to.dir == "" {
		to.dir = "data"
	}
	return to
}

// sendMetrics writes and pushes the metrics of a run that has ended. What goes
// wrong is a warning: the run's own end does not depend on who watches it.
func (r *runner) sendMetrics(ctx context.Context, f *runFacts) {
	to := r.metricsTo()
	if to.file == "" && to.gateway == "" {
		return
	}
	log := r.logOrDefault()
	f.end = r.app.now()
	if err := f.readStore(to.dir, to.account); err != nil {
		log.Warn("the metrics lack what the store holds", "error", err)
	}
	var err error
	if f.breaks, err = r.readBreaks(ctx, to, f.manifest); err != nil {
		log.Warn("the metrics lack what broke", "error", err)
	}
	if to.file != "" {
		err := files.CheckReplaceable(config.Prefix+"METRICS_FILE", to.file, to.dir)
		if err == nil {
			err = writeMetrics(to.file, to.account, f)
		}
		if err != nil {
			log.Warn("the metrics could not be written", "file", to.file, "error", err)
		}
	}
	if to.gateway != "" {
		ctx, cancel := r.app.lastCall(ctx)
		defer cancel()
		if err := pushMetrics(ctx, to.gateway, "account", to.account, f); err != nil {
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
func pushMetrics(ctx context.Context, gateway config.Secret, label, value string, all ...prometheus.Collector) error {
	u, err := config.GatewayURL(gateway)
	if err != nil {
		return err
	}
	reg := prometheus.NewRegistry()
	for _, c := range all {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	user := u.User
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
