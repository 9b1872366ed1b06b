package files

import (
	"os"
	"strings"

	"spendsync/cmd/internal/exit"
)

const (
	caBundle  = "AWS_CA_BUNDLE"
	googleKey = "GOOGLE_APPLICATION_CREDENTIALS"
)

// sdkFiles are the variables by which the libraries of Amazon, Google and Microsoft find files.
var sdkFiles = []string{caBundle, "AWS_CONFIG_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	"AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", googleKey, "AZURE_FEDERATED_TOKEN_FILE"}

// OfTheSDKs lists the set variables by which those libraries find files. They open them without a limit, so
// they are checked before. The null device stands for no configuration or no credentials of the AWS SDK; a token, a
// key or a certificate it cannot be.
func OfTheSDKs(value func(name string) string) (all []Named) {
	for _, name := range sdkFiles {
		path := value(name)
		none := path == os.DevNull && (name == "AWS_CONFIG_FILE" || strings.HasSuffix(name, "_CREDENTIALS_FILE"))
		if path != "" && !none {
			all = append(all, Named{Name: name, Path: path, Limit: MaxSecret})
		}
	}
	return all
}

// CABundle reads the certificates that AWS_CA_BUNDLE names; nil if it is not set.
func CABundle(value func(name string) string) ([]byte, error) { return named(caBundle, value) }

// GoogleKey reads the key file that GOOGLE_APPLICATION_CREDENTIALS names; nil if it is not set.
func GoogleKey(value func(name string) string) ([]byte, error) { return named(googleKey, value) }

func named(variable string, value func(name string) string) ([]byte, error) {
	path := value(variable)
	if path == "" {
		return nil, nil
	}
	b, err := Read(path, MaxSecret)
	if err != nil {
		return nil, exit.Usagef("%s: %v", variable, err)
	}
	return b, nil
}
