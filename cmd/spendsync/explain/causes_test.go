package explain

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/extract/outbound"
	"spendsync/load/durable"
)

func read(status int, kind, cause error) error {
	return fmt.Errorf("a step: %w", &extract.ReadError{What: "spend 2026-11-20 page 1", Reason: "the reason",
		Status: status, Err: kind, Cause: cause, Interface: config.Report})
}

// TestError_NamesTheCauseBeforeAllElse: the text about what happened begins with the cause, and the advice belongs to
// that cause. Causes that TestFailures tests with a command are not repeated here.
func TestError_NamesTheCauseBeforeAllElse(t *testing.T) {
	down := extract.ErrUnavailable
	for _, c := range []struct {
		err       error
		happened  string
		do        string
		otherwise string // advice that would be wrong
	}{
		{read(0, down, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
			"The certificate behind SPENDSYNC_REPORT_URL is not trusted: x509: certificate signed by unknown authority",
			"SPENDSYNC_CA_FILE", "correct the host"},
		{read(0, down, &tls.CertificateVerificationError{Err: errors.New("not valid for that host")}),
			"The certificate behind SPENDSYNC_REPORT_URL is not trusted: not valid for that host",
			"correct the host in SPENDSYNC_REPORT_URL", "CA_FILE"},
		{read(0, down, &net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}),
			"The proxy on the way to SPENDSYNC_REPORT_URL does not answer", "correct HTTPS_PROXY", "check host"},
		{read(0, down, &outbound.ProxyRefusal{Status: 407}),
			"The proxy on the way to SPENDSYNC_REPORT_URL refuses the connection (407)", "into HTTPS_PROXY", "wait"},
		{read(0, down, &outbound.ProxyRefusal{Status: 403, Page: []byte("<h1>Blocked</h1>")}),
			"The proxy on the way to SPENDSYNC_REPORT_URL refuses the connection (403): Blocked", "NO_PROXY",
			"wait"},
		{&extract.ReadError{Status: 403, Err: extract.ErrAuth, Interface: config.API, Reason: "status 403: " +
			strconv.Quote("<html><style>b{}</style><h1>Access denied</h1>\n<p>ZScaler &amp; Co</p></html>")},
			"A proxy or gateway refused the way to the host of SPENDSYNC_ADVERTISER_URL (403): Access denied " +
				"ZScaler & Co",
			"NO_PROXY", "account"},
		{&extract.ReadError{Status: 401, Err: extract.ErrAuth, Interface: config.API,
			Reason: "status 401: API key has expired"},
			"The advertiser API refused the key (401): SPENDSYNC_API_KEY; it says \"API key has expired\"",
			"correct it", "wait"},
		{fmt.Errorf("IO Error: Cannot open file: Permission denied: %w", durable.ErrStorage),
			"this user may not use the folder", "give the user access", "make room"},
		{fmt.Errorf("duckdb: COMMIT: No space left on device: %w", durable.ErrStorage),
			"the volume is full", "make room", "repair"},
		{read(0, down, context.DeadlineExceeded), "No reply from SPENDSYNC_REPORT_URL in time", "network policy",
			"maintainers"},
		{read(200, down, context.DeadlineExceeded),
			"The reply of the report began, and was not complete within SPENDSYNC_HTTP_TIMEOUT: spend",
			"raise SPENDSYNC_HTTP_TIMEOUT", "network policy"},
		{read(200, down, io.ErrUnexpectedEOF), "The reply of the report began, and was not complete: spend",
			"the proxy", "HTTP_TIMEOUT"},
		{read(0, down, errors.New("odd")), "No connection to SPENDSYNC_REPORT_URL: the reason", "check the network",
			"maintainers"},
		{read(404, extract.ErrNotFound, nil), "The report has no spend 2026-11-20 page 1: the reason",
			"deleted while this run read it", "correct the path"},
		{read(302, extract.ErrContract, nil), "SPENDSYNC_REPORT_URL leads elsewhere: the reason",
			"set SPENDSYNC_REPORT_URL to it", "maintainers"},
		{read(200, extract.ErrContract, nil), "The report answered in a form that its description lacks",
			"maintainers", "correct the path"},
		{durable.Storage(fmt.Errorf("write x: %w", syscall.ENOSPC)), "the volume is full: write x", "make room",
			"repair"},
		{durable.Storage(fmt.Errorf("write x: %w", syscall.EROFS)), "the volume is read-only", "mount it writable",
			"make room"},
		{fmt.Errorf("%w: %w", durable.ErrTempDir, durable.Storage(fmt.Errorf("mkdir x: %w", syscall.EROFS))),
			"the folder for temporary files cannot be written to: mkdir x", "TMPDIR", "DATA_DIR"},
		{durable.Storage(fmt.Errorf("open x: %w", syscall.EACCES)), "this user may not use the folder", "access",
			"make room"},
		{durable.Storage(fmt.Errorf("read x: %w", syscall.EIO)), "the volume has an I/O error", "repair or replace",
			"make room"},
		{fmt.Errorf("store: %w", durable.ErrLocked), "store: another run holds the lock",
			"wait until the other run ends", "verify"},
		{durable.Damaged("parquet/a", durable.RepairReplay, "cut"), "parquet/a: cut", "run 'spendsync repair replay'",
			"verify"},
		{fmt.Errorf("two: %w", exit.ErrOtherAccount), "two: the key acts on another account", "SPENDSYNC_API_KEY",
			"verify"},
		{exit.Advise(exit.Usagef("odd"), "do %d", 7), "odd", "do 7", "help"},
	} {
		m := Error(c.err, exit.Of(c.err))
		if !strings.HasPrefix(m.Happened, c.happened) {
			t.Errorf("happened %q, want %q", m.Happened, c.happened)
		}
		if !strings.Contains(m.Do, c.do) || strings.Contains(m.Do, c.otherwise) {
			t.Errorf("%s: do %q, want %q and not %q", c.happened, m.Do, c.do, c.otherwise)
		}
		if m.Safe == "" {
			t.Errorf("%s: nothing about what is safe", c.happened)
		}
	}
}

// TestText_FitsTheTerminal tests three widths: no word is cut, and no line is longer than the width unless a single
// word is longer.
func TestText_FitsTheTerminal(t *testing.T) {
	m := Error(read(404, extract.ErrContract, nil), exit.Contract)
	for _, width := range []int{80, 100, 160} {
		text := m.Text(exit.Contract, width)
		for line := range strings.Lines(text) {
			if n := len(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %q", n, width, line)
			}
		}
		if strings.Contains(text, "detail:") || strings.Join(strings.Fields(text), " ") !=
			"spendsync: "+m.Happened+" safe: "+m.Safe+" do: "+m.Do+" (exit 6)" {
			t.Errorf("%d columns: %q", width, text)
		}
	}
	if text := m.Text(exit.Contract, 0); strings.Count(text, "\n") != 4 ||
		!strings.Contains(text, "  detail: a step: ") {
		t.Errorf("without a terminal: %q", text)
	}
}
