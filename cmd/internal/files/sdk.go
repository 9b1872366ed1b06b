package files

import (
	"os"
	"strings"

	"spendsync/cmd/internal/exit"
)

const caBundle = "AWS_CA_BUNDLE"

// sdkFiles are the variables by which the AWS SDK finds files.
var sdkFiles = []string{caBundle, "AWS_CONFIG_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	"AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE"}

// OfTheAWSSDK lists the set variables by which the AWS SDK finds files. It opens them without a limit, so
// they are checked before it does. The null device stands for no configuration or no credentials; a token or
// a certificate it cannot be.
func OfTheAWSSDK(value func(name string) string) (all []Named) {
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
func CABundle(value func(name string) string) ([]byte, error) {
	path := value(caBundle)
	if path == "" {
		return nil, nil
	}
	b, err := Read(path, MaxSecret)
	if err != nil {
		return nil, exit.Usagef("%s: %v", caBundle, err)
	}
	return b, nil
}
