package config

import (
	"net/url"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/files"
	"spendsync/extract/outbound"
)

// Gateway returns the Pushgateway; nil: none is set. The errors show nothing of its address, which may hold a
// password.
func (c *Config) Gateway() (*url.URL, error) {
	if !c.isSet("PUSHGATEWAY_URL", c.Pushgateway) {
		return nil, nil
	}
	raw, err := c.secret("PUSHGATEWAY_URL", c.Pushgateway)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(string(raw))
	switch {
	case err != nil:
		return nil, exit.Usagef("%sPUSHGATEWAY_URL cannot be parsed", Prefix)
	case (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return nil, exit.Usagef("%sPUSHGATEWAY_URL is not of the form http://host:port", Prefix)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, exit.Usagef("%sPUSHGATEWAY_URL has a query or a fragment", Prefix)
	case u.User != nil && u.Scheme == "http" && !c.AllowHTTP && !outbound.IsLoopback(u.Hostname()):
		return nil, exit.Usagef("%sPUSHGATEWAY_URL would show its password to everyone on the way to %s; use https or "+
			"allow http", Prefix, u.Host)
	}
	return u, nil
}

// trust makes the authorities of CA_FILE trusted beside those of the system, by every client of this process.
func (c *Config) trust() error {
	if c.CAFile == "" {
		return nil
	}
	pem, err := files.Read(c.CAFile, files.MaxSecret)
	if err == nil {
		err = outbound.Trust(pem)
	}
	if err != nil {
		return exit.Usagef("%sCA_FILE %s: %v", Prefix, c.CAFile, err)
	}
	return nil
}
