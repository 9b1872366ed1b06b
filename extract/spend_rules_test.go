package extract

import (
	"strings"
	"testing"

	"spendsync/schema"
)

// TestControlTotals_TakeTheBordersAndTheCurrency: the range includes its first and last day. Amounts in another
// currency are refused. Clicks may be negative if nothing was spent.
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
