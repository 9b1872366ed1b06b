package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/robfig/cron/v3"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/check"
	"spendsync/cmd/spendsync/metrics"
)

// manifests are decoded Kubernetes objects, by kind.
type manifests struct {
	jobs     []*batch.CronJob
	configs  []*core.ConfigMap
	claims   []*core.PersistentVolumeClaim
	secrets  []*core.Secret
	accounts []*core.ServiceAccount
	policies []*networking.NetworkPolicy
	readers  []*apps.Deployment
}

// decode takes in a stream of manifests, by the cluster's own types: a field that
// they do not have is an error, and so is a key twice.
func decodeManifests(t *testing.T, from string, stream []byte) *manifests {
	t.Helper()
	m := &manifests{}
	for _, doc := range regexp.MustCompile(`(?m)^---\n`).Split(string(stream), -1) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		var err error
		switch head.APIVersion + " " + head.Kind {
		case "batch/v1 CronJob":
			m.jobs, err = decodeInto(m.jobs, doc)
		case "v1 ConfigMap":
			m.configs, err = decodeInto(m.configs, doc)
		case "v1 PersistentVolumeClaim":
			m.claims, err = decodeInto(m.claims, doc)
		case "v1 Secret":
			m.secrets, err = decodeInto(m.secrets, doc)
		case "v1 ServiceAccount":
			m.accounts, err = decodeInto(m.accounts, doc)
		case "apps/v1 Deployment":
			m.readers, err = decodeInto(m.readers, doc)
		case "snapshot.storage.k8s.io/v1 VolumeSnapshot": // of a driver's own interface
			err = yaml.UnmarshalStrict([]byte(doc), &map[string]any{})
		case "networking.k8s.io/v1 NetworkPolicy":
			m.policies, err = decodeInto(m.policies, doc)
		default:
			t.Errorf("%s: nothing is known of %s %s", from, head.APIVersion, head.Kind)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", from, head.Kind, err)
		}
	}
	return m
}

func decodeInto[T any](list []*T, doc string) ([]*T, error) {
	v := new(T)
	err := yaml.UnmarshalStrict([]byte(doc), v)
	return append(list, v), err
}

// checkJob holds a CronJob to the binary and to the rules of the house.
func checkJob(t *testing.T, from string, j *batch.CronJob) {
	t.Helper()
	if _, err := cron.ParseStandard(j.Spec.Schedule); err != nil {
		t.Errorf("%s: schedule %q: %v", from, j.Spec.Schedule, err)
	}
	if j.Spec.TimeZone == nil || *j.Spec.TimeZone != "America/Chicago" ||
		j.Spec.ConcurrencyPolicy != batch.ForbidConcurrent || j.Spec.StartingDeadlineSeconds == nil {
		t.Errorf("%s: zone, concurrency or deadline: %+v", from, j.Spec)
	}
	job := j.Spec.JobTemplate.Spec
	if job.ActiveDeadlineSeconds == nil || job.BackoffLimit == nil || job.PodFailurePolicy == nil ||
		job.TTLSecondsAfterFinished == nil {
		t.Fatalf("%s: no deadline, no limit of tries or no policy: %+v", from, job)
	}
	checkPolicy(t, from, job.PodFailurePolicy)
	pod := job.Template.Spec
	if pod.RestartPolicy != core.RestartPolicyNever || pod.AutomountServiceAccountToken == nil ||
		*pod.AutomountServiceAccountToken ||
		pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds <= 10 {
		t.Errorf("%s: restart policy, token or grace: %+v", from, pod)
	}
	s := pod.SecurityContext
	if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || *s.RunAsUser != 65532 || *s.FSGroup != 65532 ||
		s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: security of the pod: %+v", from, s)
	}
	c := pod.Containers[0]
	if runsLake(c) {
		checkInLakeManual(t, from, c.Args[0])
	} else {
		checkArgs(t, from, c.Args)
	}
	if x := c.SecurityContext; x == nil || *x.AllowPrivilegeEscalation || !*x.ReadOnlyRootFilesystem ||
		!slices.Equal(x.Capabilities.Drop, []core.Capability{"ALL"}) {
		t.Errorf("%s: security of the container: %+v", from, x)
	}
	if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().Value() < check.LittleMemory {
		t.Errorf("%s: resources: %+v", from, c.Resources)
	}
	if c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil {
		t.Errorf("%s: a job has no probes", from)
	}
	checkMounts(t, from, pod)
	checkSidecars(t, from, pod)
}

// checkSidecars: containers beside the others start first and stay, hold a secret of their own, and change
// nothing of a store.
func checkSidecars(t *testing.T, from string, pod core.PodSpec) {
	t.Helper()
	for _, c := range pod.InitContainers {
		if c.RestartPolicy == nil || *c.RestartPolicy != core.ContainerRestartPolicyAlways {
			t.Errorf("%s: %s is no sidecar", from, c.Name)
		}
		checkArgs(t, from, c.Args)
		if x := c.SecurityContext; x == nil || *x.AllowPrivilegeEscalation || !*x.ReadOnlyRootFilesystem ||
			!slices.Equal(x.Capabilities.Drop, []core.Capability{"ALL"}) {
			t.Errorf("%s: security of %s: %+v", from, c.Name, x)
		}
		for _, e := range c.Env {
			checkVariable(t, from, e.Name)
		}
		for _, m := range c.VolumeMounts {
			v := pod.Volumes[slices.IndexFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name })]
			if v.PersistentVolumeClaim != nil && !m.ReadOnly {
				t.Errorf("%s: %s may write to the store", from, c.Name)
			}
			if v.Secret != nil && slices.ContainsFunc(pod.Containers[0].VolumeMounts,
				func(m core.VolumeMount) bool { return m.Name == v.Name }) {
				t.Errorf("%s: %s shares the secret %s", from, c.Name, v.Name)
			}
		}
	}
}

// checkPolicy: every code that another try does not help with fails the job, and no
// other.
func checkPolicy(t *testing.T, from string, p *batch.PodFailurePolicy) {
	t.Helper()
	var want, got []int32
	for _, e := range exit.Codes {
		if e.Code != exit.OK && e.Retry != "yes" {
			want = append(want, int32(e.Code))
		}
	}
	for _, r := range p.Rules {
		if r.OnExitCodes == nil {
			continue
		}
		if r.Action != batch.PodFailurePolicyActionFailJob ||
			r.OnExitCodes.Operator != batch.PodFailurePolicyOnExitCodesOpIn {
			t.Errorf("%s: %+v", from, r)
		}
		got = append(got, r.OnExitCodes.Values...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: the job fails at once after %v, want %v", from, got, want)
	}
}

// checkArgs: the binary has the command and its flags.
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

// runsLake: the container runs spendsync-lake, which is in the same image.
func runsLake(c core.Container) bool {
	return slices.Equal(c.Command, []string{"/usr/local/bin/spendsync-lake"})
}

// checkInLakeManual: the manual of spendsync-lake, which a test of its own holds to the
// binary, has this in code.
func checkInLakeManual(t *testing.T, from, code string) {
	t.Helper()
	b, err := os.ReadFile("../spendsync-lake/README.md")
	if err != nil || !regexp.MustCompile("`"+regexp.QuoteMeta(code)+"[` ]").Match(b) {
		t.Errorf("%s: spendsync-lake has no %s: %v", from, code, err)
	}
}

// checkMounts: every mount has its volume, and every file that a variable names
// lies in a mounted Secret.
func checkMounts(t *testing.T, from string, pod core.PodSpec) {
	t.Helper()
	c := pod.Containers[0]
	at := map[string]core.Volume{}
	for _, m := range c.VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name })
		if i < 0 {
			t.Errorf("%s: no volume %s", from, m.Name)
			continue
		}
		at[m.MountPath] = pod.Volumes[i]
	}
	// A run with a bucket begins with that.
	withBucket := c.Args[0] == "sync" && slices.ContainsFunc(c.EnvFrom, func(e core.EnvFromSource) bool {
		return e.ConfigMapRef.Name == "spendsync-bucket"
	})
	files := 0
	for _, e := range c.Env {
		checkVariable(t, from, e.Name)
		if strings.HasSuffix(e.Name, "_FILE") {
			files++
			v := at[filepath.Dir(e.Value)]
			if v.Secret == nil || *v.Secret.DefaultMode != 0o440 {
				t.Errorf("%s: %s=%s is not in a mounted Secret, readable by its group", from, e.Name, e.Value)
			}
		}
		if e.Name == config.Prefix+"DATA_DIR" && (at[e.Value].PersistentVolumeClaim == nil) != withBucket {
			t.Errorf("%s: %s is not on a volume of its own", from, e.Value)
		}
	}
	want := 2
	if runsLake(c) || c.Args[0] == "verify" { // of a bucket
		want = 1
	} else if withBucket {
		want = 3
	}
	if files != want {
		t.Errorf("%s: %d secrets are mounted, want %d", from, files, want)
	}
	if tmp := at["/tmp"].EmptyDir; tmp == nil || tmp.SizeLimit == nil {
		t.Errorf("%s: with a read-only root /tmp is a bounded folder of the pod: %+v", from, at["/tmp"])
	}
}

func checkVariable(t *testing.T, from, name string) {
	t.Helper()
	known := func(v config.Variable) bool {
		return config.Prefix+v.Name == name || v.IsSecret && config.Prefix+v.Name+"_FILE" == name
	}
	switch name {
	case "BUCKET_URL", // of the readers' manifests alone
		"HTTPS_PROXY", "ca.pem":
		return
	}
	if strings.HasPrefix(name, "AWS_") {
		if b, err := os.ReadFile("deploy/README.md"); err != nil || !bytes.Contains(b, []byte("`"+name+"`")) {
			t.Errorf("%s: the manual does not name %s: %v", from, name, err)
		}
		return
	}
	if strings.HasPrefix(name, config.Prefix+"LAKE_") {
		checkInLakeManual(t, from, name)
		return
	}
	if !slices.ContainsFunc(config.Variables(), known) {
		t.Errorf("%s: the binary knows no variable %s", from, name)
	}
}

// check holds all objects to the binary.
func (m *manifests) check(t *testing.T, from string) {
	t.Helper()
	for _, j := range m.jobs {
		checkJob(t, from, j)
	}
	for _, c := range m.configs {
		for name, value := range c.Data {
			checkVariable(t, from, name)
			if strings.Contains(name, "PASSWORD") || name == config.Prefix+"API_KEY" || value == "" {
				t.Errorf("%s: %s in a ConfigMap", from, name)
			}
		}
	}
	for _, r := range m.readers {
		checkSidecars(t, from, r.Spec.Template.Spec)
		if pod := r.Spec.Template.Spec; len(pod.InitContainers) != 1 || !pod.Containers[0].VolumeMounts[0].ReadOnly {
			t.Errorf("%s: readers without a sidecar, or that may write: %+v", from, pod)
		}
	}
	for _, a := range m.accounts {
		if a.AutomountServiceAccountToken == nil || *a.AutomountServiceAccountToken {
			t.Errorf("%s: the service account has a token", from)
		}
	}
	for _, p := range m.policies {
		if len(p.Spec.Ingress) > 0 || !slices.Contains(p.Spec.PolicyTypes, networking.PolicyTypeIngress) {
			t.Errorf("%s: somebody may call: %+v", from, p.Spec)
		}
	}
	for _, s := range m.secrets {
		for _, key := range []string{"api-key", "report-password"} {
			if s.StringData[key] == "" {
				t.Errorf("%s: no %s", from, key)
			}
		}
	}
}

// comments that set a variable, such as "# SPENDSYNC_X: value".
var offeredVariable = regexp.MustCompile(`(?m)^\s*# (SPENDSYNC_[A-Z_]+):`)

func TestDeploy_EveryManifestIsStrict(t *testing.T) {
	n := 0
	err := filepath.WalkDir("deploy", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".yaml") || strings.Contains(path, "monitoring") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		if filepath.Base(path) == "kustomization.yaml" {
			var k types.Kustomization
			if err := yaml.UnmarshalStrict(b, &k); err != nil || len(k.Resources) == 0 {
				t.Errorf("%s: %v, %d resources", path, err, len(k.Resources))
			}
			return nil
		}
		decodeManifests(t, path, b).check(t, path)
		for _, m := range offeredVariable.FindAllStringSubmatch(string(b), -1) {
			checkVariable(t, path, m[1])
		}
		return nil
	})
	if err != nil || n < 15 {
		t.Errorf("%d manifests, %v", n, err)
	}
	site, err := os.ReadFile("../../queries/evidence/cronjob.yaml") // of another image, so only its form is checked
	if err != nil || len(decodeManifests(t, "evidence", site).jobs) != 1 {
		t.Error("the site's manifest has no CronJob", err)
	}
}

// kustomize builds a folder as kubectl apply -k does.
func kustomize(t *testing.T, dir string) []byte {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	b, err := built.AsYaml()
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return b
}

func TestDeploy_BaseAndOverlays(t *testing.T) {
	for dir, want := range map[string]struct {
		jobs []string // name, schedule, command, config, secret, claim
		mode core.PersistentVolumeAccessMode
	}{
		"deploy/base": {[]string{"spendsync|10 * * * *|sync|spendsync|spendsync|spendsync-data"},
			core.ReadWriteOncePod},
		"deploy/overlays/hourly-and-nightly": {[]string{
			"spendsync|10 0-2,4-23 * * *|sync|spendsync|spendsync|spendsync-data",
			"spendsync-nightly|10 3 * * *|sync --full|spendsync|spendsync|spendsync-data",
		}, core.ReadWriteOncePod},
		"deploy/overlays/accounts": {[]string{
			"spendsync-acme|10 * * * *|sync|spendsync-acme|spendsync-acme|spendsync-data",
			"spendsync-globex|40 * * * *|sync|spendsync-globex|spendsync-globex|spendsync-data",
		}, core.ReadWriteOnce},
		"deploy/overlays/bucket": {[]string{
			"spendsync|10 * * * *|sync|spendsync|spendsync|",
			"spendsync-drill|35 4 * * *|verify --from $(SPENDSYNC_BUCKET)|spendsync-bucket|spendsync-bucket|",
		}, ""},
		"deploy/overlays/lake": {[]string{
			"spendsync|10 * * * *|sync|spendsync|spendsync|spendsync-data",
			"spendsync-lake-follow|25 * * * *|follow|spendsync-lake|spendsync-lake|spendsync-data",
			"spendsync-lake-maintain|50 3 * * *|maintain|spendsync-lake|spendsync-lake|spendsync-data",
		}, core.ReadWriteOnce},
	} {
		t.Run(dir, func(t *testing.T) {
			m := decodeManifests(t, dir, kustomize(t, dir))
			m.check(t, dir)
			var got []string
			for _, j := range m.jobs {
				pod := j.Spec.JobTemplate.Spec.Template.Spec
				claim, secret := "", ""
				for _, v := range pod.Volumes {
					if v.PersistentVolumeClaim != nil {
						claim = v.PersistentVolumeClaim.ClaimName
					}
					if v.Secret != nil && secret == "" { // a sidecar's own come later
						secret = v.Secret.SecretName
					}
				}
				c := pod.Containers[0]
				config := c.EnvFrom[0].ConfigMapRef.Name
				got = append(got, strings.Join([]string{j.Name, j.Spec.Schedule, strings.Join(c.Args, " "), config,
					secret, claim}, "|"))
				if !slices.ContainsFunc(m.configs, func(c *core.ConfigMap) bool { return c.Name == config }) ||
					claim != "" && !slices.ContainsFunc(m.claims, func(c *core.PersistentVolumeClaim) bool {
						return c.Name == claim
					}) ||
					!slices.ContainsFunc(m.accounts, func(a *core.ServiceAccount) bool {
						return a.Name == pod.ServiceAccountName
					}) {
					t.Errorf("%s names what is not there", j.Name)
				}
				// What needs no store is for one place of many, so somebody has to resume it.
				if suspended := j.Spec.Suspend != nil && *j.Spec.Suspend; suspended != (claim == "" &&
					want.mode != "" && !strings.HasPrefix(strings.Join(c.Args, " "), "verify --from")) {
					t.Errorf("%s: suspended: %t, claim %q", j.Name, suspended, claim)
				}
				if shared := want.mode == core.ReadWriteOnce; shared != (pod.Affinity != nil) {
					t.Errorf("%s: affinity %+v", j.Name, pod.Affinity)
				}
				if !slices.ContainsFunc(m.policies, func(p *networking.NetworkPolicy) bool {
					return maps.Equal(p.Spec.PodSelector.MatchLabels, j.Spec.JobTemplate.Spec.Template.Labels)
				}) {
					t.Errorf("%s is not under a network policy", j.Name)
				}
			}
			slices.Sort(got)
			slices.Sort(want.jobs)
			if !slices.Equal(got, want.jobs) {
				t.Errorf("jobs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want.jobs, "\n"))
			}
			if len(m.policies) != len(m.accounts) || want.mode == "" && len(m.claims) > 0 ||
				want.mode != "" && (len(m.claims) != 1 || m.claims[0].Spec.AccessModes[0] != want.mode) {
				t.Errorf("claims %+v, %d policies", m.claims, len(m.policies))
			}
		})
	}
}

func TestCronjob_PrintsTheBase(t *testing.T) {
	var out, errOut bytes.Buffer
	print := func(args ...string) *manifests {
		out.Reset()
		if code := run(t.Context(), append([]string{"cronjob"}, args...), nil, &out, &errOut); code != exit.OK {
			t.Fatalf("exit %d: %s", code, errOut.String())
		}
		m := decodeManifests(t, "cronjob", out.Bytes())
		m.check(t, "cronjob")
		return m
	}
	// With no flag it is the base, but for the image.
	plain := decodeManifests(t, "cronjob", bytes.ReplaceAll(func() []byte { print("--example"); return out.Bytes() }(),
		[]byte("spendsync:"+version()), []byte("spendsync:1.0.0")))
	base := decodeManifests(t, "base", kustomize(t, "deploy/base"))
	a, _ := json.Marshal([]any{plain.jobs, plain.configs, plain.claims, plain.accounts, plain.policies})
	b, _ := json.Marshal([]any{base.jobs, base.configs, base.claims, base.accounts, base.policies})
	if !bytes.Equal(a, b) {
		t.Errorf("cronjob prints\n%s\nthe base is\n%s", a, b)
	}

	m := print("--image", "registry.example.com:5000/ads/spendsync:1.2.3", "--account", "42", "--schedule",
		"*/30 * * * *", "--namespace", "ads",
		"--storage", "50Gi", "--storage-class", "fast", "--secret", "push-ads", "--advertiser-url",
		"https://a.example.com", "--report-url", "https://r.example.com", "--report-user", "me@example.com")
	pod := m.jobs[0].Spec.JobTemplate.Spec.Template.Spec
	got := []string{pod.Containers[0].Image, m.configs[0].Data["SPENDSYNC_ACCOUNT"], m.jobs[0].Spec.Schedule,
		m.jobs[0].Namespace, m.configs[0].Namespace, m.claims[0].Namespace,
		m.claims[0].Spec.Resources.Requests.Storage().String(), *m.claims[0].Spec.StorageClassName,
		pod.Volumes[1].Secret.SecretName,
		m.configs[0].Data["SPENDSYNC_ADVERTISER_URL"], m.configs[0].Data["SPENDSYNC_REPORT_URL"],
		m.configs[0].Data["SPENDSYNC_REPORT_USER"]}
	want := []string{"registry.example.com:5000/ads/spendsync:1.2.3", "42", "*/30 * * * *", "ads", "ads", "ads", "50Gi",
		"fast", "push-ads",
		"https://a.example.com", "https://r.example.com", "me@example.com"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, args := range [][]string{{"--schedule", "hourly"}, {"--schedule", "TZ=UTC 1 * * * *"}, {"--account", "A B"},
		{"--storage", "much"}, {"--namespace", "Ads"}, {"--image", "x y"},
		{"--advertiser-url", "https://ads.example.com/api"}, {"--report-url", "https://reports.example.com"},
		{"--report-user", "you@example.com"}, {"--image", "spendsync:devel"}, {"--accounts", "/nowhere.csv"},
		{"--accounts", "/nowhere.csv", "--account", "acme"}} {
		errOut.Reset()
		if code := run(t.Context(), append([]string{"cronjob"}, args...), nil, &out, &errOut); code != exit.Usage ||
			!strings.Contains(errOut.String(), args[0]) {
			t.Errorf("%v: exit %d: %s", args, code, errOut.String())
		}
	}
}

// TestCronjob_FitsACompanysNetwork: the values that init wrote, a proxy, an own authority, the cluster's DNS, a
// registry with a password and storage without ReadWriteOncePod.
func TestCronjob_FitsACompanysNetwork(t *testing.T) {
	w := newWorld(t)
	caFile, _, _ := w.company()
	dir := t.TempDir()
	env := filepath.Join(dir, "spendsync.env")
	if err := os.WriteFile(env, []byte("SPENDSYNC_ADVERTISER_URL=https://a.test:8443/api\n"+
		"SPENDSYNC_REPORT_URL=https://r.test\nSPENDSYNC_REPORT_USER=me\nSPENDSYNC_ACCOUNT=acme\n"+
		"SPENDSYNC_API_KEY_FILE=the-key\nSPENDSYNC_REPORT_PASSWORD_FILE=the-password\nSPENDSYNC_CA_FILE="+caFile+
		"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	print := func(args ...string) (*manifests, string) {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), append([]string{"cronjob", "--config", env, "--image", "r.test/spendsync:1"},
			args...), nil, &out, &errOut); code != exit.OK {
			t.Fatalf("exit %d: %s", code, errOut.String())
		}
		m := decodeManifests(t, "cronjob", out.Bytes())
		m.check(t, "cronjob")
		return m, out.String()
	}
	egress := func(m *manifests) (text string) {
		for _, rule := range m.policies[0].Spec.Egress[:2] {
			for _, port := range rule.Ports {
				text += fmt.Sprintf("%s/%s ", port.Port.String(), *port.Protocol)
			}
			if s := rule.To[0].NamespaceSelector; s != nil {
				text += fmt.Sprint(s.MatchLabels["kubernetes.io/metadata.name"], " ")
			}
		}
		return strings.TrimSpace(text)
	}
	m, text := print()
	data := m.configs[0].Data
	got := []string{data["SPENDSYNC_ADVERTISER_URL"], data["SPENDSYNC_REPORT_URL"], data["SPENDSYNC_REPORT_USER"],
		data["SPENDSYNC_ACCOUNT"], data["SPENDSYNC_CA_FILE"], egress(m)}
	want := []string{"https://a.test:8443/api", "https://r.test", "me", "acme", "/etc/spendsync/ca.pem",
		"53/UDP 53/TCP kube-system 443/TCP 8443/TCP"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if secret := "# kubectl create secret generic spendsync --from-file=api-key='the-key' " +
		"--from-file=report-password='the-password'\n"; !strings.Contains(text, secret) {
		t.Errorf("%q is missing in\n%.400s", secret, text)
	}
	pem, err := os.ReadFile(caFile)
	if err != nil || len(m.configs) != 2 || m.configs[1].Data["ca.pem"] != string(pem) {
		t.Errorf("the authority is not in a ConfigMap: %v", err)
	}
	pod := m.jobs[0].Spec.JobTemplate.Spec.Template.Spec
	mount := pod.Containers[0].VolumeMounts[len(pod.Containers[0].VolumeMounts)-1]
	if volume := pod.Volumes[len(pod.Volumes)-1]; volume.ConfigMap == nil ||
		volume.ConfigMap.Name != m.configs[1].Name || mount.Name != volume.Name || mount.MountPath != "/etc/spendsync" {
		t.Errorf("the authority is not mounted: %+v, %+v", volume, mount)
	}

	m, _ = print("--proxy", "http://proxy.test:3128", "--dns", "openshift-dns:5353", "--image-pull-secret", "registry",
		"--access-mode", "ReadWriteOnce")
	pod = m.jobs[0].Spec.JobTemplate.Spec.Template.Spec
	if got, want := egress(m), "5353/UDP 5353/TCP openshift-dns 3128/TCP"; got != want {
		t.Errorf("the policy lets out %s, want %s", got, want)
	}
	if m.configs[0].Data["HTTPS_PROXY"] != "http://proxy.test:3128" || len(pod.ImagePullSecrets) != 1 ||
		pod.ImagePullSecrets[0].Name != "registry" || m.claims[0].Spec.AccessModes[0] != core.ReadWriteOnce {
		t.Errorf("%v, %v, %v", m.configs[0].Data, pod.ImagePullSecrets, m.claims[0].Spec.AccessModes)
	}
	for _, args := range [][]string{{"--proxy", "http://user:password@proxy:3128"}, {"--ca-file", "/dev/null"},
		{"--dns", "a b"}, {"--access-mode", "ReadWriteMany"}} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), append([]string{"cronjob", "--config", env}, args...), nil, &out, &errOut)
		if code != exit.Usage || !strings.Contains(errOut.String(), args[0]) ||
			strings.Contains(errOut.String(), ":password@") {
			t.Errorf("%v: exit %d: %s", args, code, errOut.String())
		}
	}
}

// TestCronjob_PrintsAccounts: with the accounts of the overlay it prints the overlay.
func TestCronjob_PrintsAccounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "accounts.csv")
	var out, errOut bytes.Buffer
	print := func(text string, args ...string) int {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		errOut.Reset()
		return run(t.Context(), append([]string{"cronjob", "--accounts", file}, args...), nil, &out, &errOut)
	}
	if code := print("\ufeffaccount,report_user\nacme,acme@example.com\nglobex,globex@example.com\n", "--example",
		"--image", "spendsync:1.0.0", "--advertiser-url", "https://ads.example.com/api", "--report-url",
		"https://reports.example.com"); code != exit.OK {
		t.Fatalf("exit %d: %s", code, errOut.String())
	}
	for _, secret := range []string{"# kubectl create secret generic spendsync-acme --from-file=acme/api-key ",
		"# kubectl create secret generic spendsync-globex --from-file=globex/api-key "} {
		if !strings.Contains(out.String(), secret) {
			t.Errorf("%q is missing in\n%.400s", secret, out.String())
		}
	}
	ours, theirs := decodeManifests(t, "cronjob", out.Bytes()), decodeManifests(t, "overlay",
		kustomize(t, "deploy/overlays/accounts"))
	ours.check(t, "cronjob")
	for _, j := range theirs.jobs { // kustomize merges a list with the changed item first
		slices.SortFunc(j.Spec.JobTemplate.Spec.Template.Spec.Volumes, func(a, b core.Volume) int {
			return strings.Compare(a.Name, b.Name)
		})
	}
	a, _ := json.Marshal([]any{ours.jobs, ours.configs, ours.claims, ours.accounts, ours.policies})
	b, _ := json.Marshal([]any{theirs.jobs, theirs.configs, theirs.claims, theirs.accounts, theirs.policies})
	if !bytes.Equal(a, b) {
		t.Errorf("cronjob prints\n%s\nthe overlay is\n%s", a, b)
	}

	own := []string{"--image", "registry.acme.test/spendsync:1.0.0", "--advertiser-url", "https://ads.acme.test",
		"--report-url", "https://reports.acme.test", "--report-user", "ads@acme.test", "--namespace", "ads"}
	text := "account,secret\n"
	for i := range 30 {
		text += fmt.Sprintf("a_%d,\n", i)
	}
	if code := print(text+"last,vault-last\n", own...); code != exit.OK {
		t.Fatalf("exit %d: %s", code, errOut.String())
	}
	m := decodeManifests(t, "cronjob", out.Bytes())
	m.check(t, "cronjob")
	schedules := map[string]bool{}
	for i, j := range m.jobs {
		schedules[j.Spec.Schedule] = true
		secret := fmt.Sprintf("spendsync-a-%d", i)
		if i == 30 {
			secret = "vault-last"
		}
		pod := j.Spec.JobTemplate.Spec.Template.Spec
		if got := pod.Volumes[1].Secret.SecretName; got != secret || j.Namespace != "ads" ||
			pod.Containers[0].EnvFrom[0].ConfigMapRef.Name != m.configs[i].Name {
			t.Errorf("job %s: secret %s, ConfigMap %s", j.Name, got, pod.Containers[0].EnvFrom[0].ConfigMapRef.Name)
		}
	}
	if len(m.jobs) != 31 || len(m.configs) != 31 || len(schedules) != 31 || len(m.claims) != 1 {
		t.Errorf("%d jobs with %d schedules, %d ConfigMaps, %d claims", len(m.jobs), len(schedules), len(m.configs),
			len(m.claims))
	}

	for text, says := range map[string]string{
		"":                            "is empty",
		"account\n":                   "has no account",
		"report_user\nx\n":            "the column account is missing",
		"account,colour\na,b\n":       `"colour"`,
		"account\nA B\n":              `line 2: account "A B"`,
		"account\na-b\na_b\n":         `line 3: account "a_b"`,
		"account,secret\na,No Name\n": "line 2: --secret",
		"account\na,b\n":              "wrong number of fields",
	} {
		if code := print(text, own...); code != exit.Usage || !strings.Contains(errOut.String(), says) {
			t.Errorf("%q: exit %d: %s", text, code, errOut.String())
		}
	}
	if code := print("account\nacme\n", "--image", "x:1"); code != exit.Usage ||
		!strings.Contains(errOut.String(), "account acme: --advertiser-url, --report-url, --report-user") {
		t.Errorf("exit %d: %s", code, errOut.String())
	}
}

// alertRules is alerts.yaml.
type alertRules struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			For         string            `json:"for"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

// checkQuery parses a query and holds the metrics and labels that it names to those
// that there are.
func checkQuery(t *testing.T, from, query string) {
	t.Helper()
	expr, err := parser.ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v", from, err)
		return
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		if strings.HasPrefix(s.Name, "spendsync_lake_") {
			checkInLakeManual(t, from, s.Name)
			return nil
		}
		for _, m := range metrics.Transfers {
			if s.Name == metrics.Of("push", m.Name) || s.Name == metrics.Of("pull", m.Name) {
				return nil
			}
		}
		if s.Name == metrics.Backup {
			return nil
		}
		i := slices.IndexFunc(metrics.All, func(m metrics.Metric) bool { return m.Name == s.Name })
		if i < 0 {
			t.Errorf("%s: there is no metric %s", from, s.Name)
			return nil
		}
		for _, l := range s.LabelMatchers {
			if !slices.Contains([]string{"__name__", "account", metrics.All[i].Label}, l.Name) {
				t.Errorf("%s: %s has no label %s", from, s.Name, l.Name)
			}
		}
		return nil
	})
}

func TestDeploy_AlertsNameWhatThereIs(t *testing.T) {
	b, err := os.ReadFile("deploy/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules alertRules
	if err := yaml.UnmarshalStrict(b, &rules); err != nil {
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
		// That it fires is tested by deploy_alerts_test.go; here, that a test expects it.
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

func TestDeploy_DashboardNamesWhatThereIs(t *testing.T) {
	b, err := os.ReadFile("deploy/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	type box struct{ X, Y, W, H int }
	var board struct {
		UID, Title string
		Panels     []struct {
			ID      int
			Title   string
			GridPos box
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	if err := json.Unmarshal(b, &board); err != nil {
		t.Fatal(err)
	}
	shown, ids := map[string]bool{}, map[int]bool{}
	for i, p := range board.Panels {
		if p.Title == "" || len(p.Targets) == 0 || ids[p.ID] {
			t.Errorf("panel %d: %+v", p.ID, p)
		}
		ids[p.ID] = true
		for _, q := range board.Panels[:i] {
			if a, b := p.GridPos, q.GridPos; a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s lies over %s", p.Title, q.Title)
			}
		}
		for _, target := range p.Targets {
			checkQuery(t, fmt.Sprintf("panel %q", p.Title), target.Expr)
			for _, m := range metrics.All {
				shown[m.Name] = shown[m.Name] || strings.Contains(target.Expr, m.Name+"{")
			}
		}
	}
	for _, name := range []string{"spendsync_coverage", "spendsync_balance_dollars", "spendsync_last_run_requests",
		"spendsync_last_run_throttled_seconds", "spendsync_api_key_expiry_timestamp_seconds"} {
		if !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
	if i := slices.IndexFunc(board.Templating.List, func(v struct{ Name, Query string }) bool {
		return v.Name == "account"
	}); i < 0 || !strings.Contains(board.Templating.List[i].Query, "spendsync_last_run_timestamp_seconds") {
		t.Errorf("variables: %+v", board.Templating.List)
	}
}
