package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim"
)

// errUsage reports a mistake in the command line. The message about the mistake was already printed.
var errUsage = errors.New("usage")

// options is the command line.
type options struct {
	addr   string
	now    time.Time
	frozen bool
	config adsim.Config
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	c := &o.config
	f := flag.NewFlagSet("adsim", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { printUsage(f, stderr) }
	f.StringVar(&o.addr, "addr", "127.0.0.1:8080", "address to listen on; port 0 takes a free one")
	o.accountFlags(f)
	limit := f.Int("rate-limit", 120, "API requests a minute; 0 is without limit")
	f.Func("quirk", "a variation of the service, or several, joined by commas; may be given again; they are "+
		"listed below", func(v string) error {
		names := strings.Split(v, ",")
		c.Quirks = append(c.Quirks, names...)
		return adsim.CheckQuirks(names...)
	})
	f.Func("now", "start the clock at this instant (RFC 3339); it then runs on", func(v string) (err error) {
		o.now, err = time.Parse(time.RFC3339, v)
		return err
	})
	f.BoolVar(&o.frozen, "frozen", false, "the clock stands still")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil, err
	case err != nil:
		return nil, errUsage
	case f.NArg() > 0:
		fmt.Fprintf(stderr, "adsim: expected no more arguments, got %q\n", f.Args())
		return nil, errUsage
	}
	if c.RateLimit = *limit; *limit == 0 {
		c.RateLimit = -1
	}
	return o, nil
}

// accountFlags defines the flags for the size and behavior of the account.
func (o *options) accountFlags(f *flag.FlagSet) {
	c := &o.config
	f.Uint64Var(&c.Seed, "seed", 1, "which account")
	f.IntVar(&c.Campaigns, "campaigns", 36, "campaigns listed at the start")
	f.IntVar(&c.CreativesPerCampaign, "creatives", 8, "creatives per campaign, on average")
	f.IntVar(&c.Sources, "sources", 0, "websites (default 4000, more with more rows)")
	f.IntVar(&c.RowsPerDay, "rows-per-day", 2500, "rows of a closed day, about")
	f.BoolVar(&c.FreezeRestatements, "freeze-restatements", false, "closed days do not change by themselves")
	f.Func("prepaid", "dollars that the account begins with, which then pays by wire; by default a card pays",
		func(v string) error {
			n, err := strconv.ParseInt(v, 10, 32)
			if err == nil && n < 1 {
				err = strconv.ErrRange
			}
			c.Prepaid = n * 1_000_000
			return err
		})
}

// printUsage lists the flags and the quirks.
func printUsage(f *flag.FlagSet, stderr io.Writer) {
	fmt.Fprintln(stderr, "usage: adsim [flags]\n\n"+
		"Serves the simulated advertising service and prints the variables that point spendsync at it.")
	f.PrintDefaults()
	fmt.Fprintln(stderr, "\nQuirks, for -quirk, in the order in which they apply. Each is something that the "+
		"description leaves open:")
	for _, q := range adsim.Quirks() {
		on := map[[2]bool]string{{true, true}: "report and API", {true, false}: "report", {false, true}: "API"}
		fmt.Fprintf(stderr, "  %-26s%s (%s)\n", q.Name, q.Doc, on[[2]bool{q.Report, q.API}])
	}
}
