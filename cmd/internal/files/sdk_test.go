package files

import (
	"os"
	"testing"
)

// TestOfTheAWSSDK_TakesTheNullDeviceAsNone: people set it so that no configuration of theirs is used.
func TestOfTheAWSSDK_TakesTheNullDeviceAsNone(t *testing.T) {
	var named []string
	for _, f := range OfTheAWSSDK(func(string) string { return os.DevNull }) {
		named = append(named, f.Name)
	}
	if len(named) != 3 || named[0] != caBundle || named[1] != "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE" ||
		named[2] != "AWS_WEB_IDENTITY_TOKEN_FILE" {
		t.Errorf("checked with %s: %v", os.DevNull, named)
	}
	if all := OfTheAWSSDK(func(string) string { return "file" }); len(all) != len(sdkFiles) {
		t.Errorf("checked with files: %v", all)
	}
}
