package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/nearest"
	"spendsync/extract/outbound"
)

// OfNotices returns only the variables by which a run reports how it ended, for a run whose
// configuration is wrong.
func OfNotices(environ []string) *Config {
	env := FromEnviron(environ)
	allow, _ := strconv.ParseBool(env["ALLOW_HTTP"])
	c := &Config{HeartbeatURL: Secret(env["HEARTBEAT_URL"]), NotifyURL: Secret(env["NOTIFY_URL"]),
		Pushgateway: Secret(env["PUSHGATEWAY_URL"]), MetricsFile: env["METRICS_FILE"], CAFile: env["CA_FILE"],
		secretFiles: secretFilesIn(env), Notify: env["NOTIFY"], Account: env["ACCOUNT"], DataDir: env["DATA_DIR"],
		AllowHTTP: allow}
	if c.Account == "" {
		c.Account = "default"
	}
	if c.DataDir == "" {
		c.DataDir = "data"
	}
	_ = c.trust() // the run's own error names a wrong file
	return c
}

// Heartbeat returns the address to which a run reports its start and its end; nil: none is set. The errors contain no
// part of it: whoever knows it can report in our name.
func (c *Config) Heartbeat() (*url.URL, error) {
	if !c.isSet("HEARTBEAT_URL", c.HeartbeatURL) {
		return nil, nil
	}
	raw, err := c.secret("HEARTBEAT_URL", c.HeartbeatURL)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(string(raw))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, exit.Usagef("%sHEARTBEAT_URL is not of the form https://host/path", Prefix)
	}
	if err := c.checkEncrypted("HEARTBEAT_URL", u); err != nil {
		return nil, err
	}
	u.Fragment = ""
	return u, nil
}

// checkEncrypted refuses an address whose secret would be readable on the way.
func (c *Config) checkEncrypted(name string, u *url.URL) error {
	if u.Scheme == "http" && !c.AllowHTTP && !outbound.IsLoopback(u.Hostname()) {
		return exit.Usagef("%s%s would be shown to everyone on the way to %s; use https, or set %sALLOW_HTTP=true",
			Prefix, name, u.Host, Prefix)
	}
	return nil
}

// checkNotices rejects wrong values of the variables themselves. The content of a file is read when the run reports,
// and errors in it are warnings: the data comes first.
func (c *Config) checkNotices() error {
	if c.HeartbeatURL != "" {
		if _, err := c.Heartbeat(); err != nil {
			return err
		}
	}
	if c.NotifyURL != "" {
		if _, err := c.Receivers(); err != nil {
			return err
		}
	}
	_, err := c.NoticeKinds()
	return err
}

// Receiver is one webhook, chat or mailbox: each has a state of its own, so one that refuses holds up no other.
type Receiver struct {
	Name string   // its place and form, for example "1 slack": shows no secret
	Form string   // slack, telegram, mail, json
	URL  *url.URL // to post to; mail: smtp:// or smtps://, with user and password
	From string   // of mail
	To   string   // the chat of telegram, or the mailbox of mail
}

// slackHosts are those that Slack's form is known by.
var slackHosts = []string{"hooks.slack.com", "hooks.slack-gov.com"}

// Receivers returns the receivers of notices. Errors contain only an address's place in the list: with the address,
// anybody can write there.
func (c *Config) Receivers() ([]Receiver, error) {
	if !c.isSet("NOTIFY_URL", c.NotifyURL) {
		return nil, nil
	}
	raw, err := readSecret("NOTIFY_URL", c.NotifyURL, c.secretFiles["NOTIFY_URL"])
	if err != nil {
		return nil, err
	}
	var all []Receiver
	for i, address := range addresses(string(raw)) {
		r, several, why := receiver(address)
		if why == "" && r.Form != "mail" {
			if err := c.checkEncrypted("NOTIFY_URL", r.URL); err != nil {
				return nil, err
			}
		}
		if why != "" {
			return nil, exit.Usagef("%sNOTIFY_URL: address %d %s; see the operators' manual for the forms", Prefix, i+1,
				why)
		}
		r.Name = fmt.Sprintf("%d %s", i+1, r.Form)
		for k, to := range several {
			if r.To = to; k > 0 {
				r.Name = fmt.Sprintf("%d.%d %s", i+1, k+1, r.Form)
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// addresses splits at white space and commas. A comma within an address does not split it: no address follows.
func addresses(raw string) (all []string) {
	for _, word := range strings.Fields(raw) {
		for i, part := range strings.Split(word, ",") {
			if i > 0 && part != "" && !strings.Contains(part, "://") && len(all) > 0 {
				all[len(all)-1] += "," + part
			} else if part != "" {
				all = append(all, part)
			}
		}
	}
	return all
}

// receiver reads one address, with the chats or mailboxes that it names. The reason why it cannot be one contains
// nothing of it.
func receiver(address string) (r Receiver, several []string, why string) {
	u, err := url.Parse(address)
	if err != nil {
		return r, nil, "cannot be parsed"
	}
	form, scheme, named := strings.Cut(u.Scheme, "+")
	if !named {
		form, scheme = formOf(u), u.Scheme
	}
	r.Form = form
	switch {
	case form == "mail":
		return mailbox(u, r)
	case form == "telegram":
		if r.URL = (&url.URL{Scheme: "https", Host: "api.telegram.org"}); named {
			r.URL = &url.URL{Scheme: scheme, Host: u.Host}
		}
		return chat(u, r)
	}
	if !slices.Contains([]string{"slack", "json"}, form) || (scheme != "http" && scheme != "https") ||
		u.Hostname() == "" {
		return r, nil, "is none of slack+https://, json+https://, telegram://, smtps://"
	}
	u.Scheme, u.Fragment = scheme, ""
	r.URL = u
	return r, []string{""}, ""
}

// mailbox reads an address of mail.
func mailbox(u *url.URL, r Receiver) (_ Receiver, to []string, why string) {
	q := u.Query()
	r.URL, r.From = u, q.Get("from")
	to = commaSeparated(q["to"])
	if u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || r.From == "" || len(to) == 0 {
		return r, nil, "is not of the form smtps://user:password@host/?from=a@example.com&to=b@example.com"
	}
	if strings.ContainsAny(r.From+strings.Join(to, ""), "\r\n<>") {
		return r, nil, "has a mail address that is none"
	}
	return r, to, ""
}

// chat reads an address of Telegram, whose server the receiver has.
func chat(u *url.URL, r Receiver) (_ Receiver, to []string, why string) {
	token, err := url.PathUnescape(u.User.String())
	to = commaSeparated(u.Query()["chats"])
	if err != nil || token == "" || len(to) == 0 {
		return r, nil, "is not of the form telegram://TOKEN@telegram?chats=ID"
	}
	r.URL.Path = "/bot" + token + "/sendMessage"
	return r, to, ""
}

func commaSeparated(lists []string) (all []string) {
	for _, list := range lists {
		all = append(all, strings.Split(list, ",")...)
	}
	return all
}

// formOf knows a form by the host of its published addresses; other https addresses get JSON.
func formOf(u *url.URL) string {
	switch u.Scheme {
	case "smtp", "smtps":
		return "mail"
	case "telegram":
		return "telegram"
	case "http", "https":
		if slices.Contains(slackHosts, u.Hostname()) {
			return "slack"
		}
		return "json"
	}
	return u.Scheme
}

// The kinds of notices, and whether they are sent by default, which NOTIFY overrides. Settings are not: an account
// under active management changes every hour.
var noticeKinds = []struct {
	name  string
	usual bool
}{
	{"day", true}, {"account", true}, {"failed", true}, {"runway", true}, {"break", true}, {"leak", true},
	{"loses", true}, {"block", true}, {"backup", true}, {"key", true}, {"settings", false},
}

// NoticeKinds returns the kinds of NOTIFY.
func (c *Config) NoticeKinds() (map[string]bool, error) {
	wanted, names := map[string]bool{}, []string{"all"}
	for _, k := range noticeKinds {
		names = append(names, k.name)
		if c.Notify == "" && k.usual {
			wanted[k.name] = true
		}
	}
	words := strings.FieldsFunc(c.Notify, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range words {
		switch {
		case name == "all":
			for _, k := range noticeKinds {
				wanted[k.name] = true
			}
		case slices.Contains(names, name):
			wanted[name] = true
		default:
			return nil, exit.Usagef("%sNOTIFY: there is no kind %q%s; there are %s", Prefix, name,
				nearest.DidYouMean(name, names), strings.Join(names, ", "))
		}
	}
	return wanted, nil
}
