package config

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"sync/atomic"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
)

// Report and API are the names of the service's two interfaces in error messages.
const (
	Report = "report"
	API    = "advertiser API"
)

// ClientOptions are those options of a client that no environment variable sets.
type ClientOptions struct {
	UserAgent string
	Log       *slog.Logger
	Transport http.RoundTripper // if nil, requests go over the network
}

// ReportClient returns a client of the spend report.
func (c *Config) ReportClient(o ClientOptions) (*extract.Client, error) {
	return c.client("REPORT_URL", extract.Options{Name: Report, BaseURL: c.ReportURL}, o, Credentials.report,
		Credentials.api)
}

// AdvertiserClient returns a client of the advertiser API. All requests of the client share one limit, because the
// service counts requests by key.
func (c *Config) AdvertiserClient(o ClientOptions) (*extract.Client, error) {
	return c.client("ADVERTISER_URL", extract.Options{Name: API, BaseURL: c.AdvertiserURL,
		PerMinute: c.RequestsPerMinute}, o, Credentials.api, Credentials.report)
}

// report returns the Authorization header of requests for the spend report.
func (k Credentials) report() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(k.User+":"+string(k.ReportPassword)))
}

func (k Credentials) api() string { return "Bearer " + string(k.APIKey) }

// client returns a client that adds credentials to its requests. After a 401 the client reads the credentials once
// more, because the key may have been rotated. The first of the two functions returns the Authorization header of this
// client, the second one that of the other interface's client. This client removes the values of both headers from
// replies.
func (c *Config) client(variable string, e extract.Options, o ClientOptions, header,
	beside func(Credentials) string) (*extract.Client, error) {
	k, err := c.credentials()
	if err != nil {
		return nil, err
	}
	var value atomic.Pointer[Credentials] // the credentials, which Reload may replace during requests
	value.Store(&k)
	e.Authorize = func(r *http.Request) { r.Header.Set("Authorization", header(*value.Load())) }
	e.Beside = func() string { return beside(*value.Load()) }
	e.Reload = func() bool {
		again, err := c.credentials()
		return err == nil && header(*value.Swap(&again)) != header(again)
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
