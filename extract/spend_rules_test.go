package extract

import (
	"strings"
	"testing"

	"spendsync/schema"
)

// TestControlTotals_SayWhyTheyAreNone: a refusal of a day too far back differs from another one, and an answer without
// rows from both.
func TestControlTotals_SayWhyTheyAreNone(t *testing.T) {
	for name, tc := range map[string]struct {
		code          int
		body          string
		beyond, empty bool
	}{
		"beyond":  {400, `{"error":"start_date cannot be more than 32 days before today"}`, true, false},
		"refused": {400, `{"error":"start_date must be <= end_date"}`, false, false},
		"empty":   {200, totalsPage(), false, true},
		"no date": {200, totalsPage(totalRow("null", "1", "2")), false, false},
	} {
		c := newTestClient(t, roundTrip(status(tc.code, tc.body)))
		got, err := c.ControlTotals(t.Context(), testDay, testDay)
		check(t, name+": error", err, nil)
		check(t, name+": exists", got.Exists, false)
		check(t, name+": beyond the reach", got.BeyondReach, tc.beyond)
		check(t, name+": empty", got.Empty, tc.empty)
		check(t, name+": a reason", got.Why != "", true)
	}
}

// TestControlTotals_TakeTheBordersAndTheCurrency: the first and the last day belong to the range, amounts of another
// currency do not; clicks may be below zero where nothing was spent.
func TestControlTotals_TakeTheBordersAndTheCurrency(t *testing.T) {
	row := func(day, spend, clicks, more string) string {
		return strings.Replace(totalRow(`"`+day+`"`, spend, clicks), "}", more+"}", 1)
	}
	got, err := totalsOfBody(t, totalsPage(row("2026-03-08", "1", "2", `,"currency":"usd"`), row("2026-03-09", "1", "0",
		""), row("2026-03-10", "0", "-2", "")))
	check(t, "error", err, nil)
	check(t, "exists", got.Exists, true)
	check(t, "first", got.ByDay[testDay].Spend, schema.Dollar)
	check(t, "spend without a click", got.ByDay[testDay+1].Clicks, schema.Some[int64](0))
	check(t, "last", got.ByDay[testDay+2].Clicks.V, -2)
	_, err = totalsOfBody(t, totalsPage(row("2026-03-08", "1", "2", `,"currency":"EUR"`)))
	wantError(t, err, ErrContract, `row 1: currency "EUR", not USD`)
}
