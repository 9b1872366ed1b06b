package notice

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"

	"spendsync/cmd/internal/config"
	"spendsync/extract/outbound"
)

// sendMail sends all messages as one mail, one line each. The mail is plain text, so that a name cannot contain markup.
// Its ID is made from the first message: if a run is killed and the mail is sent again, the receiver can recognize it.
func sendMail(ctx context.Context, r config.Receiver, account string, all []Message, lines []string) error {
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := errors.Join(m.From(r.From), m.To(r.To)); err != nil {
		return err
	}
	m.Subject(subject(account, all))
	m.SetDateWithValue(all[0].At.UTC())
	m.SetMessageIDWithValue(all[0].ID + "." + all[0].State + "." + account + "@spendsync")
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetBodyString(mail.TypeTextPlain, strings.Join(lines, "\r\n\r\n")+"\r\n")
	c, err := mailClient(r)
	if err != nil {
		return err
	}
	err = c.DialWithContext(ctx)
	var untrusted *tls.CertificateVerificationError
	var unreachable net.Error
	if err != nil && r.URL.User != nil && !errors.As(err, &untrusted) && !errors.As(err, &unreachable) {
		// The error omits the server's reply, which may repeat the user and password.
		return fmt.Errorf("%s does not take the user and the password over an encrypted connection", r.URL.Hostname())
	}
	if err != nil {
		return err
	}
	err = c.Send(m)
	_ = c.Close() // the server has already accepted or refused the mail
	return err
}

// mailClient returns a client that uses TLS from the start for smtps:// (port 465), and STARTTLS for smtp:// (port
// 587). It sends unencrypted mail only to a server on this machine.
func mailClient(r config.Receiver) (*mail.Client, error) {
	host := r.URL.Hostname()
	local := outbound.IsLoopback(host)
	// no error: [url.Parse] accepts only digits as a port
	port, _ := strconv.Atoi(cmp.Or(r.URL.Port(), map[string]string{"smtp": "587", "smtps": "465"}[r.URL.Scheme]))
	policy := mail.TLSMandatory
	if local {
		policy = mail.TLSOpportunistic
	}
	o := []mail.Option{mail.WithPort(port), mail.WithTLSPolicy(policy), mail.WithTLSConfig(&tls.Config{
		ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: outbound.Roots()})}
	if name, err := os.Hostname(); err == nil {
		o = append(o, mail.WithHELO(name))
	}
	if r.URL.Scheme == "smtps" {
		o = append(o, mail.WithSSL())
	}
	if user := r.URL.User; user != nil {
		password, _ := user.Password()
		auth := []mail.SMTPAuthType{mail.SMTPAuthPlain, mail.SMTPAuthLogin}
		if local {
			auth = []mail.SMTPAuthType{mail.SMTPAuthPlainNoEnc, mail.SMTPAuthLoginNoEnc}
		}
		o = append(o, mail.WithOpportunisticSMTPAuth(auth...), mail.WithUsername(user.Username()),
			mail.WithPassword(password))
	}
	return mail.NewClient(host, o...)
}
