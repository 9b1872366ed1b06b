package main

import (
	"errors"
	"io"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes what the binary is made of, as CycloneDX in JSON: from what the
// linker left in the binary itself, so that it cannot be of another build.
func writeSBOM(w io.Writer) error {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this binary was built without module information")
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: "spendsync", Type: cdx.ComponentTypeApplication, Name: "spendsync", Version: version(),
	}}
	toolchain := strings.TrimPrefix(build.GoVersion, "go")
	components := []cdx.Component{{
		BOMRef: "go", Type: cdx.ComponentTypeLibrary, Name: "std", Version: toolchain, PackageURL: "pkg:golang/std@" + toolchain,
	}}
	refs := []string{"go"}
	for _, m := range build.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		url := "pkg:golang/" + m.Path + "@" + m.Version
		components = append(components, cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url,
			// The sum of go.sum; it is of the module's files, so it is no hash of one file.
			Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}},
		})
		refs = append(refs, url)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: "spendsync", Dependencies: &refs}}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom)
}
