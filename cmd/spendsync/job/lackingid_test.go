package job

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// lackingID is a report whose columns and rows lack an ID. On one day it shows other impressions.
type lackingID struct {
	http.RoundTripper
	column string // empty: it lacks none
	other  schema.Date
}

func (l *lackingID) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(req)
	q := req.URL.Query()
	asked := strings.Split(q.Get("columns"), ",")
	if err != nil || !slices.Contains(asked, "source_id") && (l.column == "" || !slices.Contains(asked, l.column)) ||
		l.column == "" && l.other == 0 {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var reply map[string]json.RawMessage
	var columns []string
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(body, &reply); err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	for key, to := range map[string]any{"columns": &columns, "data": &rows} {
		if err := json.Unmarshal(reply[key], to); err != nil {
			return nil, err
		}
	}
	columns = slices.DeleteFunc(columns, func(c string) bool { return c == l.column })
	for _, row := range rows {
		delete(row, l.column)
		if q.Get("start_date") == l.other.String() {
			row["impressions"] = json.RawMessage("7")
		}
	}
	reply["columns"], _ = json.Marshal(columns)
	reply["data"], _ = json.Marshal(rows)
	body, err = json.Marshal(reply)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, err
}

// TestReport_LacksAnID: days whose replies have no column for an ID are stored without it, and get the ID when the
// column comes back, as restatements that add up to nothing. Finished days with IDs never lose them.
func TestReport_LacksAnID(t *testing.T) {
	schematest.Long(t)
	for _, column := range []string{"source_id", "creative_id"} {
		t.Run(column, func(t *testing.T) {
			// Of a source per row only rows without spend have the same IDs when that of the creative is missing.
			w := newWorld(t, func(c *adsim.Config) { c.Sources, c.CreativesPerCampaign = 3000, 5 })
			w.rereadAll()
			l := &lackingID{RoundTripper: w.service.Transport(), column: column}
			w.transport = l
			first, last := w.today()-schema.ReachDays, w.today()
			wantNamed := func(want string, and string) {
				t.Helper()
				if got := w.ask("SELECT count(%s) FILTER (%[1]s <> '') > 0 FROM spend_daily WHERE %s", column,
					and); got != want {
					t.Errorf("some rows have a %s: %s, want %s", column, got, want)
				}
			}
			wantSpend := func() {
				t.Helper()
				for d := first; d <= last; d++ {
					sum, err := w.service.TruthSum(d.String())
					if err != nil {
						t.Fatal(err)
					}
					if day := w.account().Days[d]; day == nil || int64(day.Sums.Spend) != sum.Spend {
						t.Errorf("%s: %+v is stored, the service has %d millionths", d, day, sum.Spend)
					}
				}
				w.wantVerified()
			}
			w.sync(exit.Partial, "the report gives no "+column+"; stored as unknown", "'' stands for the IDs")
			wantNamed("false", "true")
			wantSpend()
			w.sync(exit.OK, "the report still gives no "+column)
			wantNamed("false", "true")
			wantSpend()

			l.column = ""
			w.sync(exit.OK, "the report gives "+column+" again")
			w.wantTruth()
			const sums = "SELECT count(*) > 0, sum(spend_after), sum(spend_after) = sum(spend_before) FROM (SELECT " +
				"sum(coalesce(new_spend, 0)) AS spend_after, sum(coalesce(old_spend, 0)) AS spend_before " +
				"FROM spend_change GROUP BY report_date, campaign_id) WHERE spend_after <> spend_before"
			if got := w.ask(sums); got != "false|NULL|NULL" {
				t.Errorf("the restatements of a campaign's day do not add up to nothing: %s", got)
			}
			if got := w.ask("SELECT count(*) > 0 FROM spend_change"); got != "true" {
				t.Error("there are no restatements")
			}

			stored := "FROM spend_daily WHERE report_date < '" + last.String() + "' ORDER BY ALL"
			was := w.ask("%s", stored)
			w.service.Advance(time.Hour)
			l.column = column
			w.sync(exit.Partial, "the report gives no "+column)
			l.other = last - 4
			w.sync(exit.Partial, l.other.String(), "the stored day, which has it, stands")
			if w.ask("%s", stored) != was {
				t.Error("finished days have changed")
			}
			wantSpend()

			l.column, l.other = "", 0
			w.service.Advance(24 * time.Hour)
			w.sync(exit.OK)
			w.wantTruth()
		})
	}
}
