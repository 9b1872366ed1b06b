package config

import (
	"encoding/base64"
	"log/slog"
	"net/http"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
)

// The names of the two interfaces in errors.
const (
	Report = "report"
	API    = "advertiser API"
)

// ClientOptions are what a client needs in addition to the variables.
type ClientOptions struct {
	UserAgent string
	Log       *slog.Logger
	Transport http.RoundTripper // nil: the network
}

// ReportClient is the client of the spend report. After a 401 the password is
// read again once, in case it was rotated.
func (c *Config) ReportClient(o ClientOptions) (*extract.Client, error) {
	k, err := c.credentials()
	if err != nil {
		return nil, err
	}
	auth := newAuthorization(basic(k))
	client, err := extract.NewClient(extract.Options{
		Name: Report, BaseURL: c.ReportURL, Authorize: auth.set, Timeout: c.HTTPTimeout,
		TimeoutName: Prefix + "HTTP_TIMEOUT", RetryBudget: c.RetryBudget,
		AllowHTTP: c.AllowHTTP, UserAgent: o.UserAgent, Service: c.assumed, Log: o.Log, Transport: o.Transport,
		Reload: func() bool {
			k, err := c.credentials()
			return err == nil && auth.replace(basic(k))
		},
	})
	if err != nil {
		return nil, exit.Usagef("%sREPORT_URL: %v", Prefix, err)
	}
	return client, nil
}

// AdvertiserClient is the client of the advertiser API. All its requests share
// one limit, for the service counts by key.
func (c *Config) AdvertiserClient(o ClientOptions) (*extract.Client, error) {
	k, err := c.credentials()
	if err != nil {
		return nil, err
	}
	auth := newAuthorization("Bearer " + string(k.APIKey))
	client, err := extract.NewClient(extract.Options{
		Name: API, BaseURL: c.AdvertiserURL, Authorize: auth.set, Timeout: c.HTTPTimeout,
		TimeoutName: Prefix + "HTTP_TIMEOUT", RetryBudget: c.RetryBudget,
		PerMinute: c.RequestsPerMinute, AllowHTTP: c.AllowHTTP, UserAgent: o.UserAgent, Log: o.Log,
		Service: c.assumed, Transport: o.Transport,
		Reload: func() bool {
			k, err := c.credentials()
			return err == nil && auth.replace("Bearer "+string(k.APIKey))
		},
	})
	if err != nil {
		return nil, exit.Usagef("%sADVERTISER_URL: %v", Prefix, err)
	}
	return client, nil
}

func basic(k Credentials) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(k.User+":"+string(k.ReportPassword)))
}
