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

// Write replaces the file that a textfile collector reads. The file must lie outside the store. The new content is
// written under another name, then renamed, so that a reader never sees an incomplete file.
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

// maxReply is larger than any reply of a Pushgateway.
const maxReply = 4 << 20

// briefly returns the first 1000 bytes of an error's text as one line. Errors of the metrics library contain the
// Pushgateway's complete reply.
func briefly(err error) string {
	text := err.Error()
	return cli.OneLine(strings.ToValidUTF8(text[:min(len(text), 1000)], ""))
}

// Push sends metrics to a Pushgateway. They form a group with the job name and one label: the account or the bucket. If
// a metric is not sent now, the Pushgateway keeps its value from an earlier run.
func Push(ctx context.Context, gateway *url.URL, label, value string, all ...prometheus.Collector) error {
	reg, err := registry(all)
	if err != nil {
		return err
	}
	u, user := *gateway, gateway.User
	u.User = nil // otherwise error messages would contain the user and password
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
