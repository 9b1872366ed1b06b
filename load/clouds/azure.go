package clouds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
)

// azureDomains are those of Microsoft's storage accounts: our token goes to no other.
var azureDomains = []string{"core.windows.net", "core.usgovcloudapi.net", "core.chinacloudapi.cn"}

// azureAccount is a storage account: its address, and the key or SAS for it.
type azureAccount struct {
	name     string
	endpoint string
	key, sas string
}

// blobService is the address of an account's blobs.
func blobService(account, domain string) string { return "https://" + account + ".blob." + domain }

// AzureAt opens a container at the host of an account, such as account.dfs.core.windows.net. A SAS for it takes
// precedence over the credentials of the options; empty: there is none. The account must be theirs if they name one.
func (c *Clouds) AzureAt(ctx context.Context, host, name, sas string) (*blob.Bucket, error) {
	account, rest, _ := strings.Cut(strings.ToLower(host), ".")
	service, domain, _ := strings.Cut(rest, ".")
	if name == "" || service != "dfs" && service != "blob" || !slices.Contains(azureDomains, domain) {
		return nil, fmt.Errorf("%w: %s@%s is not a container of an account of Azure, as in "+
			"abfss://container@account.dfs.core.windows.net", ErrAddress, name, host)
	}
	use := azureAccount{name: account, endpoint: blobService(account, domain)}
	if c.account != nil {
		if use = *c.account; use.name != account {
			return nil, fmt.Errorf("%w: it lies in the account %s, and AZURE_STORAGE_CONNECTION_STRING is of %s",
				ErrAddress, account, use.name)
		}
	}
	if sas != "" {
		use.key, use.sas = "", sas
	}
	return c.container(ctx, use, name)
}

func (c *Clouds) container(ctx context.Context, use azureAccount, name string) (*blob.Bucket, error) {
	endpoint, err := url.Parse(use.endpoint)
	if err != nil {
		return nil, err // New has checked it
	}
	address := endpoint.JoinPath(name).String()
	options := &container.ClientOptions{}
	options.Transport = azureReplies{c.transport(0, endpoint)}
	var client *container.Client
	switch {
	case use.sas != "":
		client, err = container.NewClientWithNoCredential(address+"?"+strings.TrimPrefix(use.sas, "?"), options)
	case use.key != "":
		key, keyErr := container.NewSharedKeyCredential(use.name, use.key)
		if keyErr != nil {
			return nil, fmt.Errorf("%w: the key of the storage account is not base64", ErrDenied)
		}
		client, err = container.NewClientWithSharedKeyCredential(address, key, options)
	default:
		identity, idErr := c.azure()
		if idErr != nil {
			return nil, fmt.Errorf("%w: Azure identity: %w", ErrDenied, idErr)
		}
		client, err = container.NewClient(address, identity, options)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: a client of Azure for the container %s: %w", ErrDenied, name, err)
	}
	return azureblob.OpenBucket(ctx, client, nil)
}

// parseConnection reads a connection string of Azure. Without a key and a SAS it names an address alone.
func parseConnection(text string, allowHTTP bool) (*azureAccount, error) {
	values := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(text), ";"), ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%w: AZURE_STORAGE_CONNECTION_STRING is not of the form Name=value;Name=value",
				ErrAddress)
		}
		values[name] = value
	}
	a := &azureAccount{name: values["AccountName"], endpoint: strings.TrimSuffix(values["BlobEndpoint"], "/"),
		key: values["AccountKey"], sas: values["SharedAccessSignature"]}
	if a.endpoint == "" && a.name != "" {
		suffix := values["EndpointSuffix"]
		if suffix == "" {
			suffix = azureDomains[0]
		}
		a.endpoint = blobService(a.name, suffix)
	}
	if a.endpoint == "" {
		return nil, fmt.Errorf("%w: AZURE_STORAGE_CONNECTION_STRING has neither AccountName nor BlobEndpoint",
			ErrAddress)
	}
	if err := CheckURL(a.endpoint, allowHTTP); err != nil {
		return nil, fmt.Errorf("BlobEndpoint in AZURE_STORAGE_CONNECTION_STRING: %w", err)
	}
	if a.name == "" {
		u, _ := url.Parse(a.endpoint) // checked above
		a.name, _, _ = strings.Cut(u.Hostname(), ".")
	}
	return a, nil
}

// azureIdentity is who asks for tokens of Azure: a pod's workload identity, an application with its secret, or the
// machine's managed identity. Other forms start programs.
func (c *Clouds) azureIdentity() (azcore.TokenCredential, error) {
	o := c.options
	options := azcore.ClientOptions{Transport: c.transport(maxTokenReply)}
	var identity azcore.TokenCredential
	var err error
	switch {
	case o.AzureTokenFile != "":
		identity, err = azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: options, DisableInstanceDiscovery: true, TenantID: o.AzureTenant, ClientID: o.AzureClient,
			TokenFilePath: o.AzureTokenFile})
	case o.AzureSecret != "":
		identity, err = azidentity.NewClientSecretCredential(o.AzureTenant, o.AzureClient, o.AzureSecret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
	default:
		managed := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
		if o.AzureClient != "" {
			managed.ID = azidentity.ClientID(o.AzureClient)
		}
		identity, err = azidentity.NewManagedIdentityCredential(managed)
	}
	return shortIdentity{identity}, err
}

// shortIdentity leaves out the body of a refusal, which may repeat what was sent.
type shortIdentity struct{ azcore.TokenCredential }

// GetToken is a token, or says by status and code why there is none.
func (s shortIdentity) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := s.TokenCredential.GetToken(ctx, o)
	refused, ok := errors.AsType[*azidentity.AuthenticationFailedError](err)
	if !ok || refused.RawResponse == nil {
		return token, lasting(err)
	}
	var why struct {
		Error string `json:"error"`
		Codes []int  `json:"error_codes"`
	}
	if body, err := runtime.Payload(refused.RawResponse); err == nil {
		_ = json.Unmarshal(body, &why)
	}
	says := fmt.Sprintf("no token of Azure: %d %s %v", refused.RawResponse.StatusCode, why.Error, why.Codes)
	if isTokenRefusal(refused.RawResponse.StatusCode) {
		return token, Refusal{ErrDenied, says, refused.RawResponse.StatusCode}
	}
	return token, errors.New(says)
}

// Secrets are the secrets in a connection string and in a SAS of Azure.
func Secrets(connection, sas string) (secrets []string) {
	for part := range strings.SplitSeq(connection, ";") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "AccountKey":
			secrets = append(secrets, value)
		case "SharedAccessSignature":
			secrets = append(secrets, Secrets("", value)...)
		}
	}
	if sas != "" {
		secrets = append(secrets, sas)
	}
	if values, err := url.ParseQuery(strings.TrimPrefix(sas, "?")); err == nil {
		secrets = append(secrets, values.Get("sig"))
	}
	return secrets
}
