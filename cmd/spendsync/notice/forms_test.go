package notice

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"spendsync/cmd/internal/config"
	"spendsync/extract/outbound"
)

// hostile is a name that some receivers would interpret as markup, and others as a mention.
const hostile = "<!channel> @everyone **b** _i_ `c` [x](https://evil.test) <b>&amp; \u202e # h"

var told = []Message{{ID: "runway-0102", State: Begins, Finding: Finding{Kind: "runway", Happened: "the money of “" +
	hostile + "” lasts 2.1 more days", Do: "add money"}, Generation: 7,
	At: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)},
	{ID: "loses-0304", State: Over, Finding: Finding{Kind: "loses", Place: "C1", Happened: "it loses", Do: "look"}}}

// received simulates a receiver of JSON on loopback, and keeps the requests.
type received struct {
	mu     sync.Mutex
	paths  []string
	bodies []map[string]any
}

func (r *received) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, _ := io.ReadAll(req.Body)
	body := map[string]any{}
	if req.Method != http.MethodPost || !strings.HasPrefix(req.Header.Get("Content-Type"), "application/json") ||
		json.Unmarshal(b, &body) != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
	r.paths, r.bodies = append(r.paths, req.URL.RequestURI()), append(r.bodies, body)
}

// receiversOf reads NOTIFY_URL as a run does.
func receiversOf(t *testing.T, raw string) []config.Receiver {
	t.Helper()
	c, err := config.Read(t.Context(), []string{"SPENDSYNC_NOTIFY_URL=" + raw})
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Receivers()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sendTo sends the messages to a simulated receiver of the given kind, and returns that receiver.
func sendTo(t *testing.T, prefix, path string) *received {
	t.Helper()
	r := &received{}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	address := prefix + strings.TrimPrefix(s.URL, "http://") + path
	for _, to := range receiversOf(t, address) {
		if err := Post(t.Context(), to, "acme", told); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// TestForm_Slack: an incoming webhook takes text, in which &, < and > are escaped; mrkdwn is off, so that
// nothing else is markup.
func TestForm_Slack(t *testing.T) {
	r := sendTo(t, "slack+http://", "/services/T0/B0/cAn4ry")
	text, _ := r.bodies[0]["text"].(string)
	if r.paths[0] != "/services/T0/B0/cAn4ry" || r.bodies[0]["mrkdwn"] != false || strings.ContainsAny(text, "<>") ||
		!strings.Contains(text, "&lt;!channel&gt;") || !strings.Contains(text, "&amp;amp;") {
		t.Errorf("%q %v", r.paths, r.bodies)
	}
	wantBoth(t, text)
}

// TestForm_Inert: chats find no link, mention, command or tag in a name.
func TestForm_Inert(t *testing.T) {
	name := "see evil.example.com/x http://evil.test @everyone #tag /start $906.10 at 04:00"
	for _, form := range []string{"slack", "telegram"} {
		got := sentence(form, "acme", Message{ID: "break-1", State: Begins, Finding: Finding{Happened: name,
			Do: "spendsync query mart.breaks"}})
		for _, never := range []string{"evil.example", "://", "@e", "#t", "/start"} {
			if strings.Contains(got, never) {
				t.Errorf("%s: %q has %q", form, got, never)
			}
		}
		for _, same := range []string{"$906.10", "04:00", "mart.breaks"} {
			if !strings.Contains(got, same) {
				t.Errorf("%s: %q lacks %q", form, got, same)
			}
		}
	}
	got := sentence("mail", "acme", Message{State: Over, Finding: Finding{Happened: name}})
	if !strings.Contains(got, name) {
		t.Errorf("mail: %q", got)
	}
}

// TestForm_Telegram: sendMessage is called for each chat, without parse_mode. Each chat counts as a separate receiver.
func TestForm_Telegram(t *testing.T) {
	r := &received{}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	to := receiversOf(t, "telegram+http://123:cAn4ry@"+strings.TrimPrefix(s.URL, "http://")+"/?chats=-100,@ops")
	for _, chat := range to {
		if err := Post(t.Context(), chat, "acme", told); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.bodies) != 2 || to[0].Name != "1 telegram" || to[1].Name != "2 telegram" ||
		r.paths[0] != "/bot123:cAn4ry/sendMessage" || r.bodies[0]["chat_id"] != "-100" ||
		r.bodies[1]["chat_id"] != "@ops" || r.bodies[0]["parse_mode"] != nil {
		t.Fatalf("%q %v", r.paths, r.bodies)
	}
	wantBoth(t, r.bodies[0]["text"].(string))
	if u := receiversOf(t, "telegram://1:x@telegram?chats=5")[0].URL; u.String() !=
		"https://api.telegram.org/bot1:x/sendMessage" {
		t.Error("another address than that of Telegram")
	}
}

// TestForm_JSON: the JSON has every message with its ID, state and parts.
func TestForm_JSON(t *testing.T) {
	r := sendTo(t, "http://", "/hook?token=cAn4ry")
	notices, _ := r.bodies[0]["notices"].([]any)
	if r.bodies[0]["account"] != "acme" || len(notices) != 2 {
		t.Fatalf("%v", r.bodies)
	}
	first, _ := notices[0].(map[string]any)
	if first["id"] != "runway-0102" || first["state"] != "begins" || first["kind"] != "runway" ||
		first["generation"] != 7.0 || first["at"] != "2026-06-01T12:00:00Z" || first["do"] != "add money" {
		t.Errorf("%v", first)
	}
}

// TestForm_Mail: each mailbox gets a plain-text mail over SMTP. The client logs in with user and password and greets
// with this host's name. If a server only offers LOGIN, LOGIN is used. If a mailbox is refused, the other mailboxes
// still get their mail.
func TestForm_Mail(t *testing.T) {
	for offers, auth := range map[string]string{"PLAIN": "AUTH PLAIN", "LOGIN": "AUTH LOGIN"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		got := make(chan []string, 2)
		go func() {
			for range 2 {
				got <- smtpSession(l, offers)
			}
		}()
		to := receiversOf(t, fmt.Sprintf("smtp://ann:cAn4ry@%s/?from=sync@example.com&"+
			"to=full@example.com,b@example.com", l.Addr()))
		if err := Post(t.Context(), to[0], "acme", told); err == nil || strings.Contains(err.Error(), "cAn4ry") {
			t.Errorf("a mailbox that is refused: %v", err)
		}
		<-got
		if err := Post(t.Context(), to[1], "acme", told); err != nil {
			t.Fatal(err)
		}
		session := strings.Join(<-got, "\n")
		head, text, _ := strings.Cut(session, "\nDATA\n")
		host, _ := os.Hostname()
		for _, want := range []string{"EHLO " + host, auth, "MAIL FROM:<sync@example.com>", "RCPT TO:<b@example.com>"} {
			if !strings.Contains(head, want) {
				t.Errorf("no %q in %s", want, head)
			}
		}
		m, err := mail.ReadMessage(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		kind, _, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
		plain, readErr := io.ReadAll(quotedprintable.NewReader(m.Body))
		if err != nil || readErr != nil || kind != "text/plain" ||
			m.Header.Get("Subject") != "spendsync acme: 2 notices" ||
			m.Header.Get("Message-Id") != "<runway-0102.begins.acme@spendsync>" {
			t.Errorf("%v %v %v", m.Header, err, readErr)
		}
		wantBoth(t, string(plain))
	}
}

// TestForm_MailTrustsTheCAFile: a server whose certificate comes from a company's own authority is refused, unless
// CA_FILE names that authority.
func TestForm_MailTrustsTheCAFile(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: s.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for range 2 {
			smtpSession(l, "PLAIN")
		}
	}()
	to := receiversOf(t, fmt.Sprintf("smtps://ann:cAn4ry@%s/?from=a@example.com&to=b@example.com", l.Addr()))[0]
	var refused *tls.CertificateVerificationError
	if err := Post(t.Context(), to, "acme", told); !errors.As(err, &refused) {
		t.Errorf("an unknown authority: %v", err)
	}
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := outbound.Trust(own); err != nil {
		t.Fatal(err)
	}
	if err := Post(t.Context(), to, "acme", told); err != nil {
		t.Error(err)
	}
}

// smtpSession accepts one mail, and returns the lines of the client. The mailbox full@example.com is refused.
func smtpSession(l net.Listener, auth string) (lines []string) {
	conn, err := l.Accept()
	if err != nil {
		return nil
	}
	defer conn.Close()
	fmt.Fprint(conn, "220 stand-in\r\n")
	inData, asked := false, 0
	for in := bufio.NewScanner(conn); in.Scan(); {
		line := in.Text()
		lines = append(lines, line)
		switch {
		case inData && line == ".":
			inData = false
			fmt.Fprint(conn, "250 accepted\r\n")
		case inData:
		case strings.HasPrefix(line, "EHLO"):
			fmt.Fprintf(conn, "250-stand-in\r\n250 AUTH %s\r\n", auth)
		case strings.HasPrefix(line, "AUTH LOGIN"), asked == 1:
			asked++
			fmt.Fprint(conn, "334 VXNlcm5hbWU6\r\n")
		case strings.HasPrefix(line, "AUTH"), asked == 2:
			asked = 0
			fmt.Fprint(conn, "235 welcome\r\n")
		case strings.HasPrefix(line, "RCPT TO:<full@"):
			fmt.Fprint(conn, "552 mailbox full\r\n")
		case line == "DATA":
			inData = true
			fmt.Fprint(conn, "354 go on\r\n")
		case line == "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return lines
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
	return lines
}

// wantBoth checks that a text shows both messages with their IDs, and contains no character that reverses the direction
// of writing.
func wantBoth(t *testing.T, text string) {
	t.Helper()
	for _, want := range []string{"acme: the money of ", "lasts 2.1 more days; add money [runway-0102]",
		"acme: over: it loses [loses-0304]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if strings.Contains(text, "\u202e") {
		t.Errorf("a name turns the text around: %q", text)
	}
}

// TestFits_HoldsTheLimits: no request is longer than its receiver accepts, and long names are cut.
func TestFits_HoldsTheLimits(t *testing.T) {
	var all []Message
	for i := range 100 {
		all = append(all, Message{ID: fmt.Sprint("break-", i), State: Begins,
			Finding: Finding{Happened: strings.Repeat("_", 50*(i%9)), Do: "x"}})
	}
	all[3].Happened = strings.Repeat("_", 5000)
	for form, limit := range map[string]int{"telegram": 4096, "slack": 2000, "json": 100_000} {
		sent := 0
		for rest := all; len(rest) > 0; {
			n := fits(form, "acme", rest)
			var lines []string
			for _, m := range rest[:n] {
				lines = append(lines, sentence(form, "acme", m))
			}
			if size := utf8.RuneCountInString(strings.Join(lines, "\n")); size > limit {
				t.Errorf("%s: %d characters", form, size)
			}
			rest, sent = rest[n:], sent+n
		}
		if sent != len(all) {
			t.Errorf("%s: %d sent", form, sent)
		}
	}
}

// TestReceivers_ShowNoSecret: errors about an address do not show the address, neither when it is parsed nor when a
// request to it fails.
func TestReceivers_ShowNoSecret(t *testing.T) {
	for _, raw := range []string{"https://[cAn4ry", "ftp://host/cAn4ry", "telegram://cAn4ry@telegram",
		"smtp://ann:cAn4ry@host", "http://cAn4ry.example.com/cAn4ry", "slack+ftp://x/cAn4ry", "cAn4ry"} {
		_, err := config.Read(t.Context(), []string{"SPENDSYNC_NOTIFY_URL=https://a.test/1 " + raw})
		if err == nil || strings.Contains(strings.ReplaceAll(err.Error(), "cAn4ry.example.com", ""), "cAn4ry") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	host := strings.TrimPrefix(s.URL, "http://")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			fmt.Fprint(conn, "220 x\r\n250-x\r\n250 AUTH PLAIN\r\n535 no cAn4ry\r\n")
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close() })
	for _, to := range receiversOf(t, "slack+http://"+host+"/cAn4ry,http://"+host+
		"/?x=cAn4ry telegram+http://1:cAn4ry@"+host+"/?chats=1,2 "+
		"smtp://ann:cAn4ry@"+l.Addr().String()+"?from=a@b.test&to=c@d.test") {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := Post(ctx, to, "acme", told)
		cancel()
		if err == nil || strings.Contains(err.Error(), "cAn4ry") {
			t.Errorf("%s: %v", to.Name, err)
		}
	}
}

// TestReceivers_AreSeparated: addresses are separated by white space and commas; a comma within an address does not
// separate.
func TestReceivers_AreSeparated(t *testing.T) {
	all := receiversOf(t, "https://hooks.slack.com/services/a, slack+https://discord.com/api/webhooks/1/a/slack,"+
		"https://prod-1.example.com/workflows/a?x=1,2\tsmtps://u:p@mail.test?from=a@b.c&to=d@e.f,g@h.i "+
		"https://example.com/a")
	var names []string
	for _, r := range all {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, ", "); got != "1 slack, 2 slack, 3 json, 4 mail, 5 mail, 6 json" ||
		all[4].To != "g@h.i" || all[2].URL.RawQuery != "x=1,2" {
		t.Errorf("%s: %+v", got, all)
	}
	if (all[0].URL.Host != "hooks.slack.com") || all[5].URL.String() != "https://example.com/a" {
		t.Error(all)
	}
}
