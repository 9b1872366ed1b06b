package explain

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/extract/outbound"
	"spendsync/load/durable"
)

// rules word the causes that we know, the most specific one first. A rule reports whether it applies.
var rules = []func(error, *Message) bool{
	advised, otherAccount, ofService, ofBucket, damaged, locked, empty, ofStorage, usage,
}

// advised is an error that carries its own advice.
func advised(err error, m *Message) bool {
	if do := exit.Advice(err); do != "" {
		m.Do = do
		return true
	}
	return false
}

func otherAccount(err error, m *Message) bool {
	switch {
	case errors.Is(err, exit.ErrOtherAccount):
		m.Do = "use the key of this account in " + config.Prefix + "API_KEY, or another name in " + config.Prefix +
			"ACCOUNT; nothing of the other account was stored"
	case errors.Is(err, exit.ErrOtherReport):
		m.Do = "use the key and the dashboard user of one account: " + config.Prefix + "API_KEY, " + config.Prefix +
			"REPORT_USER"
	default:
		return false
	}
	return true
}

// side is one of the two interfaces, or the storage of a bucket, as the operator configures it.
type side struct {
	name, url          string
	secrets, variables string
	again              string // what to do after the correction
}

const runCheck = "run 'spendsync check'"

func sideOf(e *extract.ReadError) side {
	if e.Interface == config.API {
		return side{"advertiser API", config.Prefix + "ADVERTISER_URL", "key", config.Prefix + "API_KEY", runCheck}
	}
	return side{"report", config.Prefix + "REPORT_URL", "user or password",
		config.Prefix + "REPORT_USER, " + config.Prefix + "REPORT_PASSWORD", runCheck}
}

// ofService words what the service or the way to it answered.
func ofService(err error, m *Message) bool {
	e, ok := errors.AsType[*extract.ReadError](err)
	if !ok {
		return false
	}
	s := sideOf(e)
	if errors.Is(err, exit.ErrUsage) { // the base URL is wrong
		m.Safe = "nothing of the " + s.name + " was read or written"
	}
	if network(e.Cause, e.What, e.Reason, s, m) {
		return true
	}
	switch {
	case e.Status == http.StatusOK && isPage(beginning(e)):
		m.Happened = fmt.Sprintf("A page for people answers at %s in place of the %s: %s", s.url, s.name,
			pageText(beginning(e)))
		m.Do = "check that no proxy, gateway or login page answers there; if the service is under maintenance, run " +
			"it again later"
	case errors.Is(e, extract.ErrUnavailable):
		m.Happened = fmt.Sprintf("The %s keeps failing: %s: %s", s.name, e.What, e.Reason)
		m.Do = "wait for the service and run it again; days stay readable for 32 days (see 'spendsync status')"
		if e.Status == http.StatusOK {
			m.Do += "; if it is not under maintenance, check that no proxy or login page answers at " + s.url
		}
	case e.Status == http.StatusForbidden && isPage(said(e)):
		m.Happened = fmt.Sprintf("A proxy or gateway refused the way to the host of %s (403): %s", s.url,
			pageText(said(e)))
		m.Do = askTheProxy
	case e.Status == http.StatusUnauthorized:
		m.Happened = fmt.Sprintf("The %s refused the %s (401): %s%s", s.name, s.secrets, s.variables, words(e))
		m.Do = "correct it, then run 'spendsync check'"
	case e.Status == http.StatusForbidden:
		m.Happened = fmt.Sprintf("The %s knows the %s and refuses access (403): %s%s", s.name, s.secrets,
			s.variables, words(e))
		m.Do = "give that user or key access to the account at the service, then run 'spendsync check'"
	case e.Status == http.StatusBadRequest && e.DoubtsURL():
		m.Happened = s.url + " begins with http, and its port speaks TLS"
		m.Do = "write https in " + s.url + ", then run 'spendsync check'"
	case errors.Is(e, extract.ErrNotFound): // it was listed a moment ago
		m.Happened = fmt.Sprintf("The %s has no %s: %s", s.name, e.What, e.Reason)
		m.Do = fmt.Sprintf("nothing, if it was deleted while this run read it; if the next run says so again, ask the "+
			"service why it lists it and answers %d", e.Status)
	case (e.Status == http.StatusNotFound || e.Status == http.StatusGone) && e.OthersAnswered():
		m.Happened = fmt.Sprintf("The %s has no %s: %s", s.name, e.What, e.Reason)
		m.Do = fmt.Sprintf("ask the service why it answers %d; %s is right, for other requests are answered", e.Status,
			s.url)
	case e.Status == http.StatusNotFound, e.Status == http.StatusGone:
		m.Happened = fmt.Sprintf("%s has no %s under its path (%d): %s", s.url, s.name, e.Status, e.What)
		m.Do = "correct the path of " + s.url + ": it is the base URL, without the last part; then run " +
			"'spendsync check'"
	case e.Status >= 300 && e.Status < 400:
		m.Happened = fmt.Sprintf("%s leads elsewhere: %s", s.url, e.Reason)
		m.Do = "if that host is the service, set " + s.url + " to it; credentials are not sent to other hosts"
	case errors.Is(e, extract.ErrContract):
		m.Happened = fmt.Sprintf("The %s answered in a form that its description lacks: %s: %s", s.name, e.What,
			e.Reason)
		m.Do = "check that no proxy or login page answers at " + s.url + "; otherwise report this message to the " +
			"maintainers of spendsync"
		if strings.Contains(e.Reason, "page_size") {
			m.Do = "correct " + config.Prefix + "PAGE_SIZE"
		}
	default:
		return false
	}
	return true
}

const askTheProxy = "ask who runs the proxy to let this machine reach that host, or take it around the proxy by " +
	"NO_PROXY"

// said is what the service, or what stands before it, wrote about a refusal.
func said(e *extract.ReadError) string {
	return quotedAfter(e.Reason, fmt.Sprintf("status %d: ", e.Status))
}

// beginning is that of a reply which could not be read.
func beginning(e *extract.ReadError) string { return quotedAfter(e.Reason, "the reply begins ") }

// quotedAfter is the text that a reason quotes after these words.
func quotedAfter(reason, words string) string {
	_, text, _ := strings.Cut(reason, words)
	quoted, err := strconv.QuotedPrefix(text) // what was cut off ends in an ellipsis
	if err != nil {
		return text
	}
	text, _ = strconv.Unquote(quoted)
	return text
}

// words are what is said, as a part of a sentence.
func words(e *extract.ReadError) string {
	if text := said(e); text != "" {
		return fmt.Sprintf("; it says %q", phrase.Visible(text))
	}
	return ""
}

// isPage reports whether a reply is a page for people: the service itself answers in JSON.
func isPage(reply string) bool { return strings.HasPrefix(strings.TrimSpace(reply), "<") }

// markup is what a browser does not show of a page.
var markup = regexp.MustCompile(`(?is)<(style|script)\b.*?</(style|script)>|<[^>]*>`)

// pageText is the beginning of a page's text, in one line.
func pageText(page string) string {
	text := []rune(phrase.Visible(phrase.OneLine(html.UnescapeString(markup.ReplaceAllString(page, " ")))))
	return string(text[:min(len(text), 160)])
}

// network words a request that brought no reply.
func network(cause error, what, reason string, s side, m *Message) bool {
	if cause == nil {
		return false
	}
	if way, ok := errors.AsType[*net.OpError](cause); ok && way.Op == "proxyconnect" {
		m.Happened = fmt.Sprintf("The proxy on the way to %s does not answer: %s", s.url, reason)
		m.Do = "correct HTTPS_PROXY, or name the host in NO_PROXY if no proxy is needed; then " + s.again
		return true
	}
	if refusal, ok := errors.AsType[*outbound.ProxyRefusal](cause); ok {
		m.Happened = fmt.Sprintf("The proxy on the way to %s refuses the connection (%d)", s.url, refusal.Status)
		if text := pageText(string(refusal.Page)); text != "" {
			m.Happened += ": " + text
		}
		m.Do = askTheProxy
		if refusal.Status == http.StatusProxyAuthRequired {
			m.Happened = fmt.Sprintf("The proxy on the way to %s wants a user and a password (407)", s.url)
			m.Do = "write them into HTTPS_PROXY, as http://USER:PASSWORD@HOST:PORT; then " + s.again
		}
		return true
	}
	if dns, ok := errors.AsType[*net.DNSError](cause); ok {
		if !dns.IsNotFound {
			m.Happened = fmt.Sprintf("DNS does not answer for %s, the host of %s", dns.Name, s.url)
			m.Do = "repair DNS on this machine, or allow it in the network policy; then run it again"
			return true
		}
		m.Happened = fmt.Sprintf("%s names a host that DNS does not know: %s", s.url, dns.Name)
		m.Do = "correct the host in " + s.url + ", then " + s.again
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](cause); ok || errors.Is(cause, http.ErrSchemeMismatch) {
		m.Happened = s.url + " begins with https, and its port does not speak TLS"
		m.Do = "correct the port in " + s.url + ", then " + s.again
		return true
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](cause); ok {
		m.Happened = fmt.Sprintf("The certificate behind %s is not trusted: %v", s.url, bad.Err)
		m.Do = "correct the host in " + s.url + ", then " + s.again
		if _, unknown := errors.AsType[x509.UnknownAuthorityError](bad.Err); unknown {
			m.Do = "let " + config.Prefix + "CA_FILE name a file with the certificate of your company's authority, " +
				"then " + s.again
		}
		return true
	}
	var timeout net.Error
	switch {
	case errors.Is(cause, syscall.ECONNREFUSED):
		m.Happened = fmt.Sprintf("Nothing listens at %s (connection refused)", s.url)
		m.Do = "check host and port in " + s.url + "; if they are right, wait for the " + s.name + " and run it again"
	case errors.Is(cause, context.DeadlineExceeded), errors.As(cause, &timeout) && timeout.Timeout():
		m.Happened = fmt.Sprintf("No reply from %s in time: %s", s.url, what)
		m.Do = "check the network policy and the proxy; if they allow it, wait for the service and run it again"
	default:
		m.Happened = fmt.Sprintf("No connection to %s: %s", s.url, reason)
		m.Do = "check the network and the proxy; if they are right, wait for the service and run it again"
	}
	return true
}

func damaged(err error, m *Message) bool {
	d, ok := errors.AsType[*durable.Damage](err)
	if !ok {
		return false
	}
	m.Safe = "nothing was changed"
	switch {
	case d.Path == "manifest.json" || strings.HasPrefix(d.Path, "manifest/"):
		m.Do = "restore the data directory from a backup ('spendsync pull --all URL DIR')"
	case strings.HasPrefix(d.Repair, "spendsync"):
		m.Do = fmt.Sprintf("run '%s'", d.Repair)
	case d.Repair != "":
		m.Do = d.Repair
	}
	return true
}

func locked(err error, m *Message) bool {
	if !errors.Is(err, durable.ErrLocked) {
		return false
	}
	m.Do = "wait until the other run ends, then run it again; a lock ends with its process"
	return true
}

func empty(err error, m *Message) bool {
	if errors.Is(err, durable.ErrOlder) {
		m.Do = "run one sync of that commit, which upgrades the store, then this version"
		return true
	}
	if !errors.Is(err, durable.ErrEmpty) {
		return false
	}
	m.Do = "run 'spendsync sync', or name another folder in " + config.Prefix + "DATA_DIR or --data-dir"
	return true
}

// usage is what the caller got wrong.
func usage(err error, m *Message) bool {
	if !errors.Is(err, exit.ErrUsage) {
		return false
	}
	m.Do = "correct the command; 'spendsync help COMMAND' describes it"
	if strings.Contains(m.Happened, config.Prefix) {
		m.Do = "correct it; 'spendsync help config' describes each variable"
	}
	return true
}

// engineText are the words by which DuckDB reports an error of the file system.
var engineText = map[syscall.Errno]string{
	syscall.ENOSPC: "No space left on device", syscall.EDQUOT: "Disk quota exceeded",
	syscall.EROFS: "Read-only file system", syscall.EACCES: "Permission denied", syscall.EIO: "Input/output error",
}

// ofStorage words what the file system refused.
func ofStorage(err error, m *Message) bool {
	if !errors.Is(err, durable.ErrStorage) {
		return false
	}
	text := sentence(err)
	if errors.Is(err, durable.ErrTempDir) {
		m.Do = "set TMPDIR to a folder that can be written to; a container with a read-only root needs a volume at /tmp"
		return true
	}
	for _, k := range []struct {
		is       syscall.Errno
		happened string
		do       string
	}{
		{syscall.ENOSPC, "the volume is full", "make room on the volume, then run it again"},
		{syscall.EDQUOT, "the quota of the volume is used up", "raise the quota, then run it again"},
		{syscall.EROFS, "the volume is read-only", "mount it writable, or name another folder in " + config.Prefix +
			"DATA_DIR"},
		{syscall.EACCES, "this user may not use the folder", "give the user access to it, or name another folder in " +
			config.Prefix + "DATA_DIR"},
		{syscall.EPERM, "this user may not use the folder", "give the user access to it, or name another folder in " +
			config.Prefix + "DATA_DIR"},
		{syscall.ENOTDIR, config.Prefix + "DATA_DIR is or contains a file, not a folder", "name a folder in " +
			config.Prefix + "DATA_DIR"},
		{syscall.EIO, "the volume has an I/O error", "repair or replace the volume, then run it again"},
	} {
		if words := engineText[k.is]; errors.Is(err, k.is) || words != "" && strings.Contains(text, words) {
			m.Happened, m.Do = k.happened+": "+text, k.do
			if k.is == syscall.ENOTDIR {
				m.Safe = "nothing was changed"
			}
			return true
		}
	}
	m.Happened = text
	return true
}
