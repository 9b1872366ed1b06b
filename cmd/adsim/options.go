package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim"
)

// errUsage is an error in the command line that has already been printed.
var errUsage = errors.New("usage")

// options is the command line.
type options struct {
	addr       string
	now        time.Time
	frozen     bool
	control    bool
	controlSet bool
	urlFile    string
	config     adsim.Config
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("adsim", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { printUsage(f, stderr) }
	o.accountFlags(f)
	o.formFlags(f)
	o.serviceFlags(f)
	o.accessFlags(f)
	accounts := f.Int("accounts", 1,
		"accounts; the second has the user analyst2@example.com, the key adv_sim_key2 and so on")
	limit := f.Int("rate-limit", 120, "API requests a minute; 0 is without limit")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errUsage
	}
	if f.NArg() > 0 {
		fmt.Fprintf(stderr, "adsim: unexpected argument %q\n", f.Arg(0))
		return nil, errUsage
	}
	if *accounts < 1 || *accounts > 50 {
		fmt.Fprintln(stderr, "adsim: -accounts is 1 to 50")
		return nil, errUsage
	}
	c := &o.config
	c.Accounts = make([]adsim.Config, *accounts-1)
	for i := range c.Accounts { // as large as the first
		c.Accounts[i] = adsim.Config{
			Campaigns: c.Campaigns, CreativesPerCampaign: c.CreativesPerCampaign, RowsPerDay: c.RowsPerDay,
			Sources: c.Sources,
		}
	}
	f.Visit(func(set *flag.Flag) { o.controlSet = o.controlSet || set.Name == "control" })
	if c.RateLimit = *limit; *limit == 0 {
		c.RateLimit = -1
	}
	return o, nil
}

// accountFlags define how large the account is and how it behaves over time.
func (o *options) accountFlags(f *flag.FlagSet) {
	c := &o.config
	f.Uint64Var(&c.Seed, "seed", 1, "which account")
	f.IntVar(&c.Campaigns, "campaigns", 36, "campaigns listed at the start")
	f.IntVar(&c.CreativesPerCampaign, "creatives", 8, "creatives per campaign, on average")
	f.IntVar(&c.Sources, "sources", 0, "websites (default 4000, more with more rows)")
	f.IntVar(&c.RowsPerDay, "rows-per-day", 2500, "rows of a closed day, about")
	f.DurationVar(&c.ReviewTakes, "review", 0, "how long a review takes; by default up to a day, if negative until "+
		"it is ordered")
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

// accessFlags define the permissions of the first account.
func (o *options) accessFlags(f *flag.FlagSet) {
	c := &o.config
	f.Func("report-access", "whether the report answers: granted, or 403 as unconfirmed or no-advertiser",
		func(v string) (err error) {
			c.ReportAccess, err = adsim.ParseReportAccess(v)
			return err
		})
	f.Func("budget", "changes of a kind that a day may have: campaign_create=5", func(v string) error {
		kind, count, _ := strings.Cut(v, "=")
		n, err := strconv.Atoi(count)
		if err != nil {
			return err
		}
		if c.ChangeBudgets == nil {
			c.ChangeBudgets = map[string]int{}
		}
		c.ChangeBudgets[kind] = n
		return adsim.CheckBudget(kind, n)
	})
	f.Func("website", "a website of the account, in the place of the usual two", func(v string) error {
		c.Websites = append(c.Websites, v)
		return nil
	})
}

// formFlags define the form of the replies.
func (o *options) formFlags(f *flag.FlagSet) {
	c := &o.config
	f.Func("quirk", "a variation of the service, or several, joined by commas; may be given again; they are "+
		"listed below", func(v string) error {
		names := strings.Split(v, ",")
		c.Quirks = append(c.Quirks, names...)
		return adsim.CheckQuirks(names...)
	})
}

// serviceFlags define the server, its clock, its state and its credentials.
func (o *options) serviceFlags(f *flag.FlagSet) {
	c := &o.config
	f.StringVar(&o.addr, "addr", "127.0.0.1:8080", "address to listen on; port 0 takes a free one")
	f.StringVar(&o.urlFile, "url-file", "", "write the API's and the report's base URL to this file, a line each, "+
		"once listening")
	f.BoolVar(&o.control, "control", true, "take orders under /_sim/ without credentials (default: only on a "+
		"loopback address)")
	f.Func("now", "start the clock at this instant (RFC 3339); it then runs on", func(v string) error {
		t, err := time.Parse(time.RFC3339, v)
		o.now = t
		return err
	})
	f.BoolVar(&o.frozen, "frozen", false, "the clock stands still")
	f.StringVar(&c.ReportUser, "user", adsim.DefaultUser, "user of the report")
	f.StringVar(&c.ReportPassword, "password", adsim.DefaultPassword, "password of the report")
	f.StringVar(&c.APIKey, "key", adsim.DefaultKey, "API key that can only read")
	f.StringVar(&c.WriteKey, "write-key", adsim.DefaultWriteKey, "API key that can make changes")
	f.StringVar(&c.PushToken, "push-token", adsim.DefaultPushToken, "token of the push sending APIs")
}

// printUsage lists the flags and the quirks.
func printUsage(f *flag.FlagSet, stderr io.Writer) {
	fmt.Fprintln(stderr, "usage: adsim [flags]\n\n"+
		"Serves the simulated advertising service and prints the variables that point spendsync at it.")
	f.PrintDefaults()
	fmt.Fprintln(stderr, "\nQuirks, for -quirk, in the order in which they apply. Each is something that the "+
		"description leaves open:")
	for _, q := range adsim.Quirks() {
		on := "report and API"
		if !q.API {
			on = "report"
		} else if !q.Report {
			on = "API"
		}
		fmt.Fprintf(stderr, "  %-26s%s (%s)\n", q.Name, q.Doc, on)
	}
}

// decideControl lets anybody give orders only where anybody is on this machine,
// unless it was asked for.
func (o *options) decideControl(addr net.Addr) {
	tcp, ok := addr.(*net.TCPAddr)
	loopback := ok && tcp.IP.IsLoopback()
	o.config.Control = o.control && (loopback || o.controlSet)
}

// quote makes a text a single word of a POSIX shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("@%_+=:,./-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
