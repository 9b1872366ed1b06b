package config

import (
	"net/url"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/outbound"
)

// GatewayURL reads PUSHGATEWAY_URL. Its errors show nothing of it: it may hold a
// password.
func GatewayURL(raw Secret) (*url.URL, error) {
	u, err := url.Parse(string(raw))
	switch {
	case err != nil:
		return nil, exit.Usagef("%sPUSHGATEWAY_URL cannot be parsed", Prefix)
	case (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return nil, exit.Usagef("%sPUSHGATEWAY_URL is not of the form http://host:port", Prefix)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, exit.Usagef("%sPUSHGATEWAY_URL has a query or a fragment", Prefix)
	}
	return u, nil
}

// checkGateway refuses a Pushgateway that no metrics could go to.
func (c *Config) checkGateway() error {
	if c.Pushgateway == "" {
		return nil
	}
	u, err := GatewayURL(c.Pushgateway)
	if err != nil {
		return err
	}
	if u.User != nil && u.Scheme == "http" && !c.AllowHTTP && !outbound.IsLoopback(u.Hostname()) {
		return exit.Usagef("%sPUSHGATEWAY_URL would show its password to everyone on the way to %s; use https or "+
			"allow http", Prefix, u.Host)
	}
	return nil
}
