package main

import (
	"bytes"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"spendsync/cmd/internal/bom"
	"spendsync/cmd/internal/exit"
)

func TestVersion_ListsWhatTheBinaryIsMadeOf(t *testing.T) {
	print := func() []byte {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), []string{"version", "--sbom"}, nil, &out, &errOut); code != exit.OK {
			t.Fatalf("exit %d: %s", code, errOut.String())
		}
		return out.Bytes()
	}
	text := print()
	var list cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&list); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, c := range *list.Components {
		if c.Version == "" || !strings.HasPrefix(c.PackageURL, "pkg:golang/") {
			t.Errorf("%+v", c)
		}
		found[c.Name] = true
		if bom.Licenses()[c.Name] != "" &&
			(c.Licenses == nil || (*c.Licenses)[0].Expression != bom.Licenses()[c.Name]) {
			t.Errorf("%s: licences %+v", c.Name, c.Licenses)
		}
	}
	for _, name := range []string{"std", "github.com/duckdb/duckdb-go/v2", "github.com/apache/arrow/go/v17",
		"github.com/parquet-go/parquet-go"} {
		if !found[name] {
			t.Errorf("%s is not listed", name)
		}
	}
	if !bytes.Equal(print(), text) {
		t.Error("the same binary gives another list")
	}
}
