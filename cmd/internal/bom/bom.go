package bom

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// licenseList names the licence of every module that a binary of ours may be made of, as an
// SPDX expression. A test holds it to the files of the modules.
//
//go:embed licenses.txt
var licenseList string

// Licenses are the expressions of the list by module.
func Licenses() map[string]string {
	byModule := map[string]string{"std": "BSD-3-Clause"}
	for line := range strings.Lines(licenseList) {
		module, expression, _ := strings.Cut(strings.TrimSpace(line), " ")
		byModule[module] = expression
	}
	return byModule
}

// licensed is an expression as a component of the bill carries it.
func licensed(expression string) *cdx.Licenses {
	if expression == "" {
		return nil
	}
	return &cdx.Licenses{{Expression: expression}}
}

// WriteLicenses writes what the binary is made of, a module a line.
func WriteLicenses(w io.Writer) error {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return errNoModules
	}
	of := Licenses()
	var b strings.Builder
	fmt.Fprintf(&b, "std %s %s\n", strings.TrimPrefix(build.GoVersion, "go"), of["std"])
	for _, m := range build.Deps {
		fmt.Fprintf(&b, "%s %s %s\n", m.Path, m.Version, cmp.Or(of[m.Path], "unknown"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Version is the version of this binary: the linker sets it for a release, the module or the
// commit tells it otherwise.
func Version(linked string) string {
	if linked != "" {
		return linked
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "devel-" + s.Value[:12]
			}
		}
	}
	return "devel"
}

var errNoModules = errors.New("this binary was built without module information")

// Write writes what the binary of that name and version is made of, as CycloneDX in JSON.
func Write(w io.Writer, name, version string) error {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return errNoModules
	}
	of := Licenses()
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: name, Type: cdx.ComponentTypeApplication, Name: name, Version: version,
	}}
	toolchain := strings.TrimPrefix(build.GoVersion, "go")
	components := []cdx.Component{{
		BOMRef: "go", Type: cdx.ComponentTypeLibrary, Name: "std", Version: toolchain, PackageURL: "pkg:golang/std@" +
			toolchain, Licenses: licensed(of["std"]),
	}}
	refs := []string{"go"}
	for _, m := range build.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		url := "pkg:golang/" + m.Path + "@" + m.Version
		components = append(components, cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url,
			Licenses: licensed(of[m.Path]),
			// The sum of go.sum; it is of the module's files, so it is not the hash of one file.
			Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}},
		})
		refs = append(refs, url)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: name, Dependencies: &refs}}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom)
}
