package main

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"spendsync/schema/schematest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"sigs.k8s.io/yaml"
)

// alertTests is alerts_test.yaml, in promtool's form: promtool itself cannot be
// installed by go, so that Prometheus' own engine and templates run it here.
type alertTests struct {
	RuleFiles          []string `json:"rule_files"`
	EvaluationInterval string   `json:"evaluation_interval"`
	Tests              []struct {
		Interval    string `json:"interval"`
		InputSeries []struct {
			Series string `json:"series"`
			Values string `json:"values"`
		} `json:"input_series"`
		AlertRuleTest []struct {
			EvalTime  string     `json:"eval_time"`
			Alertname string     `json:"alertname"`
			ExpAlerts []expAlert `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	} `json:"tests"`
}

type expAlert struct {
	Labels      map[string]string `json:"exp_labels"`
	Annotations map[string]string `json:"exp_annotations"`
}

func TestDeploy_AlertsFireAsTheirTestsSay(t *testing.T) {
	schematest.Long(t)
	rules := readYAML[alertRules](t, "deploy/monitoring/alerts.yaml")
	tests := readYAML[alertTests](t, "deploy/monitoring/alerts_test.yaml")
	every := period(t, tests.EvaluationInterval)
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: 2 * time.Minute, EnableAtModifier: true})
	t.Cleanup(func() { engine.Close() })
	fired := 0
	for _, group := range tests.Tests {
		var all seriesList
		for _, s := range group.InputSeries {
			all = append(all, loadSeries(t, s.Series+" "+s.Values, period(t, group.Interval)))
		}
		for _, c := range group.AlertRuleTest {
			e := alertEngine{t: t, engine: engine, series: all, every: every}
			got := e.firing(rules, c.Alertname, period(t, c.EvalTime))
			if diff := cmp.Diff(c.ExpAlerts, got); diff != "" {
				t.Errorf("%s at %s: fires not as expected (-want +got):\n%s", c.Alertname, c.EvalTime, diff)
			}
			fired += len(got)
		}
	}
	if fired < len(rules.Groups[0].Rules) {
		t.Errorf("%d alerts fired in the tests", fired)
	}
}

// TestDeploy_ManualsNameTheAlerts holds the manual's number of rules that page, and the names of rules in any
// manual, to alerts.yaml.
func TestDeploy_ManualsNameTheAlerts(t *testing.T) {
	rules := map[string]bool{}
	pages := 0
	for _, r := range readYAML[alertRules](t, "deploy/monitoring/alerts.yaml").Groups[0].Rules {
		rules[r.Alert] = true
		if r.Labels["severity"] == "page" {
			pages++
		}
	}
	want := fmt.Sprintf("Of the rules in `monitoring/alerts.yaml` %d page", pages)
	if !strings.Contains(manual(t, "cmd/spendsync/deploy/README.md"), want) {
		t.Errorf("deploy/README.md does not say: %s", want)
	}
	for _, name := range manuals {
		for _, alert := range regexp.MustCompile(`\bSpendsync[A-Z]\w+`).FindAllString(manual(t, name), -1) {
			if !rules[alert] {
				t.Errorf("%s names an alert that is not there: %s", name, alert)
			}
		}
	}
}

func readYAML[T any](t *testing.T, path string) (v T) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = yaml.UnmarshalStrict(b, &v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// period reads a duration as Prometheus writes them; empty is none.
func period(t *testing.T, text string) time.Duration {
	t.Helper()
	if text == "" {
		return 0
	}
	d, err := model.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(d)
}

// alertEngine evaluates rules over series that begin at instant 0.
type alertEngine struct {
	t      *testing.T
	engine *promql.Engine
	series seriesList
	every  time.Duration
}

// firing are the alerts of a rule that fire at an instant, after evaluations at
// every interval up to it.
func (e alertEngine) firing(rules alertRules, name string, until time.Duration) (alerts []expAlert) {
	e.t.Helper()
	for _, r := range rules.Groups[0].Rules {
		if r.Alert != name {
			continue
		}
		wait, since := period(e.t, r.For), map[string]time.Duration{}
		for at := time.Duration(0); at <= until; at += e.every {
			alerts = nil
			was := since
			since = map[string]time.Duration{}
			for _, s := range e.ask(r.Expr, at) {
				key := s.Metric.String()
				since[key] = at
				if began, ok := was[key]; ok {
					since[key] = began
				}
				if at-since[key] < wait {
					continue
				}
				l := s.Metric.Map()
				delete(l, "__name__")
				a := expAlert{Labels: maps.Clone(l), Annotations: map[string]string{}}
				maps.Copy(a.Labels, r.Labels)
				for k, text := range r.Annotations {
					a.Annotations[k] = e.expand(text, l, s, at)
				}
				alerts = append(alerts, a)
			}
		}
	}
	return alerts
}

func (e alertEngine) ask(query string, at time.Duration) promql.Vector {
	e.t.Helper()
	q, err := e.engine.NewInstantQuery(e.t.Context(), e.series, nil, query, time.UnixMilli(at.Milliseconds()))
	if err != nil {
		e.t.Fatalf("%s: %v", query, err)
	}
	defer q.Close()
	v, err := q.Exec(e.t.Context()).Vector()
	if err != nil {
		e.t.Fatalf("%s: %v", query, err)
	}
	return append(promql.Vector(nil), v...)
}

func (e alertEngine) expand(text string, l map[string]string, s promql.Sample, at time.Duration) string {
	e.t.Helper()
	data := template.AlertTemplateData(l, nil, "", s)
	defs := "{{$labels := .Labels}}{{$value := .Value}}"
	out, err := template.NewTemplateExpander(e.t.Context(), defs+text, "alert", data, model.Time(at.Milliseconds()),
		nil, &url.URL{}, nil).Expand()
	if err != nil {
		e.t.Errorf("%s: %v", text, err)
	}
	return out
}

// loadSeries reads a series in promtool's words, such as {account="acme"} 0+300x300.
func loadSeries(t *testing.T, text string, every time.Duration) storage.Series {
	t.Helper()
	l, values, err := parser.ParseSeriesDesc(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if name := l.Get(model.MetricNameLabel); !strings.HasPrefix(name, "spendsync_") {
		t.Errorf("%s is none of ours", name)
	}
	var samples []chunks.Sample
	for i, v := range values {
		if !v.Omitted {
			samples = append(samples, floatSample{int64(i) * every.Milliseconds(), v.Value})
		}
	}
	return storage.NewListSeries(l, samples)
}

type floatSample struct {
	t int64
	v float64
}

func (s floatSample) T() int64                      { return s.t }
func (s floatSample) F() float64                    { return s.v }
func (s floatSample) H() *histogram.Histogram       { return nil }
func (s floatSample) FH() *histogram.FloatHistogram { return nil }
func (s floatSample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s floatSample) Copy() chunks.Sample           { return s }

// seriesList is a storage that holds some series.
type seriesList []storage.Series

func (l seriesList) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints,
		matchers ...*labels.Matcher) storage.SeriesSet {
		found := &someSeries{at: -1}
		for _, s := range l {
			fits := true
			for _, m := range matchers {
				fits = fits && m.Matches(s.Labels().Get(m.Name))
			}
			if fits {
				found.all = append(found.all, s)
			}
		}
		return found
	}}, nil
}

// someSeries walks over series.
type someSeries struct {
	all []storage.Series
	at  int
}

func (s *someSeries) Next() bool                      { s.at++; return s.at < len(s.all) }
func (s *someSeries) At() storage.Series              { return s.all[s.at] }
func (*someSeries) Err() error                        { return nil }
func (*someSeries) Warnings() annotations.Annotations { return nil }
