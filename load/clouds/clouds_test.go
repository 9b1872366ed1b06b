package clouds

import (
	"errors"
	"strings"
	"testing"
)

func TestParseConnection(t *testing.T) {
	for text, want := range map[string]azureAccount{
		"DefaultEndpointsProtocol=https;AccountName=lake;AccountKey=a==;EndpointSuffix=core.b.test": {"lake",
			"https://lake.blob.core.b.test", "a==", ""},
		"AccountName=lake;AccountKey=a==;": {"lake", "https://lake.blob.core.windows.net", "a==",
			""},
		"BlobEndpoint=http://127.0.0.1:1/dev;AccountName=dev": {"dev", "http://127.0.0.1:1/dev", "", ""},
		"BlobEndpoint=https://lake.b.test/;SharedAccessSignature=s=1&": {"lake", "https://lake.b.test", "",
			"s=1&"},
	} {
		if got, err := parseConnection(text, false); err != nil || *got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"canary", "AccountName=a;canary", "AccountKey=canary",
		"BlobEndpoint=http://b.test;AccountKey=canary", "BlobEndpoint=https://u:canary@b.test"} {
		got, err := parseConnection(text, false)
		if !errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}
