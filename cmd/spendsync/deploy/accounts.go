package deploy

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"spendsync/schema"
	"strings"

	"go.yaml.in/yaml/v3"
)

// accountColumns are the columns of a file of accounts. Only account is necessary; the settings stand for the
// others, and for empty cells.
var accountColumns = []string{"account", "advertiser_url", "report_url", "report_user", "secret"}

// ReadAccounts reads a CSV file of accounts: a heading, and a line for each. common has the values of the columns
// that the file lacks. The schedules are spread over the hour, and each account has a secret of its own,
// spendsync-ACCOUNT.
func ReadAccounts(name string, text []byte, common Settings) ([]Settings, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	heading, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty: its first line names the columns %s", name,
			strings.Join(accountColumns, ","))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, column := range heading {
		if !slices.Contains(accountColumns, column) || slices.Contains(heading[:i], column) {
			return nil, fmt.Errorf("%s line 1: column %q is unknown or there twice; there are %s", name, column,
				strings.Join(accountColumns, ","))
		}
	}
	if !slices.Contains(heading, "account") {
		return nil, fmt.Errorf("%s line 1: the column account is missing", name)
	}
	var all []Settings
	names := map[string]string{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := r.FieldPos(0)
		f := common
		for i, value := range row {
			if value = strings.TrimSpace(value); value != "" {
				*f.column(heading[i]) = value
			}
		}
		// An underscore is part of an account's name, but of no name in Kubernetes.
		f.suffix = "-" + strings.ReplaceAll(f.Account, "_", "-")
		object := "spendsync" + f.suffix
		if !schema.AccountName.MatchString(f.Account) || !dnsLabel.MatchString(object) {
			return nil, fmt.Errorf("%s line %d: account %q must match %s and end with a letter or a digit", name, line,
				f.Account, schema.AccountName)
		}
		if other, twice := names[object]; twice {
			return nil, fmt.Errorf("%s line %d: account %q has the same names in Kubernetes as %q", name, line,
				f.Account, other)
		}
		names[object] = f.Account
		if f.Secret == "" {
			f.Secret = object
		}
		if err := f.Check(); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", name, line, err)
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no account: only its heading", name)
	}
	for i := range all {
		all[i].Schedule = fmt.Sprintf("%d * * * *", (10+i*60/len(all))%60)
	}
	return all, nil
}

// column returns the setting of a column.
func (f *Settings) column(name string) *string {
	return map[string]*string{"account": &f.Account, "advertiser_url": &f.AdvertiserURL, "report_url": &f.ReportURL,
		"report_user": &f.ReportUser, "secret": &f.Secret}[name]
}

// OfAccounts are the manifests of several accounts in one store: the overlay accounts, with a ConfigMap and a CronJob
// for each. The first lines name the secrets, which are not among them.
func OfAccounts(all []Settings) ([]byte, error) {
	var overlay struct {
		Patches []struct {
			Target struct{ Kind string }
			Patch  string
		}
	}
	if err := readYAML("overlays/accounts/kustomization.yaml", &overlay); err != nil {
		return nil, err
	}
	patches := map[string][]patch{}
	for _, p := range overlay.Patches {
		var ops []patch
		if err := yaml.Unmarshal([]byte(p.Patch), &ops); err != nil {
			return nil, err
		}
		patches[p.Target.Kind] = append(patches[p.Target.Kind], ops...)
	}
	for _, f := range all {
		all[0].others = append(all[0].others, f.AdvertiserURL, f.ReportURL)
	}
	var secrets, out bytes.Buffer
	secrets.WriteString("# Each account needs a secret, made from two files of its own folder:\n")
	for _, f := range all {
		fmt.Fprintf(&secrets, "# kubectl create secret generic %s --from-file=%s/api-key "+
			"--from-file=%[2]s/report-password", f.Secret, f.Account)
		if f.Namespace != "" {
			fmt.Fprintf(&secrets, " --namespace %s", f.Namespace)
		}
		secrets.WriteByte('\n')
	}
	for _, name := range base {
		var err error
		switch {
		case name == "common/pvc.yaml":
			err = all[0].write(&out, name, patches["PersistentVolumeClaim"])
		case name == cronJobFile:
			for _, f := range all {
				err = errors.Join(err, f.write(&out, configMapFile, nil), f.write(&out, name, patches["CronJob"]))
			}
		case name != configMapFile:
			err = all[0].write(&out, name, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	err := all[0].writeCA(&out)
	return append(secrets.Bytes(), out.Bytes()...), err
}

// patch is an operation of a JSON patch: add or replace a key of a mapping.
type patch struct {
	Op, Path string
	Value    yaml.Node
}

// apply applies patches to a manifest.
func apply(doc *yaml.Node, patches []patch) error {
	for _, p := range patches {
		path := strings.Split(strings.TrimPrefix(p.Path, "/"), "/")
		above, key := nodeAt(doc, path[:len(path)-1]...), path[len(path)-1]
		old := nodeAt(above, key)
		switch {
		case above == nil || p.Op != "add" && p.Op != "replace" || p.Op == "replace" && old == nil:
			return fmt.Errorf("%s %s cannot be applied", p.Op, p.Path)
		case old != nil:
			*old = p.Value
		case above.Kind == yaml.SequenceNode: // the key is -
			above.Content = append(above.Content, &p.Value)
		default:
			above.Content = append(above.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &p.Value)
		}
	}
	return nil
}

// Examples returns the flags whose values are still those of the base: nothing answers there.
func (f Settings) Examples() (flags []string, err error) {
	var config struct{ Data map[string]string }
	if err := readYAML(configMapFile, &config); err != nil {
		return nil, err
	}
	for _, v := range []struct{ flag, value, variable string }{
		{"--advertiser-url", f.AdvertiserURL, "SPENDSYNC_ADVERTISER_URL"},
		{"--report-url", f.ReportURL, "SPENDSYNC_REPORT_URL"}, {"--report-user", f.ReportUser, "SPENDSYNC_REPORT_USER"},
	} {
		if v.value == "" || v.value == config.Data[v.variable] {
			flags = append(flags, v.flag)
		}
	}
	if strings.HasSuffix(f.Image, ":devel") {
		flags = append(flags, "--image")
	}
	return flags, nil
}
