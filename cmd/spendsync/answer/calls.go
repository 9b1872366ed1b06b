package answer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"spendsync/cmd/internal/cli"
)

// sourcesPerCall is the maximum number of sources that the service accepts in one request.
const sourcesPerCall = 50

// call is one request to the service: sources of one campaign to block, or to remove from its allow list.
type call struct {
	campaign, name, action string
	sources                []string
	loss                   float64 // US dollars a day
}

// calls groups the rows of the answer into calls, in the order of each call's first source.
func (n Rendering) calls(ctx context.Context) (all []*call, err error) {
	open := map[[3]string]*call{}
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		r := map[string]string{}
		for i, v := range row {
			r[n.Result.Columns[i].Name] = v.V
		}
		key := [3]string{r["account_id"], r["campaign_id"], r["action"]}
		c := open[key]
		if c == nil || len(c.sources) == sourcesPerCall {
			c = &call{campaign: r["campaign_id"], name: r["campaign_name"], action: r["action"]}
			all, open[key] = append(all, c), c
		}
		loss, _ := strconv.ParseFloat(r["loss_per_day"], 64)
		c.sources, c.loss = append(c.sources, r["source_id"]), c.loss+loss
	}
	return all, nil
}

// writeIDs writes two lines for each call: a comment with the campaign, the action and the money lost, and the IDs of
// the sources. Each source uses up one of the account's daily changes; the column changes_left has how many were left.
func (n Rendering) writeIDs(ctx context.Context, w *bufio.Writer) error {
	all, err := n.calls(ctx)
	for _, c := range all {
		fmt.Fprintf(w, "# %s %s, %s: %s, $%.2f a day lost there\n%s\n", c.campaign, cli.OneLine(c.name), c.action,
			cli.Count(len(c.sources), "source"), c.loss, cli.OneLine(strings.Join(c.sources, ",")))
	}
	switch left := n.NotAll(); {
	case err != nil:
	case len(all) == 0:
		fmt.Fprintln(w, "# no source is to be blocked")
	case left != "":
		fmt.Fprintln(w, "# "+left)
	}
	return err
}

// writeRequests writes a JSON object for each call, one per line, with the method, the path below the API's base URL,
// and the body.
func (n Rendering) writeRequests(ctx context.Context, w *bufio.Writer) error {
	all, err := n.calls(ctx)
	for _, c := range all {
		ids, _ := json.Marshal(c.sources) // cannot fail for texts
		fmt.Fprintf(w, `{"method":"POST","path":%s,"body":{"source_ids":%s}}`+"\n",
			jsonText(nil, "/v1/campaigns/"+c.campaign+"/sources/"+c.action), ids)
	}
	return err
}
