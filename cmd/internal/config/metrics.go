package config

import (
	"net/netip"
	"net/url"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/output"
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

// checkMetrics refuses places that no metrics could go to.
func (c *Config) checkMetrics() error {
	if strings.ContainsRune(c.MetricsFile, 0) {
		return exit.Usagef("%sMETRICS_FILE holds a NUL", Prefix)
	}
	if c.MetricsFile != "" {
		if err := output.CheckReplaceable(Prefix+"METRICS_FILE", c.MetricsFile, c.DataDir); err != nil {
			return err
		}
	}
	if c.Pushgateway == "" {
		return nil
	}
	u, err := GatewayURL(c.Pushgateway)
	if err != nil {
		return err
	}
	if u.User != nil && u.Scheme == "http" && !c.AllowHTTP && !isLoopback(u.Hostname()) {
		return exit.Usagef("%sPUSHGATEWAY_URL would show its password to everyone on the way to %s; use https or "+
			"allow http", Prefix, u.Host)
	}
	return nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
