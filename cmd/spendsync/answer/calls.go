package answer

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/schema"
)

// The formats that make an answer ready to be pasted: the IDs of each call that would
// follow the advice, or the calls themselves, as the service's description shows them.
// Nothing is sent.
const idsFormat, requestFormat = "ids", "request"

// MakesCalls reports whether a format consists of calls, which not every question has.
func MakesCalls(format string) bool { return format == idsFormat || format == requestFormat }

// FindCalls is a ready question whose rows the service can be asked to follow: the calls are made of the same rows
// that it shows, in their order. The values of its parameters are as [Find] takes them.
func FindCalls(name string, params []string) (Question, error) {
	if name != "sources_to_block" {
		return Question{}, exit.Usagef("--format %s and %s are for answers that the service can be asked to follow: "+
			"sources_to_block", idsFormat, requestFormat)
	}
	return Find(name, params)
}

// sourcesPerCall is how many sources the service takes in one call.
const sourcesPerCall = 50

// call is one call: sources of a campaign that are to be blocked, or taken off its allow list.
type call struct {
	account, campaign, name, action string
	number                          int // of the campaign's calls with this action, from 1
	sources                         []string
	loss                            float64 // US dollars a day
	changesLeft                     schema.Null[string]
}

// calls groups the rows of the answer into calls, each where its first source stands.
func (n Rendering) calls(ctx context.Context) (all []*call, err error) {
	open, count := map[[3]string]*call{}, map[[3]string]int{}
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		r := map[string]schema.Null[string]{}
		for i, v := range row {
			r[n.Result.Columns[i].Name] = v
		}
		key := [3]string{r["account_id"].V, r["campaign_id"].V, r["action"].V}
		c := open[key]
		if c == nil || len(c.sources) == sourcesPerCall {
			count[key]++
			c = &call{account: key[0], campaign: key[1], name: r["campaign_name"].V, action: key[2], number: count[key],
				changesLeft: r["changes_left"]}
			all, open[key] = append(all, c), c
		}
		loss, _ := strconv.ParseFloat(r["loss_per_day"].V, 64)
		c.sources, c.loss = append(c.sources, r["source_id"].V), c.loss+loss
	}
	return all, nil
}

// writeIDs writes a line of IDs for each call, below a line with the call's purpose and cost.
func (n Rendering) writeIDs(ctx context.Context, w *bufio.Writer) error {
	all, err := n.calls(ctx)
	if err != nil {
		return err
	}
	account := ""
	for i, c := range all {
		if i == 0 || c.account != account {
			account = c.account
			fmt.Fprintf(w, "# %s: %s\n", phrase.Visible(account), budget(all, account))
		}
		fmt.Fprintf(w, "# %s %s, %s, call %d: %s, %s, $%.2f a day lost there\n%s\n", phrase.Visible(c.campaign),
			phrase.Visible(c.name), c.action, c.number, phrase.Count(len(c.sources), "source"),
			phrase.Count(len(c.sources), "change"), c.loss, phrase.Visible(strings.Join(c.sources, ",")))
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "# no source is to be blocked")
	}
	return nil
}

// budget describes the share of the day's changes that the calls of an account use up.
func budget(all []*call, account string) string {
	changes, left := 0, schema.Null[string]{}
	for _, c := range all {
		if c.account == account {
			changes, left = changes+len(c.sources), c.changesLeft
		}
	}
	cost := phrase.Count(changes, "change") + " of the day's budget"
	if !left.Valid {
		return cost + "; how many are left is not known"
	}
	if n, err := strconv.Atoi(left.V); err == nil && n < changes {
		return fmt.Sprintf("%s, of which %d were left when last read: those beyond wait until 00:00 UTC", cost, n)
	}
	return fmt.Sprintf("%s, of which %s were left when last read", cost, left.V)
}

// writeRequests writes each call as an object on a line: method, path below the
// advertiser API's base URL, and body.
func (n Rendering) writeRequests(ctx context.Context, w *bufio.Writer) error {
	all, err := n.calls(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		path := "/v1/campaigns/" + c.campaign + "/sources/" + c.action
		line := append([]byte(`{"method":"POST","path":`), jsonText(nil, path)...)
		line = append(line, `,"body":{"source_ids":[`...)
		for i, id := range c.sources {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(line, jsonText(nil, id)...)
		}
		if _, err := w.Write(append(line, "]}}\n"...)); err != nil {
			return err
		}
	}
	return nil
}
