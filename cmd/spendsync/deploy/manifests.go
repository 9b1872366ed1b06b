package deploy

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/robfig/cron/v3"
	"go.yaml.in/yaml/v3"

	"spendsync/schema"
)

// files are the manifests of which [Manifests] prints the base.
//
//go:embed base common job overlays/accounts/kustomization.yaml
var files embed.FS

// base are the files of the base, in the order in which they are applied.
var base = []string{
	"common/serviceaccount.yaml", configMapFile, "common/pvc.yaml", "common/networkpolicy.yaml", cronJobFile,
}

// configMapFile and cronJobFile are the files that each account has its own copy of.
const configMapFile, cronJobFile = "base/configmap.yaml", "job/cronjob.yaml"

// Settings are the values to fill into the base. An empty value leaves the base unchanged.
type Settings struct {
	Image, Account, Schedule, Namespace, Storage, StorageClass, Secret string
	AdvertiserURL, ReportURL, ReportUser                               string

	Proxy      string // http://host:port, of HTTPS_PROXY
	CA         string // certificates of authorities as PEM, of SPENDSYNC_CA_FILE
	DNS        string // NAMESPACE or NAMESPACE:PORT of the cluster's DNS
	PullSecret string // with which the image is pulled
	AccessMode string // of the volume

	suffix string   // of the names of an account's own objects
	others []string // addresses of the other accounts' services
}

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	storageSize  = regexp.MustCompile(`^[1-9][0-9]*(\.[0-9]+)?([KMGTPE]i|[kMGTPE])?$`)
	proxyURL     = regexp.MustCompile(`^https?://[a-zA-Z0-9.-]+:[0-9]{1,5}$`)
	dnsAddress   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(:[0-9]{1,5})?$`)
	accessMode   = regexp.MustCompile(`^(ReadWriteOncePod|ReadWriteOnce)$`)
	imageName    = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$`)
)

// Check refuses values that the cluster would refuse or misread.
func (f Settings) Check() error {
	for _, v := range []struct {
		flag, value string
		form        *regexp.Regexp
	}{
		{"image", f.Image, imageName}, {"account", f.Account, schema.AccountName},
		{"namespace", f.Namespace, dnsLabel},
		{"storage", f.Storage, storageSize}, {"storage-class", f.StorageClass, dnsSubdomain},
		{"secret", f.Secret, dnsSubdomain}, {"proxy", f.Proxy, proxyURL}, {"dns", f.DNS, dnsAddress},
		{"image-pull-secret", f.PullSecret, dnsSubdomain}, {"access-mode", f.AccessMode, accessMode},
	} {
		if v.value != "" && !v.form.MatchString(v.value) {
			if v.flag == "proxy" { // it may hold a password
				return errors.New("--proxy is not of the form http://host:port; if it needs a user and a password, " +
					"put HTTPS_PROXY into the Secret")
			}
			return fmt.Errorf("--%s=%q does not match %s", v.flag, v.value, v.form)
		}
	}
	if f.Schedule == "" {
		return nil
	}
	if _, err := cron.ParseStandard(f.Schedule); err != nil || strings.Contains(f.Schedule, "TZ") {
		return fmt.Errorf("--schedule=%q is no schedule such as \"10 * * * *\"; the zone is Chicago's", f.Schedule)
	}
	return nil
}

// Manifests are the base with the settings filled in.
func Manifests(f Settings) ([]byte, error) {
	var out bytes.Buffer
	for _, name := range base {
		if err := f.write(&out, name, nil); err != nil {
			return nil, err
		}
	}
	err := f.writeCA(&out)
	return out.Bytes(), err
}

// write appends a manifest with the settings filled in, after the patches.
func (f Settings) write(out *bytes.Buffer, name string, patches []patch) error {
	var doc yaml.Node
	if err := readYAML(name, &doc); err != nil {
		return err
	}
	if err := apply(doc.Content[0], patches); err != nil {
		return fmt.Errorf("deploy/%s: %w", name, err)
	}
	own, err := f.network(nodeAt(doc.Content[0], "kind").Value)
	if err == nil {
		err = apply(doc.Content[0], own)
	}
	if err == nil {
		err = f.fill(doc.Content[0])
	}
	if err != nil {
		return fmt.Errorf("deploy/%s: %w", name, err)
	}
	return encode(out, &doc)
}

func encode(out *bytes.Buffer, doc any) error {
	if out.Len() > 0 {
		out.WriteString("---\n")
	}
	e := yaml.NewEncoder(out)
	e.SetIndent(2)
	return e.Encode(doc)
}

// writeCA appends the ConfigMap of the company's own authorities.
func (f Settings) writeCA(out *bytes.Buffer) error {
	if f.CA == "" {
		return nil
	}
	meta := map[string]any{"name": caName}
	if f.Namespace != "" {
		meta["namespace"] = f.Namespace
	}
	return encode(out, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta,
		"data": map[string]string{"ca.pem": f.CA}})
}

// caName is the ConfigMap of the company's own authorities, and caFolder where it is mounted.
const caName, caFolder = "spendsync-ca", "/etc/spendsync"

// network are the patches of one kind of manifest for the network, the registry and the volumes of a cluster.
func (f Settings) network(kind string) (patches []patch, err error) {
	var text strings.Builder
	add := func(path, value string, args ...any) {
		fmt.Fprintf(&text, "- {op: add, path: %s, value: %s}\n", path, fmt.Sprintf(value, args...))
	}
	const pod = "/spec/jobTemplate/spec/template/spec"
	switch {
	case kind == "PersistentVolumeClaim" && f.AccessMode != "":
		add("/spec/accessModes", "[%s]", f.AccessMode)
	case kind == "CronJob":
		if f.PullSecret != "" {
			add(pod+"/imagePullSecrets", "[{name: %s}]", f.PullSecret)
		}
		if f.CA != "" {
			add(pod+"/volumes/-", "{name: ca, configMap: {name: %s}}", caName)
			add(pod+"/containers/0/volumeMounts/-", "{name: ca, mountPath: %s, readOnly: true}", caFolder)
		}
	case kind == "NetworkPolicy":
		var ports []string
		for _, port := range f.ports() {
			ports = append(ports, "{protocol: TCP, port: "+port+"}")
		}
		add("/spec/egress/1/ports", "[%s]", strings.Join(ports, ", "))
		if namespace, port, ok := strings.Cut(f.DNS, ":"); f.DNS != "" {
			add("/spec/egress/0/to/0", "{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}}",
				namespace)
			if ok {
				add("/spec/egress/0/ports", "[{protocol: UDP, port: %s}, {protocol: TCP, port: %[1]s}]", port)
			}
		}
	}
	return patches, yaml.Unmarshal([]byte(text.String()), &patches)
}

// ports are those that a run connects to: the proxy's alone, or those of the services and 443.
func (f Settings) ports() []string {
	if f.Proxy != "" {
		u, _ := url.Parse(f.Proxy) // checked
		return []string{u.Port()}
	}
	ports := []string{"443"}
	for _, address := range append(f.others, f.AdvertiserURL, f.ReportURL) {
		if u, err := url.Parse(address); err == nil && u.Port() != "" && !slices.Contains(ports, u.Port()) {
			ports = append(ports, u.Port())
		}
	}
	return ports
}

// readYAML reads an embedded file.
func readYAML(name string, v any) error {
	text, err := files.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("deploy/%s: %w", name, err)
	}
	return nil
}

// fill applies the settings to one manifest.
func (f Settings) fill(doc *yaml.Node) error {
	type set struct {
		value string
		path  []string
	}
	sets := []set{{f.Namespace, []string{"metadata", "namespace"}}}
	own := ""
	if f.suffix != "" {
		own = "spendsync" + f.suffix
	}
	switch kind := nodeAt(doc, "kind"); kind.Value {
	case "ConfigMap":
		sets = append(sets, set{own, []string{"metadata", "name"}},
			set{f.Account, []string{"data", "SPENDSYNC_ACCOUNT"}},
			set{f.AdvertiserURL, []string{"data", "SPENDSYNC_ADVERTISER_URL"}},
			set{f.ReportURL, []string{"data", "SPENDSYNC_REPORT_URL"}},
			set{f.ReportUser, []string{"data", "SPENDSYNC_REPORT_USER"}}, set{f.Proxy, []string{"data", "HTTPS_PROXY"}})
		if f.CA != "" {
			sets = append(sets, set{caFolder + "/ca.pem", []string{"data", "SPENDSYNC_CA_FILE"}})
		}
	case "PersistentVolumeClaim":
		sets = append(sets, set{f.Storage, []string{"spec", "resources", "requests", "storage"}},
			set{f.StorageClass, []string{"spec", "storageClassName"}})
	case "CronJob":
		pod := []string{"spec", "jobTemplate", "spec", "template", "spec"}
		sets = append(sets, set{own, []string{"metadata", "name"}}, set{f.Schedule, []string{"spec", "schedule"}},
			set{own, append(pod[:5:5], "containers", "0", "envFrom", "0", "configMapRef", "name")},
			set{f.Image, append(pod[:5:5], "containers", "0", "image")},
			set{f.Secret, append(pod[:5:5], "volumes", "1", "secret", "secretName")})
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
