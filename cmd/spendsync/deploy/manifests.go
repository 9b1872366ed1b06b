package deploy

import (
	"bytes"
	"embed"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// files are the manifests that [Manifests] prints.
//
//go:embed base common job
var files embed.FS

// base lists the files of the kustomize base, in the order in which they are applied.
var base = []string{"common/serviceaccount.yaml", "base/configmap.yaml", "common/pvc.yaml",
	"common/networkpolicy.yaml", "job/cronjob.yaml"}

// Settings are the values to fill into the base. An empty value leaves the base unchanged. Anything else that a cluster
// needs is a patch in a kustomize overlay.
type Settings struct {
	Image, Account, Schedule, Namespace, Storage string
	AdvertiserURL, ReportURL, ReportUser         string
}

// Missing returns the required flags that have no value. In their places, the manifests keep the examples of the base.
func (f Settings) Missing() (flags []string) {
	for _, v := range [][2]string{{"--image", f.Image}, {"--advertiser-url", f.AdvertiserURL},
		{"--report-url", f.ReportURL}, {"--report-user", f.ReportUser}} {
		if v[1] == "" {
			flags = append(flags, v[0])
		}
	}
	return flags
}

// places returns the settings for a manifest of the given kind. The key of a setting is its path in the manifest.
func (f Settings) places(kind string) map[string]string {
	all := map[string]string{"metadata.namespace": f.Namespace}
	switch kind {
	case "ConfigMap":
		all["data.SPENDSYNC_ACCOUNT"], all["data.SPENDSYNC_ADVERTISER_URL"] = f.Account, f.AdvertiserURL
		all["data.SPENDSYNC_REPORT_URL"], all["data.SPENDSYNC_REPORT_USER"] = f.ReportURL, f.ReportUser
	case "PersistentVolumeClaim":
		all["spec.resources.requests.storage"] = f.Storage
	case "CronJob":
		all["spec.schedule"], all["spec.jobTemplate.spec.template.spec.containers.0.image"] = f.Schedule, f.Image
	}
	return all
}

// Manifests returns the base with the settings filled in.
func Manifests(f Settings) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	for _, name := range base {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf("deploy/%s: %w", name, err)
		}
		root := doc.Content[0]
		kind := at(root, "kind").Value
		for path, value := range f.places(kind) {
			if value != "" {
				put(root, path, value)
			}
		}
		if kind == "NetworkPolicy" {
			f.letOut(at(root, "spec.egress.1.ports"))
		}
		if err := e.Encode(&doc); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), e.Close()
}

// letOut allows the ports of the URLs of both interfaces in a network policy, which already allows port 443.
func (f Settings) letOut(ports *yaml.Node) {
	seen := []string{"443"}
	for _, address := range []string{f.AdvertiserURL, f.ReportURL} {
		u, err := url.Parse(address)
		if err != nil || u.Port() == "" || slices.Contains(seen, u.Port()) {
			continue
		}
		seen = append(seen, u.Port())
		var rule yaml.Node
		if yaml.Unmarshal([]byte("{protocol: TCP, port: "+u.Port()+"}"), &rule) == nil {
			ports.Content = append(ports.Content, rule.Content[0])
		}
	}
}

// at returns the node at a path of keys and list indexes, or nil if there is no such node.
func at(n *yaml.Node, path string) *yaml.Node {
	for key := range strings.SplitSeq(path, ".") {
		var next *yaml.Node
		for i := 0; i < len(n.Content); i++ {
			if n.Kind == yaml.MappingNode && i%2 == 0 && n.Content[i].Value == key {
				next = n.Content[i+1]
			}
			if n.Kind == yaml.SequenceNode && fmt.Sprint(i) == key {
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

// put sets the value at a path to a text. If the text could be read as another type, the YAML library quotes it.
func put(n *yaml.Node, path, value string) {
	text := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	if old := at(n, path); old != nil {
		text.LineComment, text.Style = old.LineComment, old.Style
		*old = text
		return
	}
	last := strings.LastIndex(path, ".")
	above := at(n, path[:last])
	above.Content = append(above.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: path[last+1:]}, &text)
}
