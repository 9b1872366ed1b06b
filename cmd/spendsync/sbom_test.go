package main

import (
	"bytes"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func TestVersion_ListsWhatTheBinaryIsMadeOf(t *testing.T) {
	print := func() []byte {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), []string{"version", "--sbom"}, nil, &out, &errOut); code != exitOK {
			t.Fatalf("exit %d: %s", code, errOut.String())
		}
		return out.Bytes()
	}
	text := print()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, c := range *bom.Components {
		if c.Version == "" || !strings.HasPrefix(c.PackageURL, "pkg:golang/") {
			t.Errorf("%+v", c)
		}
		found[c.Name] = true
	}
	for _, name := range []string{"std", "github.com/marcboeker/go-duckdb/v2", "github.com/apache/arrow/go/v17", "github.com/parquet-go/parquet-go"} {
		if !found[name] {
			t.Errorf("%s is not listed", name)
		}
	}
	if !bytes.Equal(print(), text) {
		t.Error("the same binary gives another list")
	}
}
