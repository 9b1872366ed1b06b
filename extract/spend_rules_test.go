package extract

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"spendsync/schema"
)

// TestDecodeSpend_PutsEachColumnInItsPlace, by template and strictly.
func TestDecodeSpend_PutsEachColumnInItsPlace(t *testing.T) {
	names := slices.Concat(spendColumns, []string{"currency"})
	for _, space := range []string{"", " "} {
		var columns, members []string
		for i, name := range names {
			columns = append(columns, `"`+name+`"`)
			members = append(members, fmt.Sprintf(`"%s":%d`, name, i+1))
		}
		p, err := DecodeSpend(nil, []byte(`{"columns":[`+strings.Join(columns, ",")+`],"data"`+space+`:[{`+
			strings.Join(members, ",")+`}]}`))
		if err != nil || len(p.Items) != 1 {
			t.Fatalf("%d rows, %v", len(p.Items), err)
		}
		l := p.Items[0]
		for i, v := range []Value{l.Date, l.CampaignID, l.CampaignName, l.CreativeID, l.SourceID, l.TotalSpend,
			l.Clicks,
			l.Impressions, l.Conversions, l.Currency} {
			check(t, names[i], string(v), fmt.Sprint(i+1))
		}
	}
	p, err := DecodeSpend(nil, []byte(pageOf(lines(2), "")))
	check(t, "error", err, nil)
	check(t, "a reply without pagination", fmt.Sprint(p.Number, p.Pages, p.Total), "1 1 2")
	p, err = DecodeSpend(nil, []byte(pageOf(lines(2), placed(0, 3, 1, 0))))
	check(t, "error", err, nil)
	check(t, "a reply with another number", fmt.Sprint(p.Number, p.Pages, p.Total), "0 1 2")
	p, err = DecodeSpend(nil, []byte(pageOf(lines(2), placed(3, 2, 9, 5))))
	check(t, "error", err, nil)
	check(t, "a reply of many", fmt.Sprint(p.Number, p.Pages, p.Total), "3 5 9")
}

// TestDecodeSpend_NamesWhatIsLeftOut: the necessary columns must be there, the others may be missing, and where there
// are no rows and no columns nothing is said of them.
func TestDecodeSpend_NamesWhatIsLeftOut(t *testing.T) {
	for body, want := range map[string]string{
		pageOf(lines(1), ""): "",
		`{"columns":["campaign_id","creative_id","source_id","total_spend","clicks"],"data":[]}`: "date " +
			"campaign_name impressions conversions",
		`{"columns":["campaign_id","total_spend"],"data":[]}`: "date campaign_name creative_id source_id clicks " +
			"impressions conversions",
		`{"columns":[],"data":[]}`: "",
	} {
		p, err := DecodeSpend(nil, []byte(body))
		check(t, body, strings.Join(p.Lacks, " "), want)
		check(t, "error", err, nil)
	}
	_, err := DecodeSpend(nil, []byte(`{"columns":["source_id"],"data":[]}`))
	wantError(t, err, ErrContract, "the columns lack campaign_id, total_spend")
}

// TestDecodeSpend_AnIDInARowIsNotLeftOut: columns may omit an ID that the rows have; if no row has it, it is left out.
func TestDecodeSpend_AnIDInARowIsNotLeftOut(t *testing.T) {
	for _, id := range []string{"creative_id", "source_id"} {
		columns := strings.Replace(columnsJSON, `"`+id+`",`, "", 1)
		for rows, want := range map[string]string{line(1): "", strings.Replace(line(1), id, "other", 1): id,
			strings.Replace(line(1), id, "other", 1) + "," + line(2): ""} {
			p, err := DecodeSpend(nil, []byte(`{"columns":`+columns+`,"data":[`+rows+`]}`))
			check(t, "error", err, nil)
			check(t, rows, strings.Join(p.Lacks, " "), want)
		}
	}
}

// TestSpendLine_HasSpend: what cannot be a zero counts as spend, and what is no number does not.
func TestSpendLine_HasSpend(t *testing.T) {
	for spend, want := range map[string]bool{"0": false, "0.00": false, "-0": false, "1": true, "-1": true,
		`"2.5"`: true,
		`"0"`:   false, "1e400": true, "null": false, `"x"`: false, "": false, "true": false} {
		check(t, spend, (&SpendLine{TotalSpend: Value(spend)}).hasSpend(), want)
	}
}

// TestSpend_RowsWithoutAnOwner: a row with spend and without one of its IDs has no key, so it may come twice; one
// without spend has one.
func TestSpend_RowsWithoutAnOwner(t *testing.T) {
	for _, id := range []string{`"C1000001"`, `"C1000001-001"`, `"S1"`} {
		for _, with := range []string{`null`, `""`, `" "`} {
			for _, row := range []string{line(1), idle(1)} {
				row = strings.Replace(row, id, with, 1)
				var seen Evidence
				_, err := walk(t, newTestClient(t, saying(pageOf([]string{row, row}, placed(1, 3, 2,
					1)))).Spend(t.Context(),
					testDay, 3, nil, &seen))
				check(t, "error", err, nil)
				check(t, row+" comes twice", seen.Repeats != "", strings.Contains(row, "0.00"))
			}
		}
	}
}

// TestRowsJSON gives the rows that are asked for, of a reply in any form.
func TestRowsJSON(t *testing.T) {
	for name, body := range map[string]string{
		"described": pageOf(lines(4), placed(1, 4, 4, 1)),
		"beside":    `{"x":[1,2],"columns":` + columnsJSON + `,"data":[` + strings.Join(lines(4), ",") + `]}`,
	} {
		got := RowsJSON(nil, []byte(body), []int{2, 4, 7})
		if len(got) != 2 || got[2] != line(2) || got[4] != line(4) {
			t.Errorf("%s: %v", name, got)
		}
	}
	word := strings.Replace(pageOf(lines(3), ""), "1.25", "NaN", 2) // in rows 1 and 2, which are given all the same
	if got := RowsJSON(nil, []byte(word), []int{2, 3}); !strings.Contains(got[2], "NaN") || got[3] != line(3) {
		t.Errorf("rows of a reply with a bare word: %v", got)
	}
	for _, body := range []string{"", "7", `{"data":7}`, `{"data":[1,`} {
		if got := RowsJSON(nil, []byte(body), []int{2}); len(got) > 0 {
			t.Errorf("%s: %v", body, got)
		}
	}
}

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

// TestTotal_AgreesRoundedOfClicks: clicks are held against each other only where both are known.
func TestTotal_AgreesRoundedOfClicks(t *testing.T) {
	known, unknown := schema.Some[int64], schema.Null[int64]{}
	for _, c := range []struct {
		total, rows schema.Null[int64]
		want        bool
	}{
		{known(5), known(5), true}, {known(5), known(6), false}, {known(0), known(1), false},
		{unknown, known(6), true}, {known(5), unknown, true}, {unknown, unknown, true},
	} {
		if got := (Total{Clicks: c.total}).AgreesRounded(0, c.rows, 1, 2, 2); got != c.want {
			t.Errorf("%+v beside %+v: %v, want %v", c.total, c.rows, got, c.want)
		}
	}
}
