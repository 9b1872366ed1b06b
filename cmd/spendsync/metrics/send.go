package metrics

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"
	"github.com/prometheus/common/expfmt"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/extract/outbound"
)

// Write replaces the file of a textfile collector, which must not lie in the store: it is written under another name,
// then renamed, so that no reader sees half of it.
func Write(file, store string, all ...prometheus.Collector) error {
	if err := cli.CheckMetrics(config.Prefix+"METRICS_FILE", file, store); err != nil {
		return err
	}
	reg, err := registry(all)
	if err != nil {
		return err
	}
	return prometheus.WriteToTextfile(file, reg)
}

func registry(all []prometheus.Collector) (*prometheus.Registry, error) {
	reg := prometheus.NewRegistry()
	for _, c := range all {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return reg, nil
}

// maxReply is more than a Pushgateway or a collector of traces answers.
const maxReply = 4 << 20

// briefly returns the first 1000 bytes of an error in one line: those of the libraries for metrics and traces
// contain the whole reply.
func briefly(err error) string {
	text := err.Error()
	return cli.OneLine(strings.ToValidUTF8(text[:min(len(text), 1000)], ""))
}

// Push adds the metrics to the Pushgateway, in a group of the job and one label, the account or the
// bucket. What this run does not know stays there as an earlier one pushed it.
func Push(ctx context.Context, gateway *url.URL, label, value string, all ...prometheus.Collector) error {
	reg, err := registry(all)
	if err != nil {
		return err
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
	if err = p.AddContext(ctx); err != nil {
		return errors.New(briefly(err))
	}
	return nil
}
