package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/files"
	"spendsync/cmd/spendsync/deploy"
	"spendsync/extract/outbound"
)

// cronjobCommand is "cronjob".
type cronjobCommand struct {
	*call
	settings deploy.Settings
	caFile   string
	several  string // file of accounts
	example  bool
}

func newCronjobCommand(a *call) *cobra.Command {
	c := &cronjobCommand{call: a}
	cmd := &cobra.Command{
		Use: "cronjob", Short: "Print the Kubernetes manifests of an hourly sync",
		Long: `Prints a ServiceAccount, a ConfigMap, a PersistentVolumeClaim, a NetworkPolicy and a CronJob, with the
flags filled in: the kustomize base of cmd/spendsync/deploy. The Secret is not among them; it is made from two files:

  kubectl create secret generic spendsync --from-file=api-key --from-file=report-password

In a company's network: --proxy is HTTPS_PROXY and the only port that the NetworkPolicy lets out, --ca-file a PEM file
of authorities to trust beside the system's, --dns the namespace of the cluster's DNS.

The URLs, the user, the account and the file of the company's own authorities are those of spendsync.env, which
'spendsync init' writes, and of the environment, unless flags are given; the first lines of the output then name the
secret to make. Without any, the examples of the base are refused unless --example is given.

--accounts FILE.csv prints several accounts in one store: a ConfigMap and a CronJob for each, their schedules spread
over the hour, and one volume. The file has a heading with the columns account, advertiser_url, report_url,
report_user and secret; the flags stand for columns that it lacks. The first lines of the output name the secrets to
make.

Nothing is asked of the cluster.`,
		Example: `  spendsync cronjob --account acme --namespace ads --schedule "*/30 * * * *" --storage 50Gi \
    --storage-class fast --image registry.example.com/spendsync:1.0.0 --advertiser-url https://ads.acme.test/api \
    --report-url https://reports.acme.test --report-user ads@acme.test > acme.yaml
  spendsync cronjob --accounts accounts.csv --image registry.example.com/spendsync:1.0.0 > accounts.yaml
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
	flags.StringVar(&f.Image, "image", "", "image of spendsync (default: spendsync:VERSION)")
	flags.StringVar(&f.Account, "account", "", "account in the warehouse, SPENDSYNC_ACCOUNT (default \"default\")")
	flags.StringVar(&f.Schedule, "schedule", "", "when to run, five fields of cron in Chicago's time (default "+
		"\"10 * * * *\")")
	flags.StringVar(&f.Namespace, "namespace", "", "namespace of everything (default: that of kubectl)")
	flags.StringVar(&f.Storage, "storage", "", "size of the volume (default \"20Gi\")")
	flags.StringVar(&f.StorageClass, "storage-class", "", "storage class of the volume (default: the cluster's)")
	flags.StringVar(&f.Secret, "secret", "", "name of the Secret with api-key and report-password (default "+
		"\"spendsync\")")
	flags.StringVar(&f.AdvertiserURL, "advertiser-url", "", "base URL of the advertiser API")
	flags.StringVar(&f.ReportURL, "report-url", "", "base URL of the spend report")
	flags.StringVar(&f.ReportUser, "report-user", "", "user of the dashboard, for the spend report")
	flags.StringVar(&f.Proxy, "proxy", "", "proxy to the services, http://host:port")
	flags.StringVar(&c.caFile, "ca-file", "", "PEM file of authorities to trust beside the system's")
	flags.StringVar(&f.DNS, "dns", "", "namespace of the cluster's DNS, and its port (default \"kube-system:53\")")
	flags.StringVar(&f.PullSecret, "image-pull-secret", "", "name of the Secret with which the image is pulled")
	flags.StringVar(&f.AccessMode, "access-mode", "", "of the volume: ReadWriteOnce where the storage has no "+
		"ReadWriteOncePod")
	flags.StringVar(&c.several, "accounts", "", "CSV file with several accounts: account, advertiser_url, "+
		"report_url, report_user, secret")
	flags.BoolVar(&c.example, "example", false, "print the example URLs and a development image as well")
	return cmd
}

// maxAccountsFile is far more than the accounts of one store.
const maxAccountsFile = 1 << 20

// manifests are those of one account, or of the accounts of the file.
func (c *cronjobCommand) manifests() ([]byte, error) {
	environ, err := config.WithFile(c.environ, c.configFile)
	if err != nil {
		return nil, err
	}
	f, env := c.settings, config.FromEnviron(environ)
	f.AdvertiserURL = cmp.Or(f.AdvertiserURL, env["ADVERTISER_URL"])
	f.ReportURL, f.ReportUser = cmp.Or(f.ReportURL, env["REPORT_URL"]), cmp.Or(f.ReportUser, env["REPORT_USER"])
	if c.several == "" {
		f.Account = cmp.Or(f.Account, env["ACCOUNT"])
	}
	if file := cmp.Or(c.caFile, env["CA_FILE"]); file != "" {
		pem, err := files.Read(file, files.MaxSecret)
		if err == nil {
			err = outbound.Trust(pem)
		}
		if err != nil {
			return nil, exit.Usagef("--ca-file %s: %v", file, err)
		}
		f.CA = string(pem)
	}
	f.Image = cmp.Or(f.Image, "spendsync:"+version())
	if err := f.Check(); err != nil {
		return nil, exit.Usagef("%s", err)
	}
	all := []deploy.Settings{f}
	if c.several != "" {
		if f.Account != "" || f.Schedule != "" || f.Secret != "" {
			return nil, exit.Usagef("--accounts has an account, a schedule and a secret for each line: leave out " +
				"--account, --schedule and --secret")
		}
		text, err := files.Read(c.several, maxAccountsFile)
		if err != nil {
			return nil, exit.Usagef("--accounts: %s", err)
		}
		if all, err = deploy.ReadAccounts(c.several, text, f); err != nil {
			return nil, exit.Usagef("--accounts: %s", err)
		}
	}
	for _, one := range all {
		left, err := one.Examples()
		if err != nil {
			return nil, err
		}
		if len(left) > 0 && !c.example {
			of := ""
			if c.several != "" {
				of = "account " + one.Account + ": "
			}
			return nil, exit.Advise(exit.Usagef("%s%s would be the example's, where no service and no image is", of,
				strings.Join(left, ", ")), "give your own values, or --example to print the examples")
		}
	}
	if c.several != "" {
		return deploy.OfAccounts(all)
	}
	text, err := deploy.Manifests(f)
	key, password := env["API_KEY_FILE"], env["REPORT_PASSWORD_FILE"]
	if key == "" || password == "" {
		return text, err
	}
	in := ""
	if f.Namespace != "" {
		in = " --namespace " + f.Namespace
	}
	return append(fmt.Appendf(nil, "# The secret is made from two files:\n# kubectl create secret generic %s "+
		"--from-file=api-key='%s' --from-file=report-password='%s'%s\n", cmp.Or(f.Secret, "spendsync"), key, password,
		in), text...), err
}
