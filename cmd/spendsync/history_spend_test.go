package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim"
	"spendsync/load/loadtest"
	"spendsync/schema"
)

// reportLine is a row of the report as the diary spells it.
type reportLine struct {
	date, campaign, text string
	spend, clicks, convs int64
}

type reportRead []reportLine

func (r reportRead) spentOn(day, campaign string) (sum int64) {
	for _, line := range r {
		if line.date == day && line.campaign == campaign {
			sum += line.spend
		}
	}
	return sum
}

// readReport reads the report with the test's own hands.
func (l *life) readReport(from, to schema.Date) (out reportRead) {
	l.t.Helper()
	url := fmt.Sprintf("%s/ads/spend-report?start_date=%s&end_date=%s&include_creatives=true&page_size=10000&"+
		"columns=date,campaign_id,campaign_name,creative_id,source_id,total_spend,clicks,impressions,conversions",
		l.env["REPORT_URL"], from, to)
	raw := l.asAnalyst(url)
	var page struct {
		Data       []map[string]any
		Pagination struct {
			Pages int `json:"total_pages"`
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&page); err != nil || page.Pagination.Pages > 1 {
		l.t.Fatalf("the report has %d pages, %v: %.200s", page.Pagination.Pages, err, raw)
	}
	for _, m := range page.Data {
		line := reportLine{date: asText(m["date"]), campaign: asText(m["campaign_id"]), spend: amount(m["total_spend"])}
		line.clicks, _ = m["clicks"].(json.Number).Int64()
		line.convs, _ = m["conversions"].(json.Number).Int64()
		line.text = strings.Join([]string{line.campaign, asText(m["creative_id"]), asText(m["source_id"]),
			asText(m["campaign_name"]), inDollars(line.spend).String(),
			fmt.Sprint(m["clicks"]), fmt.Sprint(m["impressions"]), fmt.Sprint(m["conversions"])}, "|")
		out = append(out, line)
	}
	return out
}

// asAnalyst asks the report.
func (l *life) asAnalyst(url string) []byte {
	l.t.Helper()
	h := *l.hands
	h.rest = l.service.Transport()
	return h.fetch(http.MethodGet, url, nil, func(r *http.Request) {
		r.SetBasicAuth(adsim.DefaultUser, adsim.DefaultPassword)
	})
}

// spendDiary is what every read of the report said of every day.
type spendDiary struct {
	read map[int64]map[string]daySum // by instant, in microseconds, and day
}

// daySum is a day as it was read.
type daySum struct {
	hash                     [32]byte // of its rows, sorted
	rows                     int
	spend, clicks, converted int64
}

func sumOf(lines []reportLine) (s daySum) {
	var texts []string
	for _, line := range lines {
		texts = append(texts, line.text)
		s.rows++
		s.spend += line.spend
		s.clicks += line.clicks
		s.converted += line.convs
	}
	slices.Sort(texts)
	s.hash = sha256.Sum256([]byte(strings.Join(texts, "\n")))
	return s
}

func (d *spendDiary) write(at time.Time, report reportRead) {
	byDay := map[string][]reportLine{}
	for _, line := range report {
		byDay[line.date] = append(byDay[line.date], line)
	}
	page := map[string]daySum{}
	for day, lines := range byDay {
		page[day] = sumOf(lines)
	}
	d.read[at.UnixMicro()] = page
}

// check compares every day with what the report said when it was read last, and
// what it said when the day was over, plus all restatements.
func (d *spendDiary) check(w *world) (days int) {
	w.t.Helper()
	stored := d.stored(w)
	changed := d.changed(w)
	a, err := loadtest.Query(w.t.Context(), w.dir, `SELECT c.report_date, epoch_us(c.last_read_at), epoch_us(k.ends_at)
		FROM ops.day_coverage c JOIN calendar k USING (account_id, report_date)
		WHERE c.state IN ('open', 'complete', 'final')`)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range a.Rows {
		day := r[0].V
		last, over := microsOf(r[1].V), microsOf(r[2].V)
		want, is := d.read[last][day]
		if got := stored[day]; !is || got != want {
			w.t.Errorf("%s, read last at %d: %d rows, spend %d, clicks %d, conversions %d; the report said %d, "+
				"%d, %d, %d", day, last, got.rows, got.spend, got.clicks, got.converted, want.rows, want.spend,
				want.clicks, want.converted)
		}
		first := int64(math.MaxInt64) // the first read after the day was over
		for at := range d.read {
			if at >= over {
				first = min(first, at)
			}
		}
		if base, is := d.read[first][day]; is {
			c := changed[day]
			if got := (daySum{spend: base.spend + c.spend, clicks: base.clicks + c.clicks, converted: base.converted +
				c.converted}); got.spend != want.spend || got.clicks != want.clicks || got.converted != want.converted {
				w.t.Errorf("%s: over it had %d, %d, %d, and the restatements add %d, %d, %d: that is not %d, %d, %d",
					day, base.spend, base.clicks, base.converted, c.spend, c.clicks, c.converted, want.spend,
					want.clicks, want.converted)
			}
		}
		days++
	}
	if want := d.days(); days != len(want) {
		w.t.Errorf("%d days are covered, the diary has %d", days, len(want))
	}
	return days
}

func (d *spendDiary) days() map[string]bool {
	all := map[string]bool{}
	for _, days := range d.read {
		for day := range days {
			all[day] = true
		}
	}
	return all
}

// stored are the days of the warehouse.
func (d *spendDiary) stored(w *world) map[string]daySum {
	w.t.Helper()
	a, err := loadtest.Query(w.t.Context(), w.dir, "SELECT report_date, campaign_id, creative_id, source_id, "+
		"campaign_name, spend, clicks, impressions, conversions FROM spend_daily")
	if err != nil {
		w.t.Fatal(err)
	}
	byDay := map[string][]reportLine{}
	for _, r := range a.Rows {
		var cells []string
		for _, c := range r {
			cells = append(cells, c.V)
		}
		line := reportLine{text: strings.Join(cells[1:], "|"), spend: amount(json.Number(cells[5]))}
		line.clicks, _ = strconv.ParseInt(cells[6], 10, 64)
		line.convs, _ = strconv.ParseInt(cells[8], 10, 64)
		byDay[cells[0]] = append(byDay[cells[0]], line)
	}
	out := map[string]daySum{}
	for day, lines := range byDay {
		out[day] = sumOf(lines)
	}
	return out
}

// changed are the restatements of the days, added up.
func (d *spendDiary) changed(w *world) map[string]daySum {
	w.t.Helper()
	a, err := loadtest.Query(w.t.Context(), w.dir, `SELECT report_date, (1000000 * sum(coalesce(new_spend, 0) -
		coalesce(old_spend, 0)))::BIGINT, sum(coalesce(new_clicks, 0) - coalesce(old_clicks, 0)),
		sum(coalesce(new_conversions, 0) - coalesce(old_conversions, 0)) FROM spend_change GROUP BY 1`)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]daySum{}
	for _, r := range a.Rows {
		var s daySum
		for i, into := range []*int64{&s.spend, &s.clicks, &s.converted} {
			if *into, err = strconv.ParseInt(r[i+1].V, 10, 64); err != nil {
				w.t.Fatal(err)
			}
		}
		out[r[0].V] = s
	}
	return out
}

func microsOf(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
