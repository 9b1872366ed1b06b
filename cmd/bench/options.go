package main

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// options is the command line.
type options struct {
	rows      sizes // of the report
	campaigns sizes // of the account whose settings are read
	history   int
	month     int // rows a day
	hours     int // of the month
	creatives int
	shape     string // few or many
	runs      int
	waits     bool
	lake      bool
	dir       string
}

// The shapes of an account. Of as many rows, many campaigns have far more sources of a
// campaign, each with few rows, and far more settings.
const few, many = "few", "many"

// usualRows is the size that is measured if no part is named.
const usualRows = 1_000_000

// The smallest sizes that can be measured: below them the rows of creatives without
// spend, and paused campaigns, dominate the size of the account.
const (
	leastRows      = 100 * days
	leastCreatives = 50
	leastCampaigns = 10
)

// mostCampaigns is how far the service's list can be read without a filter by status.
const mostCampaigns = 10_000

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Var(&o.rows, "rows", "sizes of the report, in rows over all 33 days, about: 100000,1000000 "+
		"(default 1000000, if nothing else is asked for)")
	f.IntVar(&o.history, "history", 0, "rows of a warehouse into which three days of the last of -rows are synced; "+
		"0: leave that out")
	f.IntVar(&o.month, "month", 0, "rows a day of an account that is synced every hour of 30 days; 0: leave that out")
	f.IntVar(&o.hours, "hours", 30*24, "hours of that month")
	f.Var(&o.campaigns, "campaigns", "sizes of an account, in campaigns, whose settings are read twice: 50,1000")
	f.BoolVar(&o.waits, "waits", false, "with -campaigns: wait as the limit of 120 requests a minute has it; "+
		"1,000 campaigns then take over half an hour a turn")
	f.BoolVar(&o.lake, "lake", false, "an hour of 200 accounts in Iceberg tables, of one store and of 200 in an "+
		"inbox, with 110 and with 1,095 days of history; runs the benchmarks of load/lake")
	f.IntVar(&o.runs, "runs", 5, "turns; the medians of them are shown")
	f.IntVar(&o.creatives, "creatives", 100, "creatives in the account of -rows; one of them is restated")
	f.StringVar(&o.shape, "shape", few, "account of -rows: few (campaigns, of ten creatives each), or many "+
		"(1,000 campaigns of six creatives, in as many rows), whose settings are read without the waits for the limit")
	f.StringVar(&o.dir, "dir", "", "folder for what is measured (default: a temporary one, removed at the end)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.rows == nil && o.history == 0 && o.campaigns == nil && o.month == 0 && !o.lake {
		o.rows = sizes{usualRows}
	}
	return o, o.check(f.NArg())
}

// check returns an error for sizes that cannot be measured.
func (o *options) check(rest int) error {
	for _, n := range o.rows {
		if n < leastRows {
			return fmt.Errorf("-rows %d: at least %d, 100 a day", n, leastRows)
		}
	}
	for _, n := range o.campaigns {
		if n < leastCampaigns || n > mostCampaigns {
			return fmt.Errorf("-campaigns %d: %d to %d", n, leastCampaigns, mostCampaigns)
		}
	}
	switch {
	case o.history < 0:
		return fmt.Errorf("-history %d: not below 0", o.history)
	case o.month != 0 && o.month < leastRows/days:
		return fmt.Errorf("-month %d: at least %d", o.month, leastRows/days)
	case o.hours < 1:
		return fmt.Errorf("-hours %d: at least 1", o.hours)
	case o.runs < 1:
		return fmt.Errorf("-runs %d: at least 1", o.runs)
	case o.creatives < leastCreatives:
		return fmt.Errorf("-creatives %d: at least %d", o.creatives, leastCreatives)
	case o.shape != few && o.shape != many:
		return fmt.Errorf("-shape %s: few or many", o.shape)
	case rest > 0:
		return fmt.Errorf("nothing follows the flags")
	}
	return nil
}

// sizes are one size or several, separated by commas.
type sizes []int

func (s *sizes) String() string {
	var words []string
	for _, n := range *s {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}

// Set replaces the earlier value, as for any flag that is given twice.
func (s *sizes) Set(text string) error {
	var list sizes
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return fmt.Errorf("%q is not a whole number", word)
		}
		list = append(list, n)
	}
	*s = list
	return nil
}
