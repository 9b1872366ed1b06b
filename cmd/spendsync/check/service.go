package check

import (
	"fmt"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
)

// clock compares this machine's clock with those of both interfaces, by the one
// that differs more.
func (c *checker) clock() {
	const name, do = "clock", "set this machine's clock by NTP: which day it is in Chicago follows from it"
	var worst time.Duration
	dated := false
	for _, client := range []*extract.Client{c.report, c.api} {
		if theirs, ok := client.ServiceTime(); ok {
			ahead := c.Now().Sub(theirs)
			if dated = true; ahead.Abs() > worst.Abs() {
				worst = ahead
			}
		}
	}
	found := fmt.Sprintf("%s behind the service's, by its Date header", worst.Abs().Round(time.Second))
	if worst > 0 {
		found = fmt.Sprintf("%s ahead of the service's, by its Date header", worst.Round(time.Second))
	}
	switch {
	case !dated:
		c.warn(name, do, "the service sends no date to compare with")
	case worst.Abs() > job.MaxClockOff:
		c.fail(exit.Usage, name, do, "%s", found)
	case worst.Abs() >= skewNotice:
		c.warn(name, do, "%s; a sync follows the service's", found)
	default:
		c.ok(name, "%s", found)
	}
}

// key looks when the API key ends.
func (c *checker) key() {
	const name = "key expiry"
	at, warning, known := c.api.KeyNotice()
	do := "renew it on the dashboard's API access page; the key itself stays the same"
	switch {
	case !known || at.IsZero():
		if warning != "" {
			c.warn(name, do, "the service says: %s", warning)
		}
	case !at.After(c.at):
		c.fail(exit.Auth, name, do, "it expired at %s", at.Format(time.RFC3339))
	case at.Sub(c.at) < job.KeyNotice:
		c.warn(name, do, "it expires at %s, in %s", at.Format(time.RFC3339),
			phrase.Count(int(at.Sub(c.at).Hours()/24), "day"))
	default:
		c.ok(name, "it expires at %s, in %s", at.Format(time.RFC3339),
			phrase.Count(int(at.Sub(c.at).Hours()/24), "day"))
	}
}

// endings warns of what the service announces to end, by the headers of its replies.
func (c *checker) endings() {
	for _, client := range []*extract.Client{c.report, c.api} {
		for _, e := range client.Endings() {
			text := e.Path + " is deprecated since " + e.Deprecated
			if e.Deprecated == "" {
				text = e.Path + " is still served"
			}
			if e.Sunset != "" {
				text += ", and ends on " + e.Sunset
			}
			c.warn("deprecation", "look for a newer version of spendsync; a new path or name is a line of "+
				config.Prefix+"SERVICE_FILE", "the service announces: %s", phrase.OneLine(text))
		}
	}
}

// secrets looks whether a reply has repeated the credentials.
func (c *checker) secrets() {
	if n := c.report.Stats().Repeated + c.api.Stats().Repeated; n > 0 {
		c.warn("secrets", "report it to the service, and then renew the password and the key",
			"%s of the service repeated the credentials; nothing of them is stored", phrase.Count(int(n), "response"))
	}
}
