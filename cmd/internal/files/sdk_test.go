package files

import (
	"os"
	"slices"
	"testing"
)

// TestOfTheSDKs_TakesTheNullDeviceAsNone: people set it so that no configuration of theirs is used.
func TestOfTheSDKs_TakesTheNullDeviceAsNone(t *testing.T) {
	var named []string
	for _, f := range OfTheSDKs(func(string) string { return os.DevNull }) {
		named = append(named, f.Name)
	}
	if !slices.Equal(named, []string{caBundle, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		googleKey, "AZURE_FEDERATED_TOKEN_FILE"}) {
		t.Errorf("checked with %s: %v", os.DevNull, named)
	}
	if all := OfTheSDKs(func(string) string { return "file" }); len(all) != len(sdkFiles) {
		t.Errorf("checked with files: %v", all)
	}
}
