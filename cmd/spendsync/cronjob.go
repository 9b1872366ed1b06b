package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/deploy"
	"spendsync/schema"
)

// cronjobCommand is "cronjob".
type cronjobCommand struct {
	*call
	settings deploy.Settings
	example  bool
}

func newCronjobCommand(a *call) *cobra.Command {
	c := &cronjobCommand{call: a}
	cmd := &cobra.Command{
		Use: "cronjob", Short: "Print the Kubernetes manifests of an hourly sync",
		Long: `Prints a ServiceAccount, a ConfigMap, a PersistentVolumeClaim, a NetworkPolicy and a CronJob, with the
flags filled in: the kustomize base of cmd/spendsync/deploy. The Secret is not among them; it is made from two files:

  kubectl create secret generic spendsync --from-file=api-key --from-file=report-password

The URLs, the user and the account are those of spendsync.env, which 'spendsync init' writes, and of the environment,
unless flags are given; the first lines of the output then name the secret to make. Without any, the examples of the
base are refused unless --example is given. Several accounts, a proxy, a registry with a password and the like are
patches: see the overlays beside the base.

Nothing is asked of the cluster.`,
		Example: `  spendsync cronjob --account acme --namespace ads --storage 50Gi \
    --schedule "*/30 * * * *" --image registry.example.com/spendsync:1.0.0 \
    --advertiser-url https://ads.acme.test/api \
    --report-url https://reports.acme.test --report-user me@acme.test > a.yaml
  spendsync cronjob --example`,
		RunE: func(*cobra.Command, []string) error {
			text, err := c.manifests()
			if err == nil {
				_, err = c.stdout.Write(text)
			}
			return err
		},
	}
	f := &c.settings
	flags := cmd.Flags()
	flags.StringVar(&f.Image, "image", "", "image of spendsync")
	flags.StringVar(&f.Account, "account", "", "account in the warehouse, SPENDSYNC_ACCOUNT (default \"default\")")
	flags.StringVar(&f.Schedule, "schedule", "", "when to run, five fields of cron in Chicago's time (default "+
		"\"10 * * * *\")")
	flags.StringVar(&f.Namespace, "namespace", "", "namespace of everything (default: that of kubectl)")
	flags.StringVar(&f.Storage, "storage", "", "size of the volume (default \"20Gi\")")
	flags.StringVar(&f.AdvertiserURL, "advertiser-url", "", "base URL of the advertiser API")
	flags.StringVar(&f.ReportURL, "report-url", "", "base URL of the spend report")
	flags.StringVar(&f.ReportUser, "report-user", "", "user of the dashboard, for the spend report")
	flags.BoolVar(&c.example, "example", false, "print the examples of the base in place of values that are missing")
	return cmd
}

func (c *cronjobCommand) manifests() ([]byte, error) {
	environ, err := config.WithFile(c.environ, c.configFile)
	if err != nil {
		return nil, err
	}
	f, env := c.settings, config.FromEnviron(environ)
	f.AdvertiserURL = cmp.Or(f.AdvertiserURL, env["ADVERTISER_URL"])
	f.ReportURL, f.ReportUser = cmp.Or(f.ReportURL, env["REPORT_URL"]), cmp.Or(f.ReportUser, env["REPORT_USER"])
	f.Account = cmp.Or(f.Account, env["ACCOUNT"])
	if f.Account != "" && !schema.AccountName.MatchString(f.Account) { // the cluster checks the other values itself
		return nil, exit.Usagef("--account=%q does not match %s", f.Account, schema.AccountName)
	}
	if missing := f.Missing(); len(missing) > 0 && !c.example {
		verb := " is missing"
		if len(missing) > 1 {
			verb = " are missing"
		}
		return nil, exit.Advise(exit.Usagef("%s%s", strings.Join(missing, ", "), verb), "give your own values, or "+
			"--example to print the examples of the base")
	}
	text, err := deploy.Manifests(f)
	key, password := env["API_KEY_FILE"], env["REPORT_PASSWORD_FILE"]
	if key == "" || password == "" || err != nil {
		return text, err
	}
	in := ""
	if f.Namespace != "" {
		in = " --namespace " + f.Namespace
	}
	return append(fmt.Appendf(nil, "# The secret is made from two files:\n# kubectl create secret generic spendsync "+
		"--from-file=api-key='%s' --from-file=report-password='%s'%s\n", key, password, in), text...), nil
}
