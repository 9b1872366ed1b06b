// Package clouds opens buckets of Google and containers of Azure.
//
// What it promises: requests are sent by clients of extract/outbound, credentials go to the configured storage and to
// whoever issues tokens for it alone, and no redirect is followed. A refused credential and a redirect are errors of
// their own, which no library tries again or takes for a missing object.
//
// What it never does: it reads no variables but those that name the machine's token server, starts no program, and
// puts no secret into an error.
package clouds

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"golang.org/x/oauth2"

	"spendsync/extract/outbound"
)

var (
	// ErrDenied reports that the storage, or what issues tokens for it, refused the credentials.
	ErrDenied = errors.New("the storage refuses the credentials")
	// ErrNoIdentity reports that no credentials are set, and that the machine's token server gives none.
	ErrNoIdentity = errors.New("the machine has no identity")
	// ErrElsewhere reports that a reply leads to a host that must not get the credentials.
	ErrElsewhere = errors.New("the storage leads elsewhere")
	// ErrAddress reports an address that requests must not be sent to.
	ErrAddress = errors.New("not an address that requests may be sent to")
)

// Options hold credentials, and how to reach the storage.
type Options struct {
	GoogleEndpoint string // of Google's storage, where it is not the public one
	GoogleKey      []byte // a key file of Google, as JSON; nil: the machine's metadata server

	AzureConnection string // connection string of a storage account; without a key and a SAS: the identity below
	AzureTenant     string
	AzureClient     string
	AzureSecret     string // of an application
	AzureTokenFile  string // of a workload identity; without it and a secret: the machine's managed identity

	AllowHTTP bool // send without TLS to other machines
	TLS       *tls.Config
}

// Clouds opens buckets. Credentials are fetched when the first one needs them.
type Clouds struct {
	options Options
	account *azureAccount // of the options; nil: they name none
	google  func() (oauth2.TokenSource, error)
	azure   func() (azcore.TokenCredential, error)
}

// New checks the options.
func New(o Options) (c *Clouds, err error) {
	c = &Clouds{options: o}
	if err := CheckURL(o.GoogleEndpoint, o.AllowHTTP); err != nil {
		return nil, err
	}
	if o.AzureConnection != "" {
		if c.account, err = parseConnection(o.AzureConnection, o.AllowHTTP); err != nil {
			return nil, err
		}
	}
	c.google, c.azure = sync.OnceValues(c.googleTokens), sync.OnceValues(c.azureIdentity)
	return c, nil
}

// Roots are the certificates of a bundle, as PEM, in place of the system's; nil: the system's.
func Roots(bundle []byte) (*tls.Config, error) {
	if bundle == nil {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, errors.New("AWS_CA_BUNDLE holds no certificate")
	}
	return &tls.Config{RootCAs: roots}, nil
}

// CheckURL refuses addresses that would show secrets, in themselves or on the way.
func CheckURL(address string, allowHTTP bool) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("%w: it can't be parsed", ErrAddress)
	case u.User != nil:
		return fmt.Errorf("%w: it holds a user or a password", ErrAddress)
	case u.Host == "", u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%w: %s is not https://host", ErrAddress, u.Redacted())
	case u.Scheme == "http" && !allowHTTP && !outbound.IsLoopback(u.Hostname()):
		return fmt.Errorf("%w: %s sends without TLS, which needs SPENDSYNC_ALLOW_HTTP=true", ErrAddress, u.Host)
	}
	return nil
}
