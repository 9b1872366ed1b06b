package main

import (
	"context"
	"strings"
	"time"

	"github.com/sethvargo/go-envconfig"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync-lake/lake"
)

// settings contains the environment variables with the prefix SPENDSYNC_. The AWS SDK reads further variables, for
// example AWS_REGION and AWS_WEB_IDENTITY_TOKEN_FILE.
type settings struct {
	DataDir        string        `env:"DATA_DIR, default=data"`
	Catalog        string        `env:"LAKE_CATALOG"`
	Warehouse      string        `env:"LAKE_WAREHOUSE"`
	Namespace      string        `env:"LAKE_NAMESPACE, default=spendsync"`
	Credential     config.Secret `env:"LAKE_CREDENTIAL"`
	CredentialFile string        `env:"LAKE_CREDENTIAL_FILE"`
	Token          config.Secret `env:"LAKE_TOKEN"`
	TokenFile      string        `env:"LAKE_TOKEN_FILE"`
	OAuthURL       string        `env:"LAKE_OAUTH_URL"`
	Scope          string        `env:"LAKE_SCOPE"`
	SigV4          string        `env:"LAKE_SIGV4"`
	S3Endpoint     string        `env:"LAKE_S3_ENDPOINT"`
	SnapshotAge    time.Duration `env:"LAKE_SNAPSHOT_AGE, default=168h"`
	MetricsFile    string        `env:"LAKE_METRICS_FILE"`
	AllowHTTP      bool          `env:"ALLOW_HTTP, default=false"`

	environ map[string]string
}

func readSettings(ctx context.Context, environ []string) (*settings, error) {
	s := &settings{environ: map[string]string{}}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && v != "" {
			s.environ[k] = v
		}
	}
	env := config.FromEnviron(environ)
	if err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: s,
		Lookuper: envconfig.MapLookuper(env)}); err != nil {
		return nil, exit.Usagef("%s: %v", config.Prefix+"LAKE_*", err)
	}
	if s.MetricsFile != "" {
		if err := cli.CheckMetrics("SPENDSYNC_LAKE_METRICS_FILE", s.MetricsFile, s.DataDir); err != nil {
			return nil, err
		}
	}
	var err error
	if s.Credential, err = secret("LAKE_CREDENTIAL", s.Credential, s.CredentialFile); err != nil {
		return nil, err
	}
	if s.Token, err = secret("LAKE_TOKEN", s.Token, s.TokenFile); err != nil {
		return nil, err
	}
	if s.Credential != "" && s.Token != "" {
		return nil, exit.Usagef("both SPENDSYNC_LAKE_CREDENTIAL and SPENDSYNC_LAKE_TOKEN are set; which one counts?")
	}
	switch s.SigV4 {
	case "", "glue", "s3tables":
	default:
		return nil, exit.Usagef("SPENDSYNC_LAKE_SIGV4=%q is neither glue nor s3tables", s.SigV4)
	}
	return s, nil
}

// secret returns a secret that is given in an environment variable or in a file. It returns an empty text if neither is
// set.
func secret(name string, value config.Secret, file string) (config.Secret, error) {
	if value == "" && file == "" {
		return "", nil
	}
	return config.ReadSecret(name, value, file)
}

// lake converts the environment variables to the options for [lake.Open]. It fails if SPENDSYNC_LAKE_CATALOG is not
// set.
func (s *settings) lake() (lake.Options, error) {
	if s.Catalog == "" {
		return lake.Options{}, exit.Usagef("SPENDSYNC_LAKE_CATALOG is not set: the address of an Iceberg REST " +
			"catalog, such as https://catalog.example.com")
	}
	region := s.environ["AWS_REGION"]
	if region == "" {
		region = s.environ["AWS_DEFAULT_REGION"]
	}
	if err := config.Trust("AWS_CA_BUNDLE", s.environ["AWS_CA_BUNDLE"]); err != nil {
		return lake.Options{}, err
	}
	return lake.Options{Catalog: s.Catalog, Warehouse: s.Warehouse, Namespace: s.Namespace,
		Credential: string(s.Credential), Token: string(s.Token), OAuthURL: s.OAuthURL, Scope: s.Scope, SigV4: s.SigV4,
		Region: region, S3Endpoint: s.S3Endpoint, AllowHTTP: s.AllowHTTP, Version: version()}, nil
}

// redactor returns a replacer that removes the secrets of the variables from a text, except secrets of fewer than four
// bytes. Error texts need this, because they quote replies of the catalog, and a reply may repeat a secret.
func (s *settings) redactor() *strings.Replacer {
	var pairs []string
	add := func(secret string) {
		if len(secret) > 3 {
			pairs = append(pairs, secret, "[redacted]")
		}
	}
	add(string(s.Credential))
	if _, password, ok := strings.Cut(string(s.Credential), ":"); ok {
		add(password)
	}
	add(string(s.Token))
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		add(s.environ[name])
	}
	if file := s.environ["AWS_WEB_IDENTITY_TOKEN_FILE"]; file != "" {
		if b, err := cli.ReadFile(file, cli.MaxSecret); err == nil {
			add(strings.TrimSpace(string(b)))
		}
	}
	return strings.NewReplacer(pairs...)
}
