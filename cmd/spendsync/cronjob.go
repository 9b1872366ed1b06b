package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/deploy"
)

func newCronjobCommand(a *app) *cobra.Command {
	var f deploy.Settings
	cmd := &cobra.Command{
		Use: "cronjob", Short: "Print the Kubernetes manifests of an hourly sync",
		Long: `Prints a ServiceAccount, a ConfigMap, a PersistentVolumeClaim, a NetworkPolicy and a CronJob, with the
flags filled in: the kustomize base of cmd/spendsync/deploy. The Secret is not among them; it is made from two files:

  kubectl create secret generic spendsync --from-file=api-key --from-file=report-password

It is for one account a namespace: the names do not depend on the account, so that another one would replace it. Several
accounts in one warehouse are the overlay deploy/overlays/accounts.

Nothing is asked of the cluster, and no variable is read.`,
		Example: `  spendsync cronjob --image registry.example.com/spendsync:1.0.0 | kubectl apply -f -
  spendsync cronjob --account acme --namespace ads --schedule "*/30 * * * *" --storage 50Gi --storage-class fast \
    --advertiser-url https://ads.example.com/api --report-url https://reports.example.com \
    --report-user you@example.com > acme.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.Check(); err != nil {
				return exit.Usagef("%s", err)
			}
			f.Image = cmp.Or(f.Image, "spendsync:"+version())
			text, err := deploy.Manifests(f)
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
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
	return cmd
}
