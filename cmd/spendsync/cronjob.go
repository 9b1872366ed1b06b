package main

import (
	"bytes"
	"embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/robfig/cron/v3"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"spendsync/cmd/spendsync/exit"
	"spendsync/load"
)

// deployFiles are the manifests of deploy/, of which cronjob prints the base.
//
//go:embed deploy/base deploy/common deploy/job
var deployFiles embed.FS

// baseManifests are the files of the base, in the order in which they are applied.
var baseManifests = []string{"common/serviceaccount.yaml", "base/configmap.yaml", "common/pvc.yaml", "common/networkpolicy.yaml", "job/cronjob.yaml"}

// cronjobFlags are what the caller of cronjob chose. Empty ones leave the base as
// it is.
type cronjobFlags struct {
	image, account, schedule, namespace, storage, storageClass, secret string
	advertiserURL, reportURL, reportUser                               string
}

func (a *app) cronjobCommand() *cobra.Command {
	var f cronjobFlags
	cmd := &cobra.Command{
		Use: "cronjob", Short: "Print the Kubernetes manifests of an hourly sync",
		Long: `Prints a ServiceAccount, a ConfigMap, a PersistentVolumeClaim, a NetworkPolicy and a CronJob, with the flags filled in:
the kustomize base of cmd/spendsync/deploy. The Secret is not among them; it is made from two files:

  kubectl create secret generic spendsync --from-file=api-key --from-file=report-password

It is for one account a namespace: the names do not depend on the account, so that another one would replace it. Several
accounts in one warehouse are the overlay deploy/overlays/accounts.

Nothing is asked of the cluster, and no variable is read.`,
		Example: `  spendsync cronjob --image registry.example.com/spendsync:1.0.0 | kubectl apply -f -
  spendsync cronjob --account acme --namespace ads --schedule "*/30 * * * *" --storage 50Gi --storage-class fast \
    --advertiser-url https://ads.example.com/api --report-url https://reports.example.com --report-user you@example.com > acme.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := cronjobManifests(f)
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.image, "image", "", "image of spendsync (default: spendsync:VERSION)")
	flags.StringVar(&f.account, "account", "", "account in the warehouse, SPENDSYNC_ACCOUNT (default \"default\")")
	flags.StringVar(&f.schedule, "schedule", "", "when to run, five fields of cron in Chicago's time (default \"10 * * * *\")")
	flags.StringVar(&f.namespace, "namespace", "", "namespace of everything (default: that of kubectl)")
	flags.StringVar(&f.storage, "storage", "", "size of the volume (default \"20Gi\")")
	flags.StringVar(&f.storageClass, "storage-class", "", "storage class of the volume (default: the cluster's)")
	flags.StringVar(&f.secret, "secret", "", "name of the Secret with api-key and report-password (default \"spendsync\")")
	flags.StringVar(&f.advertiserURL, "advertiser-url", "", "base URL of the advertiser API")
	flags.StringVar(&f.reportURL, "report-url", "", "base URL of the spend report")
	flags.StringVar(&f.reportUser, "report-user", "", "user of the dashboard, for the spend report")
	return cmd
}

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	storageSize  = regexp.MustCompile(`^[1-9][0-9]*(\.[0-9]+)?([KMGTPE]i|[kMGTPE])?$`)
	imageName    = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$`)
)

// check refuses what the cluster would refuse, or take for something else.
func (f *cronjobFlags) check() error {
	for _, v := range []struct {
		flag, value string
		form        *regexp.Regexp
	}{
		{"image", f.image, imageName}, {"account", f.account, load.AccountName}, {"namespace", f.namespace, dnsLabel},
		{"storage", f.storage, storageSize}, {"storage-class", f.storageClass, dnsSubdomain}, {"secret", f.secret, dnsSubdomain},
	} {
		if v.value != "" && !v.form.MatchString(v.value) {
			return exit.Usagef("--%s=%q does not match %s", v.flag, v.value, v.form)
		}
	}
	if f.schedule == "" {
		return nil
	}
	if _, err := cron.ParseStandard(f.schedule); err != nil || strings.Contains(f.schedule, "TZ") {
		return exit.Usagef("--schedule=%q is no schedule such as \"10 * * * *\"; the zone is Chicago's", f.schedule)
	}
	return nil
}

// cronjobManifests are the base with the flags filled in.
func cronjobManifests(f cronjobFlags) ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.image == "" {
		f.image = "spendsync:" + version()
	}
	var out bytes.Buffer
	for i, name := range baseManifests {
		text, err := deployFiles.ReadFile("deploy/" + name)
		if err != nil {
			return nil, err
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf("deploy/%s: %w", name, err)
		}
		if err := f.fill(doc.Content[0]); err != nil {
			return nil, fmt.Errorf("deploy/%s: %w", name, err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		if err := e.Encode(&doc); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// fill sets in one manifest what the flags say.
func (f *cronjobFlags) fill(doc *yaml.Node) error {
	type set struct {
		value string
		path  []string
	}
	sets := []set{{f.namespace, []string{"metadata", "namespace"}}}
	switch kind := nodeAt(doc, "kind"); kind.Value {
	case "ConfigMap":
		sets = append(sets, set{f.account, []string{"data", envPrefix + "ACCOUNT"}}, set{f.advertiserURL, []string{"data", envPrefix + "ADVERTISER_URL"}},
			set{f.reportURL, []string{"data", envPrefix + "REPORT_URL"}}, set{f.reportUser, []string{"data", envPrefix + "REPORT_USER"}})
	case "PersistentVolumeClaim":
		sets = append(sets, set{f.storage, []string{"spec", "resources", "requests", "storage"}}, set{f.storageClass, []string{"spec", "storageClassName"}})
	case "CronJob":
		pod := []string{"spec", "jobTemplate", "spec", "template", "spec"}
		sets = append(sets, set{f.schedule, []string{"spec", "schedule"}}, set{f.image, append(pod[:5:5], "containers", "0", "image")},
			set{f.secret, append(pod[:5:5], "volumes", "1", "secret", "secretName")})
	}
	for _, s := range sets {
		if s.value == "" {
			continue
		}
		above := nodeAt(doc, s.path[:len(s.path)-1]...)
		if above == nil {
			return fmt.Errorf("there is no %s", strings.Join(s.path, "."))
		}
		put(above, s.path[len(s.path)-1], s.value)
	}
	return nil
}

// nodeAt is the node below a path of keys and of places in lists; nil if there is none.
func nodeAt(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		var next *yaml.Node
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == key {
					next = n.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			var i int
			if _, err := fmt.Sscan(key, &i); err == nil && i < len(n.Content) {
				next = n.Content[i]
			}
		}
		if next == nil {
			return nil
		}
		n = next
	}
	return n
}

// put sets a key of a mapping to a text. It is written as a text, whatever else it
// could be read as.
func put(n *yaml.Node, key, value string) {
	text := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	if old := nodeAt(n, key); old != nil {
		text.LineComment, text.Style = old.LineComment, old.Style
		*old = *text
		return
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, text)
}
