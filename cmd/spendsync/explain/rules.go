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
	"slices"
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

// cause is a cause of an error, by which it is known, with the words for it.
type cause[E any] struct {
	is           func(E) bool
	happened, do string // {names} stand for what is known of the error
}

// tell takes the words of the first cause that applies. fill are the names in them, each with its text.
func tell[E any](m *Message, causes []cause[E], e E, fill ...string) bool {
	i := slices.IndexFunc(causes, func(c cause[E]) bool { return c.is(e) })
	if i < 0 {
		return false
	}
	words := strings.NewReplacer(fill...)
	m.Happened, m.Do = words.Replace(causes[i].happened), words.Replace(causes[i].do)
	return true
}

// is reports whether an error is, or wraps, one of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
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
	return network(e.Cause, e.What, e.Reason, s, m) || tell(m, serviceCauses, e, "{url}", s.url, "{side}", s.name,
		"{secrets}", s.secrets, "{variables}", s.variables, "{what}", e.What, "{reason}", e.Reason,
		"{status}", strconv.Itoa(e.Status), "{words}", words(e), "{page}", pageText(said(e)),
		"{beginning}", pageText(beginning(e)))
}

var serviceCauses = []cause[*extract.ReadError]{
	{func(e *extract.ReadError) bool { return e.Status == http.StatusOK && isPage(beginning(e)) },
		"A page for people answers at {url} in place of the {side}: {beginning}",
		"check that no proxy, gateway or login page answers there; if the service is under maintenance, run it again " +
			"later"},
	{func(e *extract.ReadError) bool {
		return errors.Is(e, extract.ErrUnavailable) && e.Status == http.StatusOK
	},
		keepsFailing,
		waitForIt + "; if it is not under maintenance, check that no proxy or login page answers at {url}"},
	{isOf(extract.ErrUnavailable), keepsFailing, waitForIt},
	{func(e *extract.ReadError) bool { return e.Status == http.StatusForbidden && isPage(said(e)) },
		"A proxy or gateway refused the way to the host of {url} (403): {page}", askTheProxy},
	{answers(http.StatusUnauthorized), "The {side} refused the {secrets} (401): {variables}{words}",
		"correct it, then " + runCheck},
	{answers(http.StatusForbidden), "The {side} knows the {secrets} and refuses access (403): {variables}{words}",
		"give that user or key access to the account at the service, then " + runCheck},
	{func(e *extract.ReadError) bool { return e.Status == http.StatusBadRequest && e.DoubtsURL() },
		"{url} begins with http, and its port speaks TLS", "write https in {url}, then " + runCheck},
	{isOf(extract.ErrNotFound), "The {side} has no {what}: {reason}", // it was listed a moment ago
		"nothing, if it was deleted while this run read it; if the next run says so again, ask the service why it " +
			"lists it and answers {status}"},
	{func(e *extract.ReadError) bool { return isNotThere(e) && e.OthersAnswered() },
		"The {side} has no {what}: {reason}",
		"ask the service why it answers {status}; {url} is right, for other requests are answered"},
	{isNotThere, "{url} has no {side} under its path ({status}): {what}",
		"correct the path of {url}: it is the base URL, without the last part; then " + runCheck},
	{func(e *extract.ReadError) bool { return e.Status >= 300 && e.Status < 400 },
		"{url} leads elsewhere: {reason}",
		"if that host is the service, set {url} to it; credentials are not sent to other hosts"},
	{contractNames("PAGE_SIZE"), otherForm, "set " + config.Prefix + "PAGE_SIZE to fewer rows, then " + runCheck},
	{contractNames("SERVICE_FILE"), otherForm,
		"write that line into the file of " + config.Prefix + "SERVICE_FILE, then " + runCheck},
	{isOf(extract.ErrContract), otherForm,
		"check that no proxy or login page answers at {url}; otherwise report this message to the maintainers of " +
			"spendsync"},
}

const (
	keepsFailing = "The {side} keeps failing: {what}: {reason}"
	waitForIt    = "wait for the service and run it again; days stay readable for 32 days (see 'spendsync status')"
	otherForm    = "The {side} answered in a form that its description lacks: {what}: {reason}"
	askTheProxy  = "ask who runs the proxy to let this machine reach that host, or take it around the proxy by NO_PROXY"
)

func answers(status int) func(*extract.ReadError) bool {
	return func(e *extract.ReadError) bool { return e.Status == status }
}

func isOf(kind error) func(*extract.ReadError) bool {
	return func(e *extract.ReadError) bool { return errors.Is(e, kind) }
}

func isNotThere(e *extract.ReadError) bool {
	return e.Status == http.StatusNotFound || e.Status == http.StatusGone
}

// contractNames returns whether a reply is outside the contract, and the reason names the variable that cures that.
func contractNames(variable string) func(*extract.ReadError) bool {
	return func(e *extract.ReadError) bool {
		return errors.Is(e, extract.ErrContract) && strings.Contains(e.Reason, config.Prefix+variable)
	}
}

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
func network(why error, what, reason string, s side, m *Message) bool {
	if why == nil {
		return false
	}
	fill := []string{"{url}", s.url, "{side}", s.name, "{again}", s.again, "{what}", what, "{reason}", reason}
	if refusal, ok := errors.AsType[*outbound.ProxyRefusal](why); ok {
		text := pageText(string(refusal.Page))
		if text != "" {
			text = ": " + text
		}
		fill = append(fill, "{status}", strconv.Itoa(refusal.Status), "{page}", text)
	}
	if dns, ok := errors.AsType[*net.DNSError](why); ok {
		fill = append(fill, "{host}", dns.Name)
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](why); ok {
		fill = append(fill, "{certificate}", fmt.Sprint(bad.Err))
	}
	return tell(m, networkCauses, why, fill...)
}

var networkCauses = []cause[error]{
	{func(err error) bool {
		way, ok := errors.AsType[*net.OpError](err)
		return ok && way.Op == "proxyconnect"
	},
		"The proxy on the way to {url} does not answer: {reason}",
		"correct HTTPS_PROXY, or name the host in NO_PROXY if no proxy is needed; then {again}"},
	{func(err error) bool {
		refusal, ok := errors.AsType[*outbound.ProxyRefusal](err)
		return ok && refusal.Status == http.StatusProxyAuthRequired
	}, "The proxy on the way to {url} wants a user and a password (407)",
		"write them into HTTPS_PROXY, as http://USER:PASSWORD@HOST:PORT; then {again}"},
	{is[*outbound.ProxyRefusal], "The proxy on the way to {url} refuses the connection ({status}){page}", askTheProxy},
	{func(err error) bool { dns, ok := errors.AsType[*net.DNSError](err); return ok && !dns.IsNotFound },
		"DNS does not answer for {host}, the host of {url}",
		"repair DNS on this machine, or allow it in the network policy; then run it again"},
	{is[*net.DNSError], "{url} names a host that DNS does not know: {host}", "correct the host in {url}, then {again}"},
	{func(err error) bool { return is[tls.RecordHeaderError](err) || errors.Is(err, http.ErrSchemeMismatch) },
		"{url} begins with https, and its port does not speak TLS", "correct the port in {url}, then {again}"},
	{func(err error) bool {
		return is[*tls.CertificateVerificationError](err) && is[x509.UnknownAuthorityError](err)
	},
		notTrusted, "let " + config.Prefix + "CA_FILE name a file with the certificate of your company's authority, " +
			"then {again}"},
	{is[*tls.CertificateVerificationError], notTrusted, "correct the host in {url}, then {again}"},
	{func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) },
		"Nothing listens at {url} (connection refused)",
		"check host and port in {url}; if they are right, wait for the {side} and run it again"},
	{func(err error) bool {
		late, ok := errors.AsType[net.Error](err)
		return errors.Is(err, context.DeadlineExceeded) || ok && late.Timeout()
	}, "No reply from {url} in time: {what}",
		"check the network policy and the proxy; if they allow it, wait for the service and run it again"},
	{func(error) bool { return true }, "No connection to {url}: {reason}",
		"check the network and the proxy; if they are right, wait for the service and run it again"},
}

const notTrusted = "The certificate behind {url} is not trusted: {certificate}"

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
