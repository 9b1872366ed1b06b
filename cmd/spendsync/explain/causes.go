package explain

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/extract/outbound"
	"spendsync/load/durable"
	"spendsync/load/remote"
)

// cause recognizes one cause of an error. It has three texts for the operator: what happened, what to do, what is safe.
// Names in braces are replaced by facts. If the field "happened" is empty, the error's own text is used. If the field
// "do" or "safe" is empty, the text of the exit code is used.
type cause struct {
	is                 func(facts) bool
	happened, do, safe string
}

// causes lists the known causes. The first cause that matches an error is used.
var causes = []cause{
	{is: func(f facts) bool { return f.words["advice"] != "" }, do: "{advice}"},
	{is: isKind(exit.ErrOtherAccount, exit.ErrOtherReport), safe: "nothing of the other account was stored",
		do: "use the key and the dashboard user of one account, " + config.Prefix + "API_KEY and " + config.Prefix +
			"REPORT_USER, and for another account another name in " + config.Prefix + "ACCOUNT"},

	// Causes in a push, a pull, or the storage of a bucket.
	{is: isKind(remote.ErrOlder, remote.ErrOtherHistory), safe: untouched, do: "push the store that continues the " +
		"bucket, or pull into an empty folder; 'push --accept-loss' replaces what the bucket has"},
	{is: isKind(remote.ErrNoGeneration), safe: untouched, do: "choose one of those"},
	{is: isKind(remote.ErrVanished), safe: untouched, do: "mount the share or correct the address; if the backup is " +
		"lost, 'spendsync push --again' begins it anew"},
	{is: isKind(remote.ErrNothing), safe: untouched, do: "correct the address, or run 'spendsync push' first"},
	{is: hasCode("RequestTimeTooSkewed"), happened: "{storage} refuses the time of the request " +
		"(RequestTimeTooSkewed): its clock and the one of this machine differ",
		do: "set the clock that is wrong, then run it again"},
	{is: ofStorage(remote.ErrLacking), happened: "{storage} does not take a request that is needed for {object} " +
		"({answered}): {reason}",
		do: "use another storage that speaks S3, or a mounted folder by file:///FOLDER"},
	{is: hasCode("NoSuchBucket", "InvalidBucketName"), happened: "There is no bucket of {address} ({answered})",
		do: "correct the address or {url}, or create the bucket"},
	{is: unasked(remote.ErrAddress), happened: "{storage} is asked for nothing: {reason}",
		do: "use https in {url}, or set " + config.Prefix + "ALLOW_HTTP=true"},
	{is: ofStorage(remote.ErrAddress), happened: "The region or the endpoint is not that of {address} " +
		"({answered}): {reason}", do: "correct AWS_REGION, or {url}"},
	{is: unasked(remote.ErrDenied), happened: "There are no credentials for {address}",
		do: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (of gs://: the HMAC key of a service account), " +
			"AWS_PROFILE, or an identity of the cloud"},
	{is: ofStorage(remote.ErrProtected), happened: "A lock or a retention of {address} keeps {object} as it is " +
		"({answered}): {reason}",
		do: "let 'push' write to an address without object lock: it replaces current.json and removes what is no " +
			"longer readable"},
	{is: ofStorage(remote.ErrArchived), happened: "{storage} has moved {object} into an archive ({answered}): it " +
		"cannot be read before it is restored",
		do: "restore the objects below {address} in the storage, and end the lifecycle rule that moves them"},
	{is: ofStorage(remote.ErrDenied), happened: "{storage} refuses access to {object} ({answered})",
		do: "check the credentials and what they may do: 'push' reads, writes, lists and deletes, 'pull' reads; if a " +
			"policy of the bucket demands encryption, add ?sse=AES256 or ?sse=aws:kms to the address"},
	{is: ofStorage(remote.ErrFull), happened: "{storage} is full, or the quota of the bucket is used up ({answered})",
		do: "make room or raise the quota, then run it again"},
	{is: ofStorage(durable.ErrLocked), happened: "Another push keeps changing {object} of {address} ({answered})",
		do: "wait until the other push ends, then run it again"},

	// Causes in the network between this machine and the service or a storage.
	{is: on(func(e *net.OpError) bool { return e.Op == "proxyconnect" }),
		happened: "The proxy on the way to {url} does not answer: {reason}",
		do:       "correct HTTPS_PROXY, or name the host in NO_PROXY if no proxy is needed; then {again}"},
	{is: on[*outbound.ProxyRefusal](nil), happened: "The proxy on the way to {url} refuses the connection " +
		"({status}){page}", do: "if it wants a user and a password (407), write them into HTTPS_PROXY, as " +
		"http://USER:PASSWORD@HOST:PORT; else " + askTheProxy},
	{is: on(func(e *net.DNSError) bool { return !e.IsNotFound }),
		happened: "DNS does not answer for {host}, the host of {url}",
		do:       "repair DNS on this machine, or allow it in the network policy; then run it again"},
	{is: on[*net.DNSError](nil), happened: "{url} names a host that DNS does not know: {host}",
		do: "correct the host in {url}, then {again}"},
	{is: func(f facts) bool {
		return on[tls.RecordHeaderError](nil)(f) || errors.Is(f.way, http.ErrSchemeMismatch)
	}, happened: "{url} begins with https, and its port does not speak TLS",
		do: "correct the port in {url}, then {again}"},
	{is: on[x509.UnknownAuthorityError](nil), happened: notTrusted, do: "let " + config.Prefix + "CA_FILE name a " +
		"file with the certificate of your company's authority, then {again}"},
	{is: on[*tls.CertificateVerificationError](nil), happened: notTrusted,
		do: "correct the host in {url}, then {again}"},
	{is: func(f facts) bool { return errors.Is(f.way, syscall.ECONNREFUSED) },
		happened: "Nothing listens at {url} (connection refused)",
		do:       "check host and port in {url}; if they are right, wait for the {side} and run it again"},
	{is: func(f facts) bool { return f.replyBegan() && errors.Is(f.way, context.DeadlineExceeded) },
		happened: "The reply of the {side} began, and was not complete within " + config.Prefix + "HTTP_TIMEOUT: " +
			"{object}: {reason}",
		do: "raise " + config.Prefix + "HTTP_TIMEOUT if the service is that slow; else wait for it and run it again"},
	{is: facts.replyBegan, happened: "The reply of the {side} began, and was not complete: {object}: {reason}",
		do: "check the proxy; if it is right, wait for the service and run it again"},
	{is: func(f facts) bool {
		late, ok := errors.AsType[net.Error](f.way)
		return errors.Is(f.way, context.DeadlineExceeded) || ok && late.Timeout()
	}, happened: "No reply from {url} in time: {object}",
		do: "check the network policy and the proxy; if they allow it, wait for the service and run it again"},
	{is: func(f facts) bool { return f.way != nil }, happened: "No connection to {url}: {reason}",
		do: "check the network and the proxy; if they are right, wait for the service and run it again"},

	{is: ofStorage(remote.ErrUnavailable), happened: "{storage} keeps failing ({answered}): " +
		"{object}: {reason}", do: "wait for the storage and run it again"},

	// Replies of the service.
	{is: func(f facts) bool { return answers(http.StatusOK)(f) && strings.HasPrefix(f.said, "<") },
		happened: "A page for people answers at {url} in place of the {side}: {page}",
		do: "check that no proxy, gateway or login page answers there; if the service is under maintenance, run it " +
			"again later"},
	{is: replied(extract.ErrUnavailable), happened: "The {side} keeps failing: {object}: {reason}",
		do: "wait for the service and run it again; days stay readable for 32 days (see 'spendsync status'); if it " +
			"is not under maintenance, check that no proxy or login page answers at {url}"},
	{is: func(f facts) bool { return answers(http.StatusForbidden)(f) && strings.HasPrefix(f.said, "<") },
		happened: "A proxy or gateway refused the way to the host of {url} (403): {page}", do: askTheProxy},
	{is: answers(http.StatusUnauthorized), happened: "The {side} refused the {secrets} (401): {variables}{says}",
		do: "correct it, then " + runCheck},
	{is: answers(http.StatusForbidden), happened: "The {side} knows the {secrets} and refuses access (403): " +
		"{variables}{says}",
		do: "give that user or key access to the account at the service, then " + runCheck},
	{is: func(f facts) bool { return answers(http.StatusBadRequest)(f) && f.read.DoubtsURL() },
		happened: "{url} begins with http, and its port speaks TLS", do: "write https in {url}, then " + runCheck},
	{is: replied(extract.ErrNotFound), happened: "The {side} has no {object}: {reason}",
		do: "nothing, if it was deleted while this run read it; " + askWhy},
	{is: func(f facts) bool {
		return answers(http.StatusNotFound, http.StatusGone)(f) && f.read.OthersAnswered()
	}, happened: "The {side} answers {status} to {object}, in another form than its description has for what is not " +
		"there: {reason}", do: askWhy},
	{is: answers(http.StatusNotFound, http.StatusGone), happened: "{url} has no {side} under its path ({status}): " +
		"{object}",
		do: "correct the path of {url}: it is the base URL, without the last part; then " + runCheck},
	{is: func(f facts) bool { return f.read != nil && f.read.Status >= 300 && f.read.Status < 400 },
		happened: "{url} leads elsewhere: {reason}",
		do:       "if that host is the service, set {url} to it; credentials are not sent to other hosts"},
	{is: func(f facts) bool {
		return replied(extract.ErrContract)(f) && strings.Contains(f.read.Reason, config.Prefix)
	}, happened: otherForm, do: "set the variable as it says, then " + runCheck},
	{is: replied(extract.ErrContract), happened: otherForm,
		do: "check that no proxy or login page answers at {url}; otherwise report this message to the maintainers of " +
			"spendsync"},

	// Causes in the store or the volumes of this machine.
	{is: func(f facts) bool {
		return f.damage != nil && (f.damage.Path == "manifest.json" || strings.HasPrefix(f.damage.Path, "manifest/"))
	}, do: "restore the data directory from a backup ('spendsync pull --all URL DIR')"},
	{is: func(f facts) bool { return f.damage != nil && strings.HasPrefix(f.damage.Repair, "spendsync") },
		do: "run '{repair}'"},
	{is: func(f facts) bool { return f.damage != nil }, do: "{repair}"},
	{is: isKind(durable.ErrLocked), do: "wait until the other run ends, then run it again; a lock ends with its " +
		"process"},
	{is: isKind(durable.ErrOlder), do: "run one sync of that commit, which upgrades the store, then this version"},
	{is: isKind(durable.ErrEmpty), do: "run 'spendsync sync', or name another folder in " + config.Prefix +
		"DATA_DIR or --data-dir; 'spendsync init' begins an account, 'spendsync demo' shows one"},
	{is: isKind(durable.ErrTempDir), do: "set TMPDIR to a folder that can be written to; a container with a " +
		"read-only root needs a volume at /tmp"},
	{is: errno("No space left on device", syscall.ENOSPC), happened: "the volume is full: {text}",
		do: "make room on the volume, then run it again"},
	{is: errno("Disk quota exceeded", syscall.EDQUOT), happened: "the quota of the volume is used up: {text}",
		do: "raise the quota, then run it again"},
	{is: errno("Read-only file system", syscall.EROFS), happened: "the volume is read-only: {text}",
		do: "mount it writable, or name another folder{in folder}"},
	{is: errno("Permission denied", syscall.EACCES, syscall.EPERM), happened: "this user may not use the folder: " +
		"{text}", do: "give the user access to it, or name another folder{in folder}"},
	{is: errno("Not a directory", syscall.ENOTDIR), happened: "{folder} is or contains a file, not a folder: {text}",
		safe: unchanged, do: "name a folder{in folder}"},
	{is: errno("File name too long", syscall.ENAMETOOLONG), happened: "the name of {folder} is too long: {text}",
		safe: unchanged, do: "name another folder{in folder}"},
	{is: errno("mkdir ", syscall.ENOENT), happened: "{folder} names a folder that cannot be made: {text}",
		safe: unchanged, do: "create the folder that it is in, or correct {folder}"},
	{is: errno("Input/output error", syscall.EIO), happened: "the volume has an I/O error: {text}",
		do: "repair or replace the volume, then run it again"},

	// Usage and configuration.
	{is: func(f facts) bool {
		return errors.Is(f.err, exit.ErrUsage) && strings.Contains(f.words["text"], config.Prefix)
	}, do: "correct it; 'spendsync help config' describes each variable"},
	{is: isKind(exit.ErrUsage), do: "correct the command; 'spendsync help COMMAND' describes it"},
}

const (
	untouched = "what was published stands, in the bucket and on this machine"
	unchanged = "nothing was changed"
	askWhy    = "if the next run says so again, ask the service why it answers {status}; {url} is right, for other " +
		"requests are answered"
	runCheck    = "run 'spendsync check'"
	otherForm   = "The {side} answered in a form that its description lacks: {object}: {reason}"
	askTheProxy = "ask who runs the proxy to let this machine reach that host, or take it around the proxy by NO_PROXY"
	notTrusted  = "The certificate behind {url} is not trusted: {certificate}"
)

// isKind matches errors of any of the given kinds, whether they come from the service, a bucket or the disk.
func isKind(kinds ...error) func(facts) bool {
	return func(f facts) bool {
		return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(f.err, kind) })
	}
}

// ofStorage matches errors of a kind from a bucket's storage, but not from a folder.
func ofStorage(kind error) func(facts) bool {
	return func(f facts) bool { return f.bucket != nil && f.bucket.Endpoint != "" && errors.Is(f.err, kind) }
}

// hasCode matches errors of S3 with one of the given codes.
func hasCode(codes ...string) func(facts) bool {
	return func(f facts) bool { return f.bucket != nil && slices.Contains(codes, f.bucket.Code) }
}

// unasked matches errors of a kind from a bucket's storage without a status of a reply: no request was sent, or no
// reply came.
func unasked(kind error) func(facts) bool {
	return func(f facts) bool { return ofStorage(kind)(f) && f.bucket.Status == 0 }
}

// replied matches errors of a kind in a read from the service. Failures of the network without a reply have matched an
// earlier cause.
func replied(kind error) func(facts) bool {
	return func(f facts) bool { return f.read != nil && errors.Is(f.err, kind) }
}

// answers matches replies of the service with one of the given statuses.
func answers(statuses ...int) func(facts) bool {
	return func(f facts) bool { return f.read != nil && slices.Contains(statuses, f.read.Status) }
}

// replyBegan reports whether the service answered with a status, and the network failed in the body of the reply.
func (f facts) replyBegan() bool { return f.read != nil && f.read.Status != 0 && f.way != nil }

// errno matches storage errors by their number. Errors of DuckDB have no number and are matched by words in their text.
func errno(words string, numbers ...syscall.Errno) func(facts) bool {
	return func(f facts) bool {
		is := func(n syscall.Errno) bool { return errors.Is(f.err, n) }
		return errors.Is(f.err, durable.ErrStorage) &&
			(slices.ContainsFunc(numbers, is) || strings.Contains(f.words["text"], words))
	}
}

// on matches network errors of the type E that occurred on the way to the service or a storage. The argument, if not
// nil, is a further condition on the error.
func on[E error](is func(E) bool) func(facts) bool {
	return func(f facts) bool {
		e, ok := errors.AsType[E](f.way)
		return ok && (is == nil || is(e))
	}
}

// facts holds the details of an error.
type facts struct {
	err    error
	read   *extract.ReadError // the failed read; nil if no read from the service failed
	bucket *remote.Error      // nil if the error is not from a bucket
	damage *durable.Damage    // nil if no stored file is damaged
	way    error              // the network error; nil if there was none
	said   string             // text of a refusal, or the start of an unexpected reply, which a proxy may have sent
	safe   string             // what is safe; if empty, the text of the exit code says it
	words  map[string]string
}

func factsOf(err error) (f facts) {
	f.err = err
	f.words = map[string]string{"text": sentence(err), "advice": exit.Advice(err),
		"folder": config.Prefix + "DATA_DIR", "in folder": " in " + config.Prefix + "DATA_DIR"}
	f.read, _ = errors.AsType[*extract.ReadError](err)
	f.bucket, _ = errors.AsType[*remote.Error](err)
	if f.damage, _ = errors.AsType[*durable.Damage](err); f.damage != nil {
		f.words["repair"] = f.damage.Repair
	}
	switch {
	case f.read != nil:
		f.ofService()
	case f.bucket != nil:
		f.ofBucket()
	}
	if e, ok := errors.AsType[*outbound.ProxyRefusal](f.way); ok {
		f.words["status"] = strconv.Itoa(e.Status)
		f.words["page"] = strings.TrimSuffix(": "+pageText(string(e.Page)), ": ")
	}
	if e, ok := errors.AsType[*net.DNSError](f.way); ok {
		f.words["host"] = e.Name
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](f.way); ok {
		f.words["certificate"] = fmt.Sprint(e.Err)
	}
	return f
}

// ofService fills in the facts about a failed request to the service.
func (f *facts) ofService() {
	e := f.read
	f.way = e.Cause
	f.said = cmp.Or(quotedAfter(e.Reason, fmt.Sprintf("status %d: ", e.Status)),
		quotedAfter(e.Reason, "the reply begins "))
	maps.Copy(f.words, map[string]string{"side": "report", "url": config.Prefix + "REPORT_URL", "secrets": "user " +
		"or password", "variables": config.Prefix + "REPORT_USER, " + config.Prefix + "REPORT_PASSWORD",
		"again": runCheck, "object": e.What, "reason": e.Reason, "status": strconv.Itoa(e.Status),
		"page": pageText(f.said)})
	if e.Interface == config.API {
		maps.Copy(f.words, map[string]string{"side": "advertiser API", "url": config.Prefix + "ADVERTISER_URL",
			"secrets": "key", "variables": config.Prefix + "API_KEY"})
	}
	if f.said != "" {
		f.words["says"] = fmt.Sprintf("; it says %q", cli.Visible(f.said))
	}
}

// ofBucket fills in the facts about a failed request to a bucket, which may be a folder.
func (f *facts) ofBucket() {
	e := f.bucket
	if f.safe = untouched; e.Endpoint == "" { // the bucket is a folder
		f.words["folder"], f.words["in folder"] = e.Address, ""
		return
	}
	answered := e.Code
	if e.Status != 0 {
		answered = fmt.Sprintf("%d %s", e.Status, cmp.Or(e.Code, http.StatusText(e.Status)))
	} else if errors.Is(f.err, remote.ErrUnavailable) {
		f.way = e.Cause
	}
	maps.Copy(f.words, map[string]string{"storage": "The storage of " + e.Address, "side": "storage",
		"address": e.Address, "answered": answered, "object": e.Object, "reason": e.Reason,
		"url": e.Endpoint, "again": "run it again"})
}

// named matches a placeholder: {name}.
var named = regexp.MustCompile(`\{[a-z ]+\}`)

// fill replaces the placeholders of a text by facts.
func (f *facts) fill(text string) string {
	return named.ReplaceAllStringFunc(text, func(name string) string { return f.words[name[1:len(name)-1]] })
}

// quotedAfter returns the quoted text that follows some words in the reason of an error.
func quotedAfter(reason, words string) string {
	_, text, _ := strings.Cut(reason, words)
	// A text that was cut off ends in an ellipsis instead of a quote. For such a text this returns an error.
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return text
	}
	text, _ = strconv.Unquote(quoted)
	return strings.TrimSpace(text)
}

// markup matches the parts of a page that a browser does not show.
var markup = regexp.MustCompile(`(?is)<(style|script)\b.*?</(style|script)>|<[^>]*>`)

// pageText returns the start of a page's visible text, in one line.
func pageText(page string) string {
	text := []rune(cli.Visible(cli.OneLine(html.UnescapeString(markup.ReplaceAllString(page, " ")))))
	return string(text[:min(len(text), 160)])
}
