package extract

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"spendsync/schema"
)

func totalsPage(rows ...string) string {
	return `{"columns":["date","total_spend","clicks"],"data":[` + strings.Join(rows, ",") + `],` +
		placed(1, 1000, len(rows), 1) + `}`
}

func totalRow(day, spend, clicks string) string {
	return fmt.Sprintf(`{"date":%s,"total_spend":%s,"clicks":%s}`, day, spend, clicks)
}

func totalsOfBody(t *testing.T, body string) (Totals, error) {
	c := newTestClient(t, roundTrip(status(200, body)))
	return c.ControlTotals(t.Context(), testDay, testDay+2)
}

func TestControlTotals_AskForDatesOnly(t *testing.T) {
	var asked *http.Request
	c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r
		return answerWith(200, totalsPage(totalRow(`"2026-03-08"`, "1", "2")))
	}))
	if _, err := c.ControlTotals(t.Context(), testDay, testDay+2); err != nil {
		t.Fatal(err)
	}
	q := asked.URL.Query()
	check(t, "path", asked.URL.Path, "/ads/spend-report")
	check(t, "query", q.Encode(), "columns=date%2Ctotal_spend%2Cclicks&end_date=2026-03-10&page=1&page_size=1000&"+
		"start_date=2026-03-08")
}

func TestControlTotals_ExistWithOneRowPerDate(t *testing.T) {
	got, err := totalsOfBody(t, totalsPage(
		totalRow(`"2026-03-10"`, "12.300000000000001", "3"), totalRow(`"2026-03-08"`, "1e2", "null")))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "exists", got.Exists, true)
	check(t, "days", len(got.ByDay), 3)
	check(t, "decimals", got.Decimals, 6)
	check(t, "rounded", got.ByDay[testDay+2], Total{Spend: 12_300_000, Rounded: true, Clicks: schema.Some[int64](3)})
	check(t, "without clicks", got.ByDay[testDay], Total{Spend: 100 * schema.Dollar})
	check(t, "day without a row", got.ByDay[testDay+1], Total{Clicks: schema.Some[int64](0)})
}

func TestControlTotals_AcceptRepliesWithoutPagination(t *testing.T) {
	got, err := totalsOfBody(t, `{"columns":["date","total_spend","clicks"],"data":[`+totalRow(`"2026-03-08"`, "1",
		"1")+`]}`)
	if err != nil || !got.Exists {
		t.Errorf("totals %+v, error %v", got, err)
	}
}

func TestControlTotals_DoNotExist(t *testing.T) {
	day := totalRow(`"2026-03-08"`, "1", "2")
	for name, tc := range map[string]struct{ body, why string }{
		"date/twice":      {totalsPage(day, day), "more than one row for 2026-03-08"},
		"date/null":       {totalsPage(totalRow("null", "1", "2")), "row 1 has no date"},
		"date/absent":     {totalsPage(day, `{"total_spend":1,"clicks":1}`), "row 2 has no date"},
		"columns/lacking": {strings.Replace(totalsPage(day), `"date",`, ``, 1), "the columns lack date"},
		"spend/null":      {totalsPage(totalRow(`"2026-03-08"`, "null", "2")), "row 1 has no total_spend"},
		"rows/more": {strings.Replace(totalsPage(day), `"total_rows":1`, `"total_rows":2`, 1),
			"1 row came, and total_rows is 2"},
		"rows/none": {totalsPage(), "the answer is empty"},
	} {
		got, err := totalsOfBody(t, tc.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		check(t, name+": exists", got.Exists, false)
		check(t, name+": days", len(got.ByDay), 0)
		check(t, name+": empty", got.Empty, name == "rows/none")
		if !strings.Contains(got.Why, tc.why) {
			t.Errorf("%s: why %q, want %q", name, got.Why, tc.why)
		}
	}
	for text, isBeyond := range map[string]bool{"unknown column: clicks": false,
		"start_date cannot be more than 32 days before today": true} {
		c := newTestClient(t, roundTrip(status(400, text)))
		got, err := c.ControlTotals(t.Context(), testDay, testDay)
		if err != nil || got.Exists || got.BeyondReach != isBeyond || got.Empty || !strings.Contains(got.Why, text) {
			t.Errorf("400: totals %+v, error %v", got, err)
		}
	}
}

func TestControlTotals_RefuseWhatIsNone(t *testing.T) {
	for name, tc := range map[string]struct{ body, want string }{
		"date/before": {totalsPage(totalRow(`"2026-03-07"`, "1", "2")), "row 1: date 2026-03-07 is outside of " +
			"what was asked"},
		"date/after":      {totalsPage(totalRow(`"2026-03-11"`, "1", "2")), "outside of what was asked"},
		"date/odd":        {totalsPage(totalRow(`"yesterday"`, "1", "2")), `row 1: date "yesterday" is not a day`},
		"date/number":     {totalsPage(totalRow(`20260308`, "1", "2")), "date 20260308 is not a day"},
		"spend/text":      {totalsPage(totalRow(`"2026-03-08"`, `"one"`, "2")), "row 1: total_spend"},
		"spend/infinite":  {totalsPage(totalRow(`"2026-03-08"`, `1e400`, "2")), "row 1: total_spend"},
		"clicks/fraction": {totalsPage(totalRow(`"2026-03-08"`, `1`, "2.5")), "row 1: clicks"},
		"clicks/negative": {totalsPage(totalRow(`"2026-03-08"`, `1`, "-2")), "row 1: clicks"},
		"shape":           {`{}`, "no columns"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := totalsOfBody(t, tc.body)
			wantError(t, err, ErrContract, "control totals 2026-03-08 to 2026-03-10 page 1: ", tc.want)
		})
	}
}

func TestControlTotals_FailWithTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for code, kind := range map[int]error{401: ErrAuth, 403: ErrAuth, 503: ErrUnavailable, 404: ErrContract} {
			c := newTestClient(t, roundTrip(status(code, "no")))
			_, err := c.ControlTotals(t.Context(), testDay, testDay)
			wantError(t, err, kind, "control totals 2026-03-08 to 2026-03-08 page 1: ")
		}
	})
}

func TestTotal_Agrees(t *testing.T) {
	some, none := schema.Some[int64], schema.Null[int64]{}
	for name, tc := range map[string]struct {
		total   Total
		spend   schema.Money
		clicks  schema.Null[int64]
		rounded int
		want    bool
	}{
		"equal":                 {Total{Spend: 5, Clicks: some(3)}, 5, some(3), 0, true},
		"clicks/differ":         {Total{Spend: 5, Clicks: some(3)}, 5, some(4), 9, false},
		"clicks/unknown-total":  {Total{Spend: 5}, 5, some(4), 0, true},
		"clicks/unknown-sum":    {Total{Spend: 5, Clicks: some(3)}, 5, none, 0, true},
		"spend/millionth-off":   {Total{Spend: 5}, 6, none, 0, false},
		"spend/one-rounded":     {Total{Spend: 5}, 6, none, 1, false},
		"spend/two-rounded":     {Total{Spend: 5}, 6, none, 2, true},
		"spend/row-and-total":   {Total{Spend: 5, Rounded: true}, 4, none, 1, true},
		"spend/total-rounded":   {Total{Spend: 5, Rounded: true}, 4, none, 0, false},
		"spend/too-far":         {Total{Spend: 5, Rounded: true}, 8, none, 4, false},
		"spend/negative":        {Total{Spend: -5}, -5, none, 0, true},
		"spend/sign":            {Total{Spend: -5}, 5, none, 0, false},
		"spend/far-ends":        {Total{Spend: schema.MaxMoney}, -schema.MaxMoney, none, math.MaxInt32, false},
		"spend/zero":            {Total{}, 0, none, 0, true},
		"spend/rounded-to-same": {Total{Spend: 7}, 7, none, 1000, true},
	} {
		check(t, name, tc.total.Agrees(tc.spend, tc.clicks, tc.rounded), tc.want)
	}
}

// TestTotal_AgreesRounded: a service that rounds to cents may be off by half a cent for each row and for the total, but
// not by more. Clicks must be equal.
func TestTotal_AgreesRounded(t *testing.T) {
	none := schema.Null[int64]{}
	for name, tc := range map[string]struct {
		total                     Total
		spend                     schema.Money
		clicks                    schema.Null[int64]
		rows                      int64
		rowDecimals, sumsDecimals int
		want                      bool
	}{
		"total/rounded to cents":       {Total{Spend: 75_140_000}, 75_143_971, none, 10, 6, 2, true},
		"total/beyond half a cent":     {Total{Spend: 75_140_000}, 75_146_000, none, 10, 6, 2, false},
		"rows/rounded to cents":        {Total{Spend: 75_143_971}, 75_150_000, none, 2, 2, 6, true},
		"rows/beyond half a cent each": {Total{Spend: 75_143_971}, 75_160_000, none, 2, 2, 6, false},
		"exact/to the millionth":       {Total{Spend: 10}, 12, none, 3, 6, 6, true},
		"exact/beyond":                 {Total{Spend: 10}, 13, none, 3, 6, 6, false},
		"clicks/differ": {Total{Spend: 10, Clicks: schema.Some[int64](3)}, 10, schema.Some[int64](4), 3,
			2, 2, false},
	} {
		check(t, name, tc.total.AgreesRounded(tc.spend, tc.clicks, tc.rows, tc.rowDecimals, tc.sumsDecimals), tc.want)
	}
	for text, want := range map[string]int{"75": 0, "75.1": 1, "75.140": 3, "7.5e1": 6, "1.23456789": 6} {
		check(t, text, decimals([]byte(text)), want)
	}
}

func TestControlTotals_CountTheDecimalsOfTheirSums(t *testing.T) {
	for want, spends := range map[int][2]string{0: {"3", "12"}, 2: {"3.25", "1.5"}, 6: {"1", "1e2"}} {
		got, err := totalsOfBody(t, totalsPage(totalRow(`"2026-03-08"`, spends[0], "1"),
			totalRow(`"2026-03-09"`, spends[1], "1")))
		if err != nil || got.Decimals != want {
			t.Errorf("%v: %d decimals, error %v, want %d", spends, got.Decimals, err, want)
		}
	}
}
