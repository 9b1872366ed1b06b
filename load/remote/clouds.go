package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"spendsync/load/clouds"
)

// The variables of Azure that 'az' and Microsoft's libraries know, too.
const (
	azureConnection = "AZURE_STORAGE_CONNECTION_STRING"
	azureAccount    = "AZURE_STORAGE_ACCOUNT"
	azureKey        = "AZURE_STORAGE_KEY"
	azureSAS        = "AZURE_STORAGE_SAS_TOKEN"
	azureSecret     = "AZURE_CLIENT_SECRET"
)

// openCloud opens a bucket of Google, or a container of Azure.
func (b *Bucket) openCloud(ctx context.Context, u *url.URL, o Options) error {
	b.buffer = clouds.WriteBuffer
	of := clouds.Options{GoogleKey: o.GoogleKey, AzureConnection: os.Getenv(azureConnection),
		AzureAccount: os.Getenv(azureAccount), AzureKey: os.Getenv(azureKey), AzureSAS: os.Getenv(azureSAS),
		AzureTenant: os.Getenv("AZURE_TENANT_ID"), AzureClient: os.Getenv("AZURE_CLIENT_ID"),
		AzureSecret: os.Getenv(azureSecret), AzureTokenFile: os.Getenv("AZURE_FEDERATED_TOKEN_FILE"),
		AllowHTTP: o.AllowHTTP, Patience: o.Patience, Sending: func() { b.traffic.requests.Add(1) }}
	for name, values := range u.Query() {
		if name != "endpoint" || u.Scheme != "gs" {
			return fmt.Errorf("%w: it has an unknown option %q; there is endpoint, of gs://", ErrAddress, name)
		}
		of.GoogleEndpoint = values[0]
	}
	b.endpoint = "the option endpoint of the address"
	if u.Scheme == "azblob" {
		if _, b.endpoint = firstSet(azureConnection, azureAccount); b.endpoint == "" {
			b.endpoint = azureConnection
		}
	}
	var err error
	if of.TLS, err = clouds.Roots(o.CABundle); err != nil {
		return fmt.Errorf("%w: %w", ErrAddress, err)
	}
	c, err := clouds.New(of)
	if err == nil && u.Scheme == "gs" {
		b.blob, err = c.Google(ctx, u.Host, nil)
	} else if err == nil {
		b.blob, err = c.Azure(ctx, u.Host)
	}
	switch {
	case errors.Is(err, clouds.ErrDenied):
		return err
	case err != nil:
		return fmt.Errorf("%w: %s", ErrAddress, strings.TrimPrefix(err.Error(), clouds.ErrAddress.Error()+": "))
	}
	return nil
}
