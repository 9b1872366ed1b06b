// Adsim serves the simulated advertising service on its own, for trying spendsync
// out and for tests across processes.
//
// It listens on -addr and then prints the lines that point spendsync at it, ready
// to paste into a shell. The package documentation of spendsync/extract/adsim describes
// the service and its switches; "adsim -h" lists the flags.
//
// It stops on SIGINT and SIGTERM, and gives requests in flight two seconds.
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
	"spendsync/extract/adsim/tools"
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
	o.decideControl(listener.Addr())
	service := adsim.New(o.config, tools.New)
	o.setClock(service)
	base := "http://" + reachable(listener.Addr())
	if err := announce(stdout, o, base); err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintf(stderr, "adsim: listening on %s; stop with Ctrl-C\n%s", base, examples(o, service, base))
	return serve(ctx, service, listener)
}

// setClock sets the clock to the command line's time, if it has one.
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
		// No WriteTimeout: a fault may stall for as long as the client bears it.
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
		// A stalled reply never ends by itself.
		return server.Close()
	}
	return nil
}

// reachable is where a client on this machine finds the listener.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}

// announce prints where the service is: lines for a shell on stdout, and the two
// base URLs in the file that scripts wait for.
func announce(stdout io.Writer, o *options, base string) error {
	report, api := base+adsim.ReportPrefix, base+adsim.APIPrefix
	for _, v := range [][2]string{
		{"SPENDSYNC_ADVERTISER_URL", api},
		{"SPENDSYNC_API_KEY", o.config.APIKey},
		{"SPENDSYNC_REPORT_URL", report},
		{"SPENDSYNC_REPORT_USER", o.config.ReportUser},
		{"SPENDSYNC_REPORT_PASSWORD", o.config.ReportPassword},
	} {
		if _, err := fmt.Fprintf(stdout, "export %s=%s\n", v[0], quote(v[1])); err != nil {
			return err
		}
	}
	if o.urlFile == "" {
		return nil
	}
	// Whoever waits for the file must not read half of it.
	tmp := o.urlFile + ".new"
	if err := os.WriteFile(tmp, []byte(api+"\n"+report+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, o.urlFile)
}

// examples are a request of each API family, and the entry of a client of MCP, to copy.
func examples(o *options, service *adsim.Service, base string) string {
	psid := "PSID"
	if list := service.Subscribers(); len(list) > 0 {
		psid = list[0].PSID
	}
	return fmt.Sprintf(`
curl -H %s %s/v1/campaigns
curl -u %s '%s/ads/spend-report?start_date=%[5]s&end_date=%[5]s'
curl -H %s -F psid=%s -F title=Hello -F message=World -F link=https://shop.example/ %s/api/push/v2/transactional/hello
{"mcpServers":{"advertiser":{"type":"http","url":"%s/mcp","headers":{"Authorization":"Bearer %s"}}}}

`, quote("Authorization: Bearer "+o.config.APIKey), base+adsim.APIPrefix,
		quote(o.config.ReportUser+":"+o.config.ReportPassword), base+adsim.ReportPrefix, service.Today(),
		quote("authorization: "+o.config.PushToken), psid, base+adsim.PushPrefix, base+adsim.APIPrefix,
		o.config.WriteKey)
}
