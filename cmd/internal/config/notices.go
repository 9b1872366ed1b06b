package config

import (
	"net/url"
	"strconv"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/outbound"
)

// OfNotices returns only the variables by which a run reports how it ended, for a run whose
// configuration is wrong.
func OfNotices(environ []string) *Config {
	env := FromEnviron(environ)
	allow, _ := strconv.ParseBool(env["ALLOW_HTTP"])
	return &Config{HeartbeatURL: Secret(env["HEARTBEAT_URL"]), HeartbeatURLF: env["HEARTBEAT_URL_FILE"],
		AllowHTTP: allow}
}

// Heartbeat returns the address that a run reports its start and its end to; nil: none is set. The
// errors show nothing of it: whoever knows it can report for us.
func (c *Config) Heartbeat() (*url.URL, error) {
	if c.HeartbeatURL == "" && c.HeartbeatURLF == "" {
		return nil, nil
	}
	raw, err := ReadSecret("HEARTBEAT_URL", c.HeartbeatURL, c.HeartbeatURLF)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(string(raw))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, exit.Usagef("%sHEARTBEAT_URL is not of the form https://host/path", Prefix)
	}
	if u.Scheme == "http" && !c.AllowHTTP && !outbound.IsLoopback(u.Hostname()) {
		return nil, exit.Usagef("%sHEARTBEAT_URL would be shown to everyone on the way to %s; use https or allow http",
			Prefix, u.Host)
	}
	u.Fragment = ""
	return u, nil
}

// checkHeartbeat refuses an address in the variable itself. The content of a file is read when the
// run reports, and its faults are warnings: the data comes first.
func (c *Config) checkHeartbeat() error {
	if c.HeartbeatURL != "" {
		_, err := c.Heartbeat()
		return err
	}
	return nil
}
