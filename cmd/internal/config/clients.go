package config

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"sync/atomic"

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

// ReportClient is the client of the spend report.
func (c *Config) ReportClient(o ClientOptions) (*extract.Client, error) {
	return c.client("REPORT_URL", extract.Options{Name: Report, BaseURL: c.ReportURL}, o, func(k Credentials) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(k.User+":"+string(k.ReportPassword)))
	})
}

// AdvertiserClient is the client of the advertiser API. All its requests share one limit, for the service counts by
// key.
func (c *Config) AdvertiserClient(o ClientOptions) (*extract.Client, error) {
	return c.client("ADVERTISER_URL", extract.Options{Name: API, BaseURL: c.AdvertiserURL,
		PerMinute: c.RequestsPerMinute}, o, func(k Credentials) string { return "Bearer " + string(k.APIKey) })
}

// client makes a client with an Authorization header of the credentials. After a 401 they are read again once, in case
// they were rotated.
func (c *Config) client(variable string, e extract.Options, o ClientOptions, header func(Credentials) string) (
	*extract.Client, error) {
	k, err := c.credentials()
	if err != nil {
		return nil, err
	}
	var value atomic.Pointer[string] // replaced while requests are under way
	now := header(k)
	value.Store(&now)
	e.Authorize = func(r *http.Request) { r.Header.Set("Authorization", *value.Load()) }
	e.Reload = func() bool {
		k, err := c.credentials()
		again := header(k)
		return err == nil && *value.Swap(&again) != again
	}
	e.Timeout, e.TimeoutName, e.RetryBudget = c.HTTPTimeout, Prefix+"HTTP_TIMEOUT", c.RetryBudget
	e.AllowHTTP, e.Service, e.Log = c.AllowHTTP, c.assumed, o.Log
	e.UserAgent, e.Transport = o.UserAgent, o.Transport
	client, err := extract.NewClient(e)
	if err != nil {
		return nil, exit.Usagef("%s%s: %v", Prefix, variable, err)
	}
	return client, nil
}
