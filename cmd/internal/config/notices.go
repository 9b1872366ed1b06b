package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/extract/outbound"
)

// address parses a variable that holds the address of a server. It returns nil if the variable is not set. Errors show
// at most the host, because anybody who knows the complete address could send reports in our name.
func (c *Config) address(name string, value Secret) (*url.URL, error) {
	if !c.isSet(name, value) {
		return nil, nil
	}
	raw, err := ReadSecret(name, value, c.files[name+"_FILE"])
	if err != nil {
		return nil, err
	}
	u := Address(string(raw))
	if u == nil {
		return nil, exit.Usagef("%s%s is not of the form https://host/path", Prefix, name)
	}
	return u, nil
}

// Address parses the address of a server. It returns nil if the text is not an http or https URL with a host.
func Address(raw string) *url.URL {
	u, err := outbound.ParseURL(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil
	}
	return u
}

// Gateway returns the address of the Pushgateway, or nil if the variable is not set.
func (c *Config) Gateway() (*url.URL, error) {
	u, err := c.address("PUSHGATEWAY_URL", c.Pushgateway)
	switch {
	case u == nil:
		return nil, err
	case u.RawQuery != "" || u.Fragment != "":
		return nil, exit.Usagef("%sPUSHGATEWAY_URL has a query or a fragment", Prefix)
	case u.User != nil:
		return c.encrypted("PUSHGATEWAY_URL", u)
	}
	return u, nil
}

// Heartbeat returns the address to which a run reports its start and its end, or nil if the variable is not set.
func (c *Config) Heartbeat() (*url.URL, error) {
	u, err := c.address("HEARTBEAT_URL", c.HeartbeatURL)
	if u == nil {
		return nil, err
	}
	return c.encrypted("HEARTBEAT_URL", u)
}

// encrypted refuses an http address, because its secret could be read on the network. It accepts http on this machine,
// and everywhere if ALLOW_HTTP is set.
func (c *Config) encrypted(name string, u *url.URL) (*url.URL, error) {
	if u.Scheme == "http" && !c.AllowHTTP && !outbound.IsLoopback(u.Hostname()) {
		return nil, exit.Usagef("%s%s would be shown to everyone on the way to %s; use https, or set %sALLOW_HTTP=true",
			Prefix, name, u.Host, Prefix)
	}
	return u, nil
}

// checkNotices rejects invalid values of PUSHGATEWAY_URL, HEARTBEAT_URL, NOTIFY_URL and NOTIFY. If a file holds the
// value, the file is read only when the run reports. An error in such a file is a warning, because it must not keep the
// run from storing data.
func (c *Config) checkNotices() (err error) {
	if c.Pushgateway != "" {
		_, err = c.Gateway()
	}
	if err == nil && c.HeartbeatURL != "" {
		_, err = c.Heartbeat()
	}
	if err == nil && c.NotifyURL != "" {
		_, err = c.Receivers()
	}
	if err == nil {
		_, err = c.NoticeKinds()
	}
	return err
}

// Receiver is one webhook, chat or mailbox. Each receiver has its own state, so that a failing receiver does not delay
// the other receivers.
type Receiver struct {
	Name string   // the receiver's number and its Form, for example "1 slack"; never a secret
	Form string   // slack, telegram, mail, json
	URL  *url.URL // where to post; for mail: smtp:// or smtps://, with user and password
	From string   // sender of mails
	To   string   // chat of telegram, or mailbox
}

// beginsAddress matches a comma that separates two addresses. Any other comma is part of an address.
var beginsAddress = regexp.MustCompile(`,([a-z+]+://)`)

// Receivers returns the receivers of notices, in the order of NOTIFY_URL. Errors identify an address only by its
// position, because anybody who knows the address could send messages there.
func (c *Config) Receivers() (all []Receiver, err error) {
	if !c.isSet("NOTIFY_URL", c.NotifyURL) {
		return nil, nil
	}
	raw, err := readSecret("NOTIFY_URL", c.NotifyURL, c.files["NOTIFY_URL_FILE"])
	if err != nil {
		return nil, err
	}
	for i, address := range strings.Fields(beginsAddress.ReplaceAllString(string(raw), " $1")) {
		r, several, why := receiver(strings.TrimRight(address, ","))
		if why != "" {
			return nil, exit.Usagef("%sNOTIFY_URL: address %d %s; see the operators' manual for the forms", Prefix, i+1,
				why)
		}
		if _, err := c.encrypted("NOTIFY_URL", r.URL); err != nil {
			return nil, err
		}
		for _, r.To = range several {
			r.Name = fmt.Sprintf("%d %s", len(all)+1, r.Form)
			all = append(all, r)
		}
	}
	return all, nil
}

// formsByScheme maps the scheme of a receiver's address to the value of Receiver.Form. For an address on one of
// slackHosts, Receiver.Form is slack: these servers accept messages in Slack's JSON format.
var (
	formsByScheme = map[string]string{"smtp": "mail", "smtps": "mail", "telegram": "telegram", "http": "json",
		"https": "json"}
	slackHosts = []string{"hooks.slack.com", "hooks.slack-gov.com"}
)

// receiver parses one address, and also returns the chats or mailboxes that the address names. For an invalid address
// it returns the reason. The reason does not quote the address, which may contain a secret.
func receiver(address string) (r Receiver, to []string, why string) {
	u, err := outbound.ParseURL(address)
	if err != nil {
		return r, nil, err.Error()
	}
	form, scheme, isNamed := strings.Cut(u.Scheme, "+")
	if !isNamed {
		form, scheme = formsByScheme[u.Scheme], u.Scheme
	}
	if !isNamed && slices.Contains(slackHosts, u.Hostname()) {
		form = "slack"
	}
	r = Receiver{Form: form, URL: u, From: u.Query().Get("from")}
	isWeb := (scheme == "http" || scheme == "https") && u.Hostname() != ""
	switch {
	case form == "mail":
		return r.ofMail()
	case form == "telegram" && (isWeb || !isNamed):
		if !isNamed {
			scheme, u.Host = "https", "api.telegram.org"
		}
		return r.ofTelegram(scheme)
	case (form == "slack" || form == "json") && isWeb:
		u.Scheme, u.Fragment = scheme, ""
		return r, []string{""}, ""
	}
	return r, nil, "is none of slack+https://, json+https://, telegram://, smtps://"
}

// listed returns the comma-separated values of a query parameter of the receiver's URL.
func (r Receiver) listed(name string) []string {
	return strings.FieldsFunc(strings.Join(r.URL.Query()[name], ","), func(c rune) bool { return c == ',' })
}

func (r Receiver) ofMail() (Receiver, []string, string) {
	to := r.listed("to")
	switch {
	case r.URL.Hostname() == "" || r.From == "" || len(to) == 0:
		return r, nil, "is not of the form smtps://user:password@host/?from=a@example.com&to=b@example.com"
	case strings.ContainsAny(r.From+strings.Join(to, ""), "\r\n<>"):
		return r, nil, "has a mail address that is none"
	}
	return r, to, ""
}

func (r Receiver) ofTelegram(scheme string) (Receiver, []string, string) {
	token, err := url.PathUnescape(r.URL.User.String())
	to := r.listed("chats")
	if err != nil || token == "" || len(to) == 0 {
		return r, nil, "is not of the form telegram://TOKEN@telegram?chats=ID"
	}
	r.URL = &url.URL{Scheme: scheme, Host: r.URL.Host, Path: "/bot" + token + "/sendMessage"}
	return r, to, ""
}

// noticeKinds are the kinds of notices that NOTIFY can name. By default, all kinds except "settings" are sent, because
// an actively managed account changes its settings every hour.
var noticeKinds = []string{"day", "account", "failed", "runway", "break", "leak", "loses", "block", "backup", "key",
	"settings"}

// NoticeKinds reports for each kind of notice whether NOTIFY selects it.
func (c *Config) NoticeKinds() (map[string]bool, error) {
	wanted := map[string]bool{}
	for _, kind := range noticeKinds {
		wanted[kind] = c.Notify == "" && kind != "settings"
	}
	for _, name := range strings.FieldsFunc(c.Notify, func(r rune) bool { return r == ',' || r == ' ' }) {
		switch _, known := wanted[name]; {
		case name == "all":
			for kind := range wanted {
				wanted[kind] = true
			}
		case known:
			wanted[name] = true
		default:
			names := append([]string{"all"}, noticeKinds...)
			return nil, exit.Usagef("%sNOTIFY: there is no kind %q%s; there are %s", Prefix, name,
				cli.DidYouMean(name, names), strings.Join(names, ", "))
		}
	}
	return wanted, nil
}
