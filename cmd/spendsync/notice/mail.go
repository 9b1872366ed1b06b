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

// sendMail sends one mail, a line for each message, in plain text so that no name is markup. The mail's ID is the ID of
// the first message, so that a receiver recognizes a mail that is sent again after a kill.
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
		// The cause is left out: the server's reply to credentials may repeat them.
		return fmt.Errorf("%s does not take the user and the password over an encrypted connection", r.URL.Hostname())
	}
	if err != nil {
		return err
	}
	err = c.Send(m)
	_ = c.Close() // the mail has already been accepted or refused
	return err
}

// mailClient uses TLS from the start for smtps:// (port 465), and STARTTLS for smtp:// (port 587). Without encryption,
// mail is only sent to this machine.
func mailClient(r config.Receiver) (*mail.Client, error) {
	host := r.URL.Hostname()
	local := outbound.IsLoopback(host)
	// [url.Parse] has checked that a port has only digits.
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
