// Adsim runs the simulated advertising service as a process of its own, for trying spendsync out and for tests that
// start several processes.
//
// It listens on the address of the flag -addr. Then it prints the shell commands that set spendsync's variables to this
// service. The package documentation of spendsync/extract/adsim describes the simulated service; "adsim -h" lists the
// flags.
//
// On SIGINT or SIGTERM it stops, after at most two seconds for the requests in flight.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"spendsync/extract/adsim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "adsim:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	o.config.Control = isLoopback(listener.Addr()) // local only: the commands under /_sim/ need no credentials
	service := adsim.New(o.config)
	o.setClock(service)
	base := "http://" + reachable(listener.Addr())
	announce(stdout, base)
	fmt.Fprintf(stderr, "adsim: listening on %s; stop with Ctrl-C\n%s", base, examples(service, base))
	return serve(ctx, service, listener)
}

// setClock sets the clock to the time on the command line, if there is one.
func (o *options) setClock(service *adsim.Service) {
	from := o.now
	if from.IsZero() {
		from = service.Now()
	}
	switch {
	case o.frozen:
		service.SetNow(from)
	case !o.now.IsZero():
		service.RunFrom(from)
	}
}

// serve serves until ctx ends.
func serve(ctx context.Context, service http.Handler, listener net.Listener) error {
	server := &http.Server{
		Handler:           service,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		// WriteTimeout stays unset: a simulated fault may delay a reply for as long as the client waits.
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		// Some requests are still open after two seconds, for example those delayed by a simulated fault. Close cuts
		// them off.
		return server.Close()
	}
	return nil
}

// isLoopback reports whether only this machine can reach the address.
func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// reachable returns the address at which clients on this machine reach the listener.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}

// announce prints the addresses and credentials of the service, as lines to paste into a shell.
func announce(stdout io.Writer, base string) {
	fmt.Fprintf(stdout, "export SPENDSYNC_ADVERTISER_URL=%s\nexport SPENDSYNC_API_KEY=%s\n"+
		"export SPENDSYNC_REPORT_URL=%s\nexport SPENDSYNC_REPORT_USER=%s\nexport SPENDSYNC_REPORT_PASSWORD=%s\n",
		base+adsim.APIPrefix, adsim.DefaultKey, base+adsim.ReportPrefix, adsim.DefaultUser, adsim.DefaultPassword)
}

// examples returns two curl commands for the user to paste: one for the advertiser API, one for the report.
func examples(service *adsim.Service, base string) string {
	return fmt.Sprintf(`
Ask it for the campaigns, and for the spend of today:
curl -H 'Authorization: Bearer %s' %s/v1/campaigns
curl -u '%s:%s' '%s/ads/spend-report?start_date=%[6]s&end_date=%[6]s'

Some names of campaigns are odd on purpose (quotes, markup, SQL, other scripts), to try what reads them.
`, adsim.DefaultKey, base+adsim.APIPrefix, adsim.DefaultUser, adsim.DefaultPassword, base+adsim.ReportPrefix,
		service.Today())
}
