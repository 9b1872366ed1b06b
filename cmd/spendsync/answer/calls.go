package answer

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/queries"
	"spendsync/schema"
)

// The formats that make an answer ready to be pasted: the IDs of each call that would
// follow the advice, or the calls themselves, as the service's description shows them.
// Nothing is sent.
const idsFormat, requestFormat = "ids", "request"

// MakesCalls reports whether a format consists of calls, which not every question has.
func MakesCalls(format string) bool { return format == idsFormat || format == requestFormat }

// FindCalls is the question of the calls that follow from a ready question's answer, with
// values for its parameters as [Find] takes them.
func FindCalls(name string, params []string) (Question, error) {
	found, err := queries.Find(name)
	if err != nil || found.Calls == "" {
		var names []string
		for _, q := range queries.Asks() {
			if q.Calls != "" {
				names = append(names, q.Name)
			}
		}
		return Question{}, exit.Usagef("--format %s and %s are for answers that the service can be asked to follow: %s",
			idsFormat, requestFormat, strings.Join(names, ", "))
	}
	return Find(found.Calls, params)
}

// call is one row of such an answer, by column.
type call map[string]schema.Null[string]

func (c call) text(column string) string { return phrase.Visible(c[column].V) }

// number is a count, 0 where it is not known.
func (c call) number(column string) int {
	n, _ := strconv.Atoi(c[column].V)
	return n
}

// calls reads the answer; there are few of them.
func (n Rendering) calls(ctx context.Context) (all []call, err error) {
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		c := call{}
		for i, v := range row {
			c[n.Result.Columns[i].Name] = v
		}
		all = append(all, c)
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
		excess, _ := strconv.ParseFloat(c["excess_spend"].V, 64)
		if i == 0 || c.text("account_id") != account {
			account = c.text("account_id")
			fmt.Fprintf(w, "# %s: %s\n", account, budget(all, account))
		}
		fmt.Fprintf(w, "# %s %s, %s, call %s: %s, %s, $%.2f beyond what they brought\n%s\n", c.text("campaign_id"),
			c.text("campaign_name"), c.text("action"), c.text("call_no"), phrase.Count(c.number("sources"), "source"),
			phrase.Count(c.number("changes"), "change"), excess, c.text("source_ids"))
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "# no source is to be blocked")
	}
	return nil
}

// budget describes the share of the day's changes that the calls of an account use up.
func budget(all []call, account string) string {
	changes, last := 0, call{}
	for _, c := range all {
		if c.text("account_id") == account {
			changes, last = changes+c.number("changes"), c
		}
	}
	cost := phrase.Count(changes, "change") + " of the day's budget"
	switch {
	case !last["changes_left"].Valid:
		return cost + "; how many are left is not known"
	case last.number("changes_left") < changes:
		return fmt.Sprintf("%s, of which %s were left when last read: those beyond wait until 00:00 UTC", cost,
			last.text("changes_left"))
	}
	return fmt.Sprintf("%s, of which %s were left when last read", cost, last.text("changes_left"))
}

// writeRequests writes each call as an object on a line: method, path below the
// advertiser API's base URL, and body.
func (n Rendering) writeRequests(ctx context.Context, w *bufio.Writer) error {
	all, err := n.calls(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		line := append([]byte(`{"method":`), jsonText(nil, c["method"].V)...)
		line = append(append(line, `,"path":`...), jsonText(nil, c["path"].V)...)
		line = append(append(line, `,"body":`...), c["body"].V...)
		if line = append(line, '}'); !jsontext.Value(line).IsValid() {
			return fmt.Errorf("the call %s %s has a body that is not JSON: %s", c["method"].V, c["path"].V, c["body"].V)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
