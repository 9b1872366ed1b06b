package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/metrics"
)

// These tests compare the manifests with the binary: its commands, variables, exit codes and metrics. Other tests apply
// the manifests: .ci/cluster on a real API server of Kubernetes, and .ci/readers with promtool of Prometheus.

// kubeObject contains those fields of a Kubernetes object that the tests read.
type kubeObject struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Spec     struct {
		Schedule    string
		TimeZone    string `yaml:"timeZone"`
		Concurrency string `yaml:"concurrencyPolicy"`
		Egress      []struct{ Ports []struct{ Port string } }
		Resources   struct{ Requests map[string]string }
		Template    podTemplate
		JobTemplate struct {
			Spec struct {
				PodFailurePolicy struct {
					Rules []struct {
						OnExitCodes struct{ Values []int } `yaml:"onExitCodes"`
					}
				} `yaml:"podFailurePolicy"`
				Template podTemplate
			}
		} `yaml:"jobTemplate"`
	}
}

type podTemplate struct {
	Spec struct {
		InitContainers []container `yaml:"initContainers"`
		Containers     []container
	}
}

type container struct {
	Image         string
	Command, Args []string
	Env           []struct{ Name, Value string }
}

// readManifests reads a stream of manifests. A duplicate key is an error.
func readManifests(t *testing.T, from string, stream []byte) (all []*kubeObject) {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(stream)); ; {
		m := &kubeObject{}
		if err := d.Decode(m); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		all = append(all, m)
	}
}

// ofKind returns the first object of a kind.
func ofKind(t *testing.T, all []*kubeObject, kind string) *kubeObject {
	t.Helper()
	i := slices.IndexFunc(all, func(m *kubeObject) bool { return m.Kind == kind })
	if i < 0 {
		t.Fatalf("there is no %s", kind)
	}
	return all[i]
}

// checkManifest checks that everything a manifest names exists in the binary.
func checkManifest(t *testing.T, from string, m *kubeObject) {
	t.Helper()
	for name, value := range m.Data {
		checkVariable(t, from, name)
		if strings.Contains(name, "PASSWORD") || name == config.Prefix+"API_KEY" || value == "" {
			t.Errorf("%s: %s in a ConfigMap", from, name)
		}
	}
	for _, pod := range []podTemplate{m.Spec.Template, m.Spec.JobTemplate.Spec.Template} {
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			for _, e := range c.Env {
				checkVariable(t, from, e.Name)
			}
			switch {
			case slices.Equal(c.Command, []string{"/usr/local/bin/spendsync-lake"}):
				checkInLakeManual(t, from, c.Args[0])
			case strings.Contains(c.Image, "spendsync") && len(c.Args) > 0:
				checkArgs(t, from, c.Args)
			}
		}
	}
	var got, want []int
	for _, r := range m.Spec.JobTemplate.Spec.PodFailurePolicy.Rules {
		got = append(got, r.OnExitCodes.Values...)
	}
	for _, e := range exit.Codes {
		if e.Code != exit.OK && e.Retry != "yes" {
			want = append(want, e.Code)
		}
	}
	if len(got) > 0 && !slices.Equal(got, want) {
		t.Errorf("%s: the job fails at once after %v, want %v", from, got, want)
	}
}

// checkArgs checks that the binary has the command and its flags.
func checkArgs(t *testing.T, from string, args []string) {
	t.Helper()
	root := newApp(nil, nil, nil).commands()
	cmd, rest, err := root.Find(args)
	if err != nil || cmd == root {
		t.Errorf("%s: there is no command %v: %v", from, args, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %v: %v", from, args, err)
	}
}

// checkInLakeManual checks that the manual of spendsync-lake contains a text as code. Another test compares that manual
// with the binary.
func checkInLakeManual(t *testing.T, from, code string) {
	t.Helper()
	b, err := os.ReadFile("../spendsync-lake/README.md")
	if err != nil || !regexp.MustCompile("`"+regexp.QuoteMeta(code)+"[` ]").Match(b) {
		t.Errorf("%s: spendsync-lake has no %s: %v", from, code, err)
	}
}

func checkVariable(t *testing.T, from, name string) {
	t.Helper()
	known := func(v config.Variable) bool {
		return config.Prefix+v.Name == name || v.IsSecret && config.Prefix+v.Name+"_FILE" == name
	}
	switch {
	case name == "BUCKET_URL", name == "HTTPS_PROXY", name == "ca.pem":
	case strings.HasPrefix(name, config.Prefix+"LAKE_"):
		checkInLakeManual(t, from, name)
	case strings.HasPrefix(name, "AWS_"):
		if b, err := os.ReadFile("deploy/README.md"); err != nil || !bytes.Contains(b, []byte("`"+name+"`")) {
			t.Errorf("%s: the manual does not name %s: %v", from, name, err)
		}
	case !slices.ContainsFunc(config.Variables(), known):
		t.Errorf("%s: the binary knows no variable %s", from, name)
	}
}

// offeredVariable matches a comment that shows how to set a variable, such as "# SPENDSYNC_X: value".
var offeredVariable = regexp.MustCompile(`(?m)^\s*# (SPENDSYNC_[A-Z_]+):`)

func TestDeploy_ManifestsNameWhatThereIs(t *testing.T) {
	n := 0
	err := filepath.WalkDir("deploy", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".yaml") || strings.Contains(path, "monitoring") ||
			filepath.Base(path) == "kustomization.yaml" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		for _, m := range readManifests(t, path, b) {
			checkManifest(t, path, m)
		}
		for _, m := range offeredVariable.FindAllStringSubmatch(string(b), -1) {
			checkVariable(t, path, m[1])
		}
		return nil
	})
	if err != nil || n < 8 {
		t.Errorf("%d manifests, %v", n, err)
	}
}

func TestCronjob_PrintsTheBase(t *testing.T) {
	var out, errOut bytes.Buffer
	print := func(args ...string) []*kubeObject {
		out.Reset()
		if code := run(t.Context(), append([]string{"cronjob"}, args...), nil, &out, &errOut); code != exit.OK {
			t.Fatalf("exit %d: %s", code, errOut.String())
		}
		all := readManifests(t, "cronjob", out.Bytes())
		for _, m := range all {
			checkManifest(t, "cronjob", m)
		}
		return all
	}
	job := ofKind(t, print("--example"), "CronJob")
	if job.Spec.TimeZone != "America/Chicago" || job.Spec.Concurrency != "Forbid" ||
		len(job.Spec.JobTemplate.Spec.PodFailurePolicy.Rules) == 0 {
		t.Errorf("%+v", job.Spec)
	}
	all := print("--image", "registry.example.com:5000/ads/spendsync:1.2.3", "--account", "42", "--schedule",
		"*/30 * * * *", "--namespace", "ads", "--storage", "50Gi", "--advertiser-url", "https://a.example.com",
		"--report-url", "https://r.example.com", "--report-user", "me@example.com")
	job, data := ofKind(t, all, "CronJob"), ofKind(t, all, "ConfigMap").Data
	claim := ofKind(t, all, "PersistentVolumeClaim")
	got := []string{job.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image, data["SPENDSYNC_ACCOUNT"],
		job.Spec.Schedule, claim.Spec.Resources.Requests["storage"], data["SPENDSYNC_ADVERTISER_URL"],
		data["SPENDSYNC_REPORT_URL"], data["SPENDSYNC_REPORT_USER"]}
	want := []string{"registry.example.com:5000/ads/spendsync:1.2.3", "42", "*/30 * * * *", "50Gi",
		"https://a.example.com", "https://r.example.com", "me@example.com"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, m := range all {
		if m.Metadata.Namespace != "ads" {
			t.Errorf("%s %s is in namespace %q", m.Kind, m.Metadata.Name, m.Metadata.Namespace)
		}
	}
	errOut.Reset()
	if code := run(t.Context(), []string{"cronjob", "--account", "A B"}, nil, &out, &errOut); code != exit.Usage ||
		!strings.Contains(errOut.String(), "--account") {
		t.Errorf("exit %d: %s", code, errOut.String())
	}
}

var metricName = regexp.MustCompile(`\bspendsync_[a-z_]+`)

// checkQuery checks that every metric in a query exists.
func checkQuery(t *testing.T, from, query string) {
	t.Helper()
	names := metricName.FindAllString(query, -1)
	if len(names) == 0 {
		t.Errorf("%s: %s names no metric", from, query)
	}
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, "spendsync_lake_"):
			checkInLakeManual(t, from, name)
		case name != metrics.Backup &&
			!slices.ContainsFunc(metrics.All, func(m metrics.Metric) bool { return m.Name == name }):
			t.Errorf("%s: there is no metric %s", from, name)
		}
	}
}

func TestDeploy_AlertsNameWhatThereIs(t *testing.T) {
	b, err := os.ReadFile("deploy/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(b, &rules); err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("deploy/monitoring/alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules.Groups[0].Rules {
		checkQuery(t, r.Alert, r.Expr)
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" ||
			!slices.Contains([]string{"page", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: %+v", r.Alert, r)
		}
		// promtool tests that the alert fires; here it is enough that one of promtool's tests expects the alert.
		if !regexp.MustCompile(`alertname: ` + r.Alert + `\n\s+exp_alerts:`).Match(tests) {
			t.Errorf("no test in alerts_test.yaml lets %s fire", r.Alert)
		}
		for _, code := range regexp.MustCompile(`exit_code == (\d+)`).FindAllStringSubmatch(r.Expr, -1) {
			n, _ := strconv.Atoi(code[1])
			if e := exit.About(n); e.Code != n || e.Retry != "no" {
				t.Errorf("%s: exit %d is %q, retry %q", r.Alert, n, e.Means, e.Retry)
			}
		}
		for _, name := range regexp.MustCompile(config.Prefix+`[A-Z_]+`).FindAllString(r.Annotations["description"],
			-1) {
			checkVariable(t, r.Alert, name)
		}
	}
	if n := len(rules.Groups[0].Rules); n < 8 {
		t.Errorf("%d alerts", n)
	}
}
