package notice

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"mime/quotedprintable"
	"net"
	"net/smtp"
	"strings"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/extract/outbound"
)

// sendMail sends one mail with a line for each message. The Message-ID is that of the first message, so that receivers
// recognize a mail that is sent again after a kill.
func sendMail(ctx context.Context, r config.Receiver, account string, all []Message, lines []string) error {
	return submit(ctx, r, mailText(r, account, all, lines))
}

// submit hands one mail over. smtps:// uses TLS from the start (port 465), smtp:// upgrades
// with STARTTLS (port 587); without either, a password is sent to this machine only.
func submit(ctx context.Context, r config.Receiver, text []byte) (err error) {
	host, secure := r.URL.Hostname(), &tls.Config{ServerName: r.URL.Hostname(), MinVersion: tls.VersionTLS12}
	port := r.URL.Port()
	if port == "" {
		port = map[string]string{"smtp": "587", "smtps": "465"}[r.URL.Scheme]
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ignoreClosed(conn.Close())) }()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if r.URL.Scheme == "smtps" {
		conn = tls.Client(conn, secure)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	if ok, _ := c.Extension("STARTTLS"); ok && r.URL.Scheme == "smtp" {
		if err := c.StartTLS(secure); err != nil {
			return err
		}
	}
	if _, encrypted := c.TLSConnectionState(); !encrypted && !outbound.IsLoopback(host) {
		return fmt.Errorf("%s offers no STARTTLS: %w", host, outbound.ErrRefused)
	}
	if user := r.URL.User; user != nil {
		password, _ := user.Password()
		// Its errors are the server's reply to the credentials, which may repeat them.
		if err := c.Auth(smtp.PlainAuth("", user.Username(), password, host)); err != nil {
			return fmt.Errorf("%s refuses the user or the password", host)
		}
	}
	if err := c.Mail(r.From); err != nil {
		return err
	}
	for _, to := range r.To {
		if err := c.Rcpt(to); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // the mail has been accepted
	return nil
}

// mailText is the mail: plain text, so that nothing in a name is markup.
func mailText(r config.Receiver, account string, all []Message, lines []string) []byte {
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", "<" + r.From + ">"}, {"To", "<" + strings.Join(r.To, ">, <") + ">"},
		{"Subject", subject(account, all)}, {"Date", all[0].At.UTC().Format("Mon, 02 Jan 2006 15:04:05 +0000")},
		{"Message-ID", "<" + all[0].ID + "." + all[0].State + "." + account + "@spendsync>"},
		{"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"}, {"Auto-Submitted", "auto-generated"},
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n")
	q := quotedprintable.NewWriter(&b)
	_, _ = q.Write([]byte(strings.Join(lines, "\r\n\r\n") + "\r\n"))
	_ = q.Close() // neither fails: it writes into memory
	return b.Bytes()
}

// sheetText is the mail with the sheet of A4 of a day as a file: mail programs do not draw its page.
func sheetText(r config.Receiver, account, day string, at time.Time, html []byte) []byte {
	const boundary = "=_spendsync_sheet"
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", "<" + r.From + ">"}, {"To", "<" + strings.Join(r.To, ">, <") + ">"},
		{"Subject", "spendsync " + account + ": the week to " + day}, {"Date",
			at.UTC().Format("Mon, 02 Jan 2006 15:04:05 +0000")},
		{"Message-ID", "<sheet." + day + "." + account + "@spendsync>"}, {"MIME-Version", "1.0"},
		{"Content-Type", `multipart/mixed; boundary="` + boundary + `"`}, {"Auto-Submitted", "auto-generated"},
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n--" + boundary + "\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nThe sheet of " + account +
		" is attached: spend, profit, what to do first, what changed, and the campaigns.\r\n--" + boundary +
		"\r\nContent-Type: text/html; charset=utf-8\r\nContent-Disposition: attachment; filename=\"" + account + "-" +
		day +
		".html\"\r\nContent-Transfer-Encoding: base64\r\n\r\n")
	for encoded := base64.StdEncoding.EncodeToString(html); encoded != ""; {
		n := min(76, len(encoded))
		b.WriteString(encoded[:n] + "\r\n")
		encoded = encoded[n:]
	}
	b.WriteString("--" + boundary + "--\r\n")
	return b.Bytes()
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
